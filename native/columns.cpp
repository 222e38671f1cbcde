#include "columns.hpp"

#include <algorithm>
#include <cmath>

#include "parallel.hpp"

namespace polyrule {

namespace {

struct Entry {
  double value;
  Row row;
};

// By value, then by row; -0.0 and 0.0 are the same number.
bool precedes(const Entry& a, const Entry& b) { return a.value != b.value ? a.value < b.value : a.row < b.row; }

// How many values are 0, and how many are 1.
POLYRULE_VECTOR_CLONES
std::pair<std::uint64_t, std::uint64_t> count_pair(const double* values, std::size_t rows) {
  std::uint64_t zeros = 0, ones = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    zeros += values[i] == 0;
    ones += values[i] == 1;
  }
  return {zeros, ones};
}

// The commonest nominal columns hold nothing but 0 and 1, one of them on most rows. False for all others.
bool list_pair(Column& column, std::size_t rows) {
  const auto [zeros, ones] = count_pair(column.dense, rows);
  if (zeros + ones != rows || zeros == ones) return false;
  column.blocked = true;
  column.block = zeros > ones ? 0 : 1;
  const std::size_t listed = std::min(zeros, ones);
  column.rows.reserve(listed);
  for (std::size_t i = 0; column.rows.size() < listed; ++i)
    if (column.dense[i] != column.block) column.rows.push_back(static_cast<Row>(i));
  return true;
}

// Nominal values are small numbers, so a dense nominal column is listed by counting. False if a value is not.
bool list_by_counting(Column& column, std::size_t rows) {
  if (list_pair(column, rows)) return true;
  constexpr std::size_t kMost = 4096;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = column.dense[i];
    if (std::isnan(x)) {
      column.missing.push_back(static_cast<Row>(i));
      continue;
    }
    if (!(x >= 0 && x < double(kMost))) {
      column.missing.clear();
      return false;
    }
    const auto value = static_cast<std::size_t>(x);
    if (value >= places.size()) places.resize(value + 1, 0);
    ++places[value];
  }
  std::size_t mode = 0, total = 0;
  for (std::size_t v = 0; v < places.size(); ++v)
    if (places[v] > places[mode]) mode = v;
  column.blocked = !places.empty() && 2 * places[mode] > rows;
  column.block = double(mode);
  for (std::size_t v = 0; v < places.size(); ++v) {
    const std::size_t count = column.blocked && v == mode ? 0 : places[v];
    places[v] = total;
    total += count;
  }
  column.rows.resize(total);
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = column.dense[i];
    if (!std::isnan(x) && !(column.blocked && x == column.block))
      column.rows[places[static_cast<std::size_t>(x)]++] = static_cast<Row>(i);
  }
  return true;
}

// The value of the longest stretch of equal entries.
std::pair<double, std::size_t> most_frequent(const std::vector<Entry>& sorted) {
  double best = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t j = i;
    while (j < sorted.size() && sorted[j].value == sorted[i].value) ++j;
    if (j - i > longest) longest = j - i, best = sorted[i].value;
    i = j;
  }
  return {best, longest};
}

bool satisfies(const Condition& c, double value) {
  if (c.test == Test::category) return value == c.edge;
  if (c.lowest) return true;
  return c.test == Test::at_most ? value <= c.edge : value > c.edge;
}

}  // namespace

double midpoint(double low, double high) {
  double middle = (low + high) / 2;
  if (!std::isfinite(middle)) middle = low / 2 + high / 2;
  return low <= middle && middle < high ? middle : low;
}

Columns Columns::from_dense(const double* values, std::size_t rows, const std::vector<bool>& nominal, int threads) {
  Columns table(rows);
  table.columns_.resize(nominal.size());
  parallel_for(nominal.size(), threads, [&](std::size_t j) {
    Column& column = table.columns_[j];
    column.nominal = nominal[j];
    column.dense = values + j * rows;
    if (column.nominal && list_by_counting(column, rows)) {
      table.finish(column);
      return;
    }
    std::vector<Entry> entries;
    entries.reserve(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const double x = column.dense[i];
      if (std::isnan(x)) column.missing.push_back(static_cast<Row>(i));
      else entries.push_back({x, static_cast<Row>(i)});
    }
    std::sort(entries.begin(), entries.end(), precedes);
    const auto [mode, count] = most_frequent(entries);
    column.blocked = 2 * count > rows;
    column.block = mode;
    column.rows.reserve(entries.size() - (column.blocked ? count : 0));
    for (const Entry& entry : entries)
      if (!column.blocked || entry.value != mode) column.rows.push_back(entry.row);
    table.finish(column);
  });
  return table;
}

Columns Columns::from_sparse(const double* data, const std::int32_t* indices, const std::int64_t* starts,
                             std::size_t rows, const std::vector<bool>& nominal, int threads) {
  Columns table(rows);
  table.columns_.resize(nominal.size());
  parallel_for(nominal.size(), threads, [&](std::size_t j) {
    Column& column = table.columns_[j];
    column.nominal = nominal[j];
    std::vector<Entry> entries;
    std::vector<bool> stored;
    for (std::int64_t k = starts[j]; k < starts[j + 1]; ++k) {
      const Row row = static_cast<Row>(indices[k]);
      if (std::isnan(data[k])) column.missing.push_back(row);
      else entries.push_back({data[k], row});
    }
    const std::size_t unstored = rows - static_cast<std::size_t>(starts[j + 1] - starts[j]);
    std::sort(entries.begin(), entries.end(), precedes);
    std::sort(column.missing.begin(), column.missing.end());
    auto [mode, count] = most_frequent(entries);
    const auto zeros = static_cast<std::size_t>(
        std::count_if(entries.begin(), entries.end(), [](const Entry& e) { return e.value == 0; }));
    column.blocked = true;
    column.block = 0;
    if (2 * (unstored + zeros) <= rows && mode != 0 && 2 * count > rows) column.block = mode;
    if (column.block != 0 || 2 * (unstored + zeros) <= rows) {
      // Zeros are not the usual value: list them as well.
      stored.assign(rows, false);
      for (std::int64_t k = starts[j]; k < starts[j + 1]; ++k) stored[static_cast<std::size_t>(indices[k])] = true;
      for (std::size_t i = 0; i < rows; ++i)
        if (!stored[i]) entries.push_back({0.0, static_cast<Row>(i)});
      std::sort(entries.begin(), entries.end(), precedes);
      column.blocked = column.block != 0;
    }
    for (const Entry& entry : entries)
      if (!column.blocked || entry.value != column.block) {
        column.rows.push_back(entry.row);
        column.values.push_back(entry.value);
      }
    column.rows.shrink_to_fit();
    column.values.shrink_to_fit();
    table.finish(column);
  });
  return table;
}

void Columns::finish(Column& column) {
  column.below = 0;
  if (column.blocked)
    while (column.below < column.rows.size() && column.value_at(column.below) < column.block) ++column.below;
  if (column.nominal || column.blocked || column.rows.empty()) return;
  if (!column.dense) {
    column.own.assign(rows_, std::nan(""));
    for (std::size_t p = 0; p < column.rows.size(); ++p) column.own[column.rows[p]] = column.values[p];
    column.dense = column.own.data();
    std::vector<double>().swap(column.values);
  }
  double last = 0;
  for (std::size_t p = 0; p < column.rows.size(); ++p) {
    const double value = column.dense[column.rows[p]];
    if (p == 0 || value != last) column.rows[p] |= kStarts;
    last = value;
  }
  column.ordered = true;
}

std::size_t filter_rows(const std::uint32_t* in, std::size_t size, const std::uint8_t* inside, std::uint32_t* out) {
  std::uint32_t starts = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t row = in[i] & kRowMask;
    const std::uint32_t keep = inside[row];  // 0 or 1
    starts |= in[i] & kStarts;
    out[kept] = row | starts;
    kept += keep;
    starts &= keep - 1;
  }
  return kept;
}

Bits Columns::covered(const Condition& condition, const Bits& cover) const {
  const Column& column = columns_[condition.index];
  const bool block_in = column.blocked && satisfies(condition, column.block);
  Bits out(rows_);
  if (block_in) {
    out = cover;
    for (const Row row : column.missing) out.reset(row);
    for (std::size_t p = 0; p < column.rows.size(); ++p)
      if (!satisfies(condition, column.value_at(p))) out.reset(column.row_at(p));
  } else if (column.dense) {
    for_each_bit(cover, [&](std::size_t i) {
      const double x = column.dense[i];
      if (!std::isnan(x) && satisfies(condition, x)) out.set(i);
    });
  } else {
    for (std::size_t p = 0; p < column.rows.size(); ++p)
      if (cover.test(column.row_at(p)) && satisfies(condition, column.value_at(p))) out.set(column.row_at(p));
  }
  return out;
}

// The smallest working-set value above `value` (or the smallest of all).
bool Columns::next_value(const Column& column, double value, bool from_start, const Bits& working,
                         double& found) const {
  std::size_t low = 0, high = column.rows.size();
  while (!from_start && low < high) {
    const std::size_t middle = (low + high) / 2;
    if (column.value_at(middle) > value) high = middle;
    else low = middle + 1;
  }
  bool any = false;
  for (std::size_t p = low; p < column.rows.size() && !any; ++p)
    if (working.test(column.row_at(p))) any = true, found = column.value_at(p);
  if (column.blocked && (from_start || column.block > value) && (!any || column.block < found)) {
    auto others = count_bits(working.data(), working.words());
    for (const Row row : column.rows) others -= working.test(row);
    for (const Row row : column.missing) others -= working.test(row);
    if (others > 0) any = true, found = column.block;
  }
  return any;
}

double Columns::threshold(const Condition& condition, const Bits& working) const {
  const Column& column = columns_[condition.index];
  double low = condition.edge, high = condition.edge;
  if (condition.lowest) next_value(column, 0, true, working, low);
  next_value(column, low, false, working, high);
  return midpoint(low, high);
}

bool Columns::any_above(std::size_t column, double value, const Bits& working) const {
  double found;
  return next_value(columns_[column], value, false, working, found);
}

bool Columns::any_below(std::size_t column, double value, const Bits& working) const {
  double found;
  return next_value(columns_[column], 0, true, working, found) && found < value;
}

}  // namespace polyrule
