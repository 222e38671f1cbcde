#include "data/columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "core/parallel.hpp"

namespace polyrule {

namespace {

struct Entry {
  double value;
  Row row;
};

// Numbers as whole ones in the same order; -0.0 and 0.0 are the same.
std::uint64_t ordered_bits(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  return bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
}

// Puts entries that come row by row in the order of their values, byte by byte from the last, which is quicker than
// comparing.
void sort_rows(std::vector<Entry>& entries) {
  const auto below = [](const Entry& a, const Entry& b) { return a.value < b.value; };
  if (std::is_sorted(entries.begin(), entries.end(), below)) return;
  std::vector<std::array<std::size_t, 256>> places(8);
  for (const Entry& entry : entries)
    for (std::size_t byte = 0; byte < 8; ++byte) ++places[byte][ordered_bits(entry.value) >> 8 * byte & 255];
  std::vector<Entry> sorted(entries.size());
  for (std::size_t byte = 0; byte < 8; ++byte) {
    const auto digit = [&](const Entry& entry) { return ordered_bits(entry.value) >> 8 * byte & 255; };
    std::array<std::size_t, 256>& place = places[byte];
    if (place[digit(entries[0])] == entries.size()) continue;
    std::exclusive_scan(place.begin(), place.end(), place.begin(), std::size_t{0});
    for (const Entry& entry : entries) sorted[place[digit(entry)]++] = entry;
    entries.swap(sorted);
  }
}

// The commonest columns hold nothing but 0 and 1, or only one of them. False for all in_block.
template <class Value>
bool list_pair(Column& column, Value&& value, std::size_t rows) {
  std::size_t zeros = 0, ones = 0;
  for (std::size_t start = 0; start < rows; start += 4096) {
    const std::size_t end = std::min(rows, start + 4096);
    for (std::size_t i = start; i < end; ++i) {
      zeros += value(i) == 0;
      ones += value(i) == 1;
    }
    if (zeros + ones != end) return false;
  }
  if (zeros == 0 || ones == 0) return rows > 0;  // constant
  column.shape = Shape::listed;
  column.has_block = true;
  column.block = zeros >= ones ? 0 : 1;
  const std::size_t listed = std::min(zeros, ones);
  column.rows.reserve(listed);
  for (std::size_t i = 0; column.rows.size() < listed; ++i)
    if (value(i) != column.block) column.rows.push_back(static_cast<Row>(i));
  column.below = column.block == 1 ? listed : 0;
  return true;
}

struct Stretches {
  std::size_t distinct = 0, longest = 0;
  double mode = 0;  // the first of the most frequent values
};

Stretches stretches_of(const std::vector<Entry>& sorted) {
  Stretches runs;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t j = i;
    while (j < sorted.size() && sorted[j].value == sorted[i].value) ++j;
    if (j - i > runs.longest) runs.longest = j - i, runs.mode = sorted[i].value;
    ++runs.distinct;
    i = j;
  }
  return runs;
}

// What a column becomes, from all its rows with a value in order. `keep_values`: the table is sparse.
void shape_sorted(Column& column, const std::vector<Entry>& sorted, std::size_t rows, bool keep_values) {
  const Stretches runs = stretches_of(sorted);
  if (runs.distinct == 0 || (runs.distinct == 1 && column.missing.empty())) return;  // constant
  const bool two = runs.distinct == 2 && column.missing.empty();
  if (column.nominal || two) {
    column.shape = Shape::listed;
    column.has_block = two || 2 * runs.longest > rows;
  } else {
    column.has_block = 2 * runs.longest > rows;
    column.shape = column.has_block ? Shape::blocked : Shape::sorted;
  }
  column.block = runs.mode;
  for (const Entry& entry : sorted) {
    if (column.has_block && entry.value == column.block) continue;
    column.below += column.has_block && entry.value < column.block;
    column.rows.push_back(entry.row);
    if (keep_values) column.values.push_back(entry.value);
  }
  column.rows.shrink_to_fit();
  column.values.shrink_to_fit();
  if (column.shape != Shape::sorted) return;
  if (keep_values) {
    auto values = std::make_shared<std::vector<double>>(rows, std::nan(""));
    for (const Entry& entry : sorted) (*values)[entry.row] = entry.value;
    column.expanded = values;
    column.dense = Numbers(column.expanded->data(), 1);
    std::vector<double>().swap(column.values);
  }
  for (std::size_t p = 0; p < sorted.size(); ++p)
    if (p == 0 || sorted[p].value != sorted[p - 1].value) column.rows[p] |= kStarts;
}

// Bins of a large column. Their cuts come from a sample, evenly spaced over the rows: where they lie changes how much
// is sorted later, not what is runs.
void shape_binned(Column& column, std::size_t rows) {
  constexpr std::size_t kSample = 16'384;
  std::vector<double> sample;
  const std::size_t step = std::max<std::size_t>(1, rows / kSample);
  for (std::size_t i = 0; i < rows; i += step)
    if (const double x = column.dense[i]; !std::isnan(x)) sample.push_back(x);
  std::sort(sample.begin(), sample.end());
  for (std::size_t b = 1; b < Column::kMostBins && !sample.empty(); ++b) {
    const double cut = sample[std::min(sample.size() - 1, b * sample.size() / Column::kMostBins)];
    if (column.cuts.empty() || cut > column.cuts.back()) column.cuts.push_back(cut);
  }
  column.shape = Shape::binned;
  column.bins.resize(rows);
  column.dense.read([&](auto value) {
    for (std::size_t i = 0; i < rows; ++i) {
      const double x = value(i);
      if (std::isnan(x)) {
        column.bins[i] = Column::kMissingBin;
        column.missing.push_back(static_cast<Row>(i));
      } else {
        column.bins[i] = static_cast<std::uint8_t>(std::lower_bound(column.cuts.begin(), column.cuts.end(), x) -
                                                   column.cuts.begin());
      }
    }
  });
}

// Whether a large column takes only one value, or two and none is missing: then it is no matter of bins.
bool has_few_values(const Numbers& values, std::size_t rows) {
  double first = 0, second = 0;
  int distinct = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = values[i];
    if (std::isnan(x)) return false;
    if (distinct == 0) first = x, distinct = 1;
    else if (x != first && distinct == 1) second = x, distinct = 2;
    else if (distinct == 2 && x != first && x != second) return false;
  }
  return true;
}

bool satisfies(const Condition& c, double value) {
  if (c.test == Test::category) return value == c.edge;
  if (c.below_all) return true;
  return c.test == Test::at_most ? value <= c.edge : value > c.edge;
}

}  // namespace

double midpoint(double low, double high) {
  double middle = (low + high) / 2;
  if (!std::isfinite(middle)) middle = low / 2 + high / 2;
  return low <= middle && middle < high ? middle : low;
}

template <class Fill>
void Columns::build(const std::vector<bool>& nominal, int threads, Fill&& fill) {
  columns_.resize(nominal.size());
  parallel_for(nominal.size(), threads, [&](std::size_t j) {
    columns_[j].nominal = nominal[j];
    fill(columns_[j], j);
  });
}

Columns::Columns(const DenseSource& source, const std::vector<bool>& nominal, const Limits& limits, int threads)
    : rows_(source.rows) {
  build(nominal, threads, [&](Column& column, std::size_t j) {
    column.dense = source.columns[j];
    if (column.dense.read([&](auto value) { return list_pair(column, value, rows_); })) return;
    if (!column.nominal && rows_ > limits.sorted_rows && !has_few_values(column.dense, rows_))
      return shape_binned(column, rows_);
    std::vector<Entry> sorted;
    sorted.reserve(rows_);
    for (std::size_t i = 0; i < rows_; ++i) {
      const double x = column.dense[i];
      if (std::isnan(x)) column.missing.push_back(static_cast<Row>(i));
      else sorted.push_back({x, static_cast<Row>(i)});
    }
    sort_rows(sorted);
    shape_sorted(column, sorted, rows_, false);
  });
}

Columns::Columns(const SparseSource& source, const std::vector<bool>& nominal, const Limits& limits, int threads)
    : rows_(source.rows) {
  build(nominal, threads, [&](Column& column, std::size_t j) {
    std::vector<Entry> stored;
    const std::int64_t first = source.starts[j], last = source.starts[j + 1];
    std::size_t zeros = rows_ - static_cast<std::size_t>(last - first);
    for (std::int64_t k = first; k < last; ++k) {
      const auto row = static_cast<Row>(source.indices[k]);
      if (std::isnan(source.data[k])) column.missing.push_back(row);
      else if (source.data[k] == 0) ++zeros;
      else stored.push_back({source.data[k], row});
    }
    if (2 * zeros <= rows_) {  // zeros are not the most common value: they are listed as well
      std::vector<Entry> entries;
      entries.reserve(rows_);
      std::size_t next = 0, next_missing = 0;
      for (Row row = 0; row < rows_; ++row) {
        if (next < stored.size() && stored[next].row == row) entries.push_back(stored[next++]);
        else if (next_missing < column.missing.size() && column.missing[next_missing] == row) ++next_missing;
        else entries.push_back({0.0, row});
      }
      stored.swap(entries);
    }
    sort_rows(stored);
    if (2 * zeros <= rows_) {
      shape_sorted(column, stored, rows_, true);
      if (column.shape != Shape::sorted || rows_ <= limits.sorted_rows) return;
      column.rows = {};
      column.missing.clear();
      return shape_binned(column, rows_);
    }
    if (stored.empty() && column.missing.empty()) return;  // constant
    const bool two = stored.empty() ? false : stored.front().value == stored.back().value && column.missing.empty();
    column.shape = column.nominal || two ? Shape::listed : Shape::blocked;
    column.has_block = true;
    for (const Entry& entry : stored) {
      column.below += entry.value < 0;
      column.rows.push_back(entry.row);
      column.values.push_back(entry.value);
    }
    column.rows.shrink_to_fit();
    column.values.shrink_to_fit();
  });
}

std::size_t filter_entries(const std::uint32_t* in, std::size_t size, const std::uint32_t* map, std::uint32_t* out) {
  std::uint32_t starts = 0;
  std::size_t n_out = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t entry = map[in[i] & kEntry];
    const std::uint32_t keep = entry != kOutside;  // 0 or 1
    starts |= in[i] & kStarts;
    out[n_out] = entry | starts;
    n_out += keep;
    starts &= keep - 1;
  }
  return n_out;
}

Bits Columns::covered(const Condition& condition, const Bits& cover) const {
  const Column& column = columns_[condition.index];
  Bits out(rows_);
  if (column.has_block && satisfies(condition, column.block)) {
    out = cover;
    for (const Row row : column.missing) out.reset(row);
    for (std::size_t p = 0; p < column.rows.size(); ++p)
      if (!satisfies(condition, column.value_at(p))) out.reset(column.row_at(p));
  } else if (column.dense) {
    column.dense.read([&](auto value) {
      for_each_bit(cover, [&](std::size_t i) {
        const double x = value(i);
        if (!std::isnan(x) && satisfies(condition, x)) out.set(i);
      });
    });
  } else {
    for (std::size_t p = 0; p < column.rows.size(); ++p)
      if (cover.test(column.row_at(p)) && satisfies(condition, column.value_at(p))) out.set(column.row_at(p));
  }
  return out;
}

// The smallest working-set value above `value` (or the smallest of all).
bool Columns::next_value(const Column& column, double value, bool from_start, const Bits& working, double& next) const {
  bool any = false;
  const auto offer = [&](double x) {
    if ((from_start || x > value) && (!any || x < next)) any = true, next = x;
  };
  if (column.shape == Shape::binned) {
    for_each_bit(working, [&](std::size_t i) {
      if (const double x = column.dense[i]; !std::isnan(x)) offer(x);
    });
    return any;
  }
  std::size_t low = 0, high = column.rows.size();
  while (!from_start && low < high) {
    const std::size_t middle = (low + high) / 2;
    if (column.value_at(middle) > value) high = middle;
    else low = middle + 1;
  }
  for (std::size_t p = low; p < column.rows.size() && !any; ++p)
    if (working.test(column.row_at(p))) any = true, next = column.value_at(p);
  if (column.has_block && (from_start || column.block > value) && (!any || column.block < next)) {
    auto in_block = count_bits(working.data(), working.words());
    for (const Row row : column.rows) in_block -= working.test(row & kEntry);
    for (const Row row : column.missing) in_block -= working.test(row);
    if (in_block > 0) any = true, next = column.block;
  }
  return any;
}

double Columns::threshold(const Condition& condition, const Bits& working) const {
  const Column& column = columns_[condition.index];
  double low = condition.edge, high = condition.edge;
  if (condition.below_all) next_value(column, 0, true, working, low);
  next_value(column, low, false, working, high);
  return midpoint(low, high);
}

void Columns::follow(std::size_t index, const std::shared_ptr<const Bits>& now) {
  Column& column = columns_[index];
  if (column.followed == now) return;
  column.followed = now;
  const Bits& working = *now;
  if (column.shape == Shape::sorted) {
    std::size_t size = 0;
    std::uint32_t starts = 0;
    for (const Row entry : column.rows) {
      starts |= entry & kStarts;
      if (!working.test(entry & kEntry)) continue;
      column.rows[size++] = (entry & kEntry) | starts;
      starts = 0;
    }
    column.rows.resize(size);
    if (size > 0) column.min_value = column.value_at(0), column.max_value = column.value_at(size - 1);
    return;
  }
  if (column.missing.empty()) return;  // nobody asks
  bool any = false;
  const auto offer = [&](double x) {
    column.min_value = any ? std::min(column.min_value, x) : x;
    column.max_value = any ? std::max(column.max_value, x) : x;
    any = true;
  };
  if (column.shape == Shape::binned) {
    for_each_bit(working, [&](std::size_t i) {
      if (const double x = column.dense[i]; !std::isnan(x)) offer(x);
    });
    return;
  }
  auto in_block = count_bits(working.data(), working.words());
  for (const Row row : column.missing) in_block -= working.test(row);
  for (std::size_t p = 0; p < column.rows.size(); ++p)
    if (working.test(column.row_at(p))) offer(column.value_at(p)), --in_block;
  if (column.has_block && in_block > 0) offer(column.block);
}

}  // namespace polyrule
