#include "data/condition_rows.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/popcount.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kVector = 256;
constexpr std::size_t kMostAtOnce = 65535;  // rows that counters of 16 bits can take

std::size_t whole_vectors(std::size_t counters) { return (counters + kVector - 1) / kVector * kVector; }

constexpr double kAlike = 1.2;  // the largest weight of a class by the smallest, if there are not too many classes
constexpr std::size_t kMostClasses = 32;
constexpr double kLeastCounted = 8;

constexpr std::size_t kManyLabels = 64;  // from which on what the last rule has set is kept by itself

}  // namespace

WeightClasses::WeightClasses(const State& state) {
  if (state.unit) return;
  std::vector<Count> ordered;
  for (const Count weight : state.weights)
    if (weight > 0) ordered.push_back(weight);
  std::sort(ordered.begin(), ordered.end());
  const double range = double(ordered.back()) / double(ordered.front());
  const double alike = std::max(kAlike, std::pow(range, 1.0 / double(kMostClasses - 1)) * (1 + 1e-9));
  // Small numbers leave room in the lanes of 32 bits where counts are multiplied.
  const double unit =
      std::max({1.0, double(ordered.front()) / kLeastCounted, double(state.total_weight) / double(1 << 29)});
  std::vector<Count> last;  // of each class, the largest weight
  min_ratio = std::numeric_limits<double>::infinity();
  max_ratio = 0;
  for (std::size_t i = 0, end = 0; i < ordered.size(); i = end) {
    while (end < ordered.size() && double(ordered[end]) <= double(ordered[i]) * alike) ++end;
    last.push_back(ordered[end - 1]);
    const double middle = std::max(1.0, std::rint((double(ordered[i]) + double(ordered[end - 1])) / 2 / unit));
    counted.push_back(static_cast<std::uint32_t>(middle));
    min_ratio = std::min(min_ratio, double(ordered[i]) / middle);
    max_ratio = std::max(max_ratio, double(ordered[end - 1]) / middle);
  }
  rows.assign(last.size(), Bits(state.rows));
  of_row.resize(state.rows);
  for (std::size_t i = 0; i < state.rows; ++i) {
    const auto at = std::lower_bound(last.begin(), last.end(), state.weights[i]) - last.begin();
    of_row[i] = static_cast<std::uint8_t>(at);
    if (state.weights[i] > 0) rows[of_row[i]].set(i);
  }
}

Count WeightClasses::weigh(const Word* mask) const {
  Count total = 0;
  for (std::size_t c = 0; c < rows.size(); ++c)
    total += count_common(mask, rows[c].data(), rows[c].words()) * Count(counted[c]);
  return total;
}

ConditionRows::ConditionRows(const Columns& columns, const State& state, bool label_conditions, const Limits& limits)
    : columns_(columns), state_(state), labels_(label_conditions ? state.labels : 0), classes_(state) {
  number_conditions(columns, label_conditions, false);
  if (whole_vectors(conditions_.size()) / 8 * state.rows > limits.record_bytes)
    number_conditions(columns, label_conditions, true);
  const std::size_t recorded = all_in_records() ? conditions_.size() : 2 * labels_;
  stride_ = (words_for(std::max<std::size_t>(1, recorded)) + 3) / 4 * 4;
  if (stride_ > 8) stride_ = (stride_ + 7) / 8 * 8;  // whole cache lines
  records_.assign(state.rows * stride_, 0);
  if (all_in_records()) fill_records(columns);
  else fill_lists(columns);
  keeps_last_ = labels_ >= kManyLabels && state.rows >= limits.kept_rows;
  if (!keeps_last_) return;
  first_vector_ = first_label_ / kVector;
  last_vector_ = whole_vectors(first_label_ + 2 * labels_) / kVector;
  last_.assign(state.rows * last_stride(), 0);
  last_rows_ = Bits(state.rows);
}

void ConditionRows::begin_sets() {
  if (!keeps_last_) return;
  for_each_bit(last_rows_, [&](std::size_t i) { std::fill_n(&last_[i * last_stride()], last_stride(), Word{0}); });
  last_rows_.clear();
  sets_before_ = state_.now().sets;
}

// Conditions that cover most rows come first, those on features that cover few come last, so that whole vectors of them
// can be left out where a condition must cover many.
void ConditionRows::number_conditions(const Columns& columns, bool label_conditions, bool sparse) {
  conditions_.clear();
  where_.clear();
  const std::size_t rows = columns.rows();
  const auto add_labels = [&] {
    first_label_ = conditions_.size();
    for (int value = 0; value < 2 && label_conditions; ++value)
      for (std::uint32_t l = 0; l < labels_; ++l) {
        conditions_.push_back({Test::label, false, l, double(value)});
        where_.push_back({});
      }
  };
  const auto add_features = [&](bool large, bool small) {
    for (std::uint32_t j = 0; j < columns.size(); ++j) {
      const Column& column = columns[j];
      if (column.shape != Shape::listed) continue;
      const auto listed = static_cast<std::uint32_t>(column.rows.size());
      double smallest = listed > 0 ? column.value_at(0) : column.block;
      if (column.has_block) smallest = std::min(smallest, column.block);
      const auto add = [&](double value, const Where& where, bool is_large) {
        if (!(is_large ? large : small)) return;
        if (column.nominal) conditions_.push_back({Test::category, false, j, value});
        else conditions_.push_back({value == smallest ? Test::at_most : Test::above, false, j, smallest});
        where_.push_back(where);
      };
      const std::size_t outside = listed + column.missing.size();
      if (column.has_block) add(column.block, {j, 0, listed, true}, 2 * outside <= rows);
      for (std::uint32_t p = 0, end = 0; p < listed; p = end) {
        while (end < listed && column.value_at(end) == column.value_at(p)) ++end;
        add(column.value_at(p), {j, p, end, false}, 2 * std::size_t(end - p) >= rows);
      }
    }
  };
  if (sparse) {
    add_labels();
    listed_from_ = whole_vectors(conditions_.size());
    conditions_.resize(listed_from_);
    where_.resize(listed_from_);
    add_features(true, true);
    counters_ = whole_vectors(conditions_.size());
    return;
  }
  add_features(true, false);
  add_labels();
  add_features(false, true);
  listed_from_ = counters_ = whole_vectors(conditions_.size());
}

void ConditionRows::fill_records(const Columns& columns) {
  const std::size_t rows = columns.rows(), features = conditions_.size() - 2 * labels_;
  features_ = BitMatrix(features, rows);
  for (std::size_t f = 0; f < features; ++f) {
    const std::size_t number = f < first_label_ ? f : f + 2 * labels_;
    const Where& where = where_[number];
    const Column& column = columns[where.column];
    Word* bits = features_[f];
    const auto toggle = [&](Row row) { bits[row / 64] ^= Word{1} << row % 64; };
    if (where.is_block) {
      std::fill(bits, bits + rows / 64, ~Word{0});
      if (rows % 64 != 0) bits[rows / 64] = (Word{1} << rows % 64) - 1;
      for (const Row row : column.missing) toggle(row);
    }
    for (std::size_t p = where.first; p < where.last; ++p) toggle(column.row_at(p));
    for (std::size_t w = 0; w < words_for(rows); ++w)
      for_each_bit(bits[w], w * 64, [&](std::size_t i) { mark(&records_[i * stride_], number); });
  }
}

void ConditionRows::fill_lists(const Columns& columns) {
  const std::size_t rows = columns.rows();
  all_counters_ = counters_;
  first_.assign(rows + 1, 0);
  for (const bool fill : {false, true}) {
    std::vector<std::uint32_t> place(first_.begin(), first_.end() - 1);
    const auto add = [&](Row row, std::size_t number) {
      if (fill) listed_[place[row]++] = static_cast<std::uint32_t>(number);
      else ++first_[row + 1];
    };
    std::size_t missing = counters_;
    for (std::size_t number = listed_from_; number < conditions_.size(); ++number) {
      const Where& where = where_[number];
      const Column& column = columns[where.column];
      if (!where.is_block) {
        for (std::size_t p = where.first; p < where.last; ++p) add(column.row_at(p), number);
        continue;
      }
      Block block{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number + 1),
                  static_cast<std::uint32_t>(number + 1), 0};
      while (block.last < conditions_.size() && where_[block.last].column == where.column) ++block.last;
      if (!column.missing.empty()) {
        block.missing = static_cast<std::uint32_t>(missing++);
        for (const Row row : column.missing) add(row, block.missing);
      }
      if (fill) blocks_.push_back(block);
    }
    all_counters_ = missing;
    if (fill) break;
    for (std::size_t i = 0; i < rows; ++i) first_[i + 1] += first_[i];
    listed_.resize(first_[rows]);
  }
}

template <class Counter>
void ConditionRows::count(const std::vector<Row>& rows, std::size_t vectors, Counter* counts, bool in_classes) const {
  const bool listed = vectors * kVector > listed_from_;  // what a block lacks may be listed beyond these vectors
  std::fill(counts, counts + (listed ? counters_ : vectors * kVector), Counter(0));
  const std::size_t recorded = std::min(vectors, listed_from_ / kVector);
  if (recorded > 0) count_records(records_.get(), stride_, rows, recorded, counts, in_classes);
  if (listed) count_listed(rows, counts, in_classes);
}

template <class Counter>
void ConditionRows::add_last(const std::vector<Row>& rows, Counter* counts, bool in_classes) const {
  if (rows.empty()) return;
  const std::size_t vectors = last_vector_ - first_vector_;
  std::vector<Counter> sums(vectors * kVector);
  count_records(last_.get(), last_stride(), rows, vectors, sums.data(), in_classes);
  for (std::size_t k = 0; k < sums.size(); ++k)
    counts[first_vector_ * kVector + k] = static_cast<Counter>(counts[first_vector_ * kVector + k] + sums[k]);
}

// Adds the weight of the given rows by bit of their records to counts that are 0.
template <class Counter>
void ConditionRows::count_records(const Word* records, std::size_t stride, const std::vector<Row>& rows,
                                  std::size_t vectors, Counter* counts, bool in_classes) const {
  if (rows.empty()) return;
  std::vector<std::uint16_t> sums;
  std::vector<Row> selected;
  const auto add = [&](std::span<const Row> of, Counter factor) {
    for (std::size_t from = 0; from < of.size(); from += kMostAtOnce) {
      const std::size_t size = std::min(of.size() - from, kMostAtOnce);
      if constexpr (sizeof(Counter) == 2)
        if (state_.unit) {  // all in one go
          popcount_records(records, stride, of.data() + from, size, vectors, counts);
          continue;
        }
      sums.resize(vectors * kVector);
      popcount_records(records, stride, of.data() + from, size, vectors, sums.data());
      add_times(sums.data(), factor, sums.size(), counts);
    }
  };
  if (state_.unit) {
    add(rows, 1);
  } else if (in_classes) {
    std::vector<std::size_t> ends(classes_.counted.size() + 1, 0);  // first where each class begins, then where it ends
    for (const Row row : rows) ++ends[classes_.of_row[row] + 1];
    for (std::size_t c = 1; c < ends.size(); ++c) ends[c] += ends[c - 1];
    selected.resize(rows.size());
    for (const Row row : rows) selected[ends[classes_.of_row[row]]++] = row;
    for (std::size_t c = 0, from = 0; c + 1 < ends.size(); from = ends[c++])
      add(std::span(selected).subspan(from, ends[c] - from), static_cast<Counter>(classes_.counted[c]));
  } else {
    for (std::size_t bit = 0; bit < state_.planes.size(); ++bit) {
      pick(rows, [&](std::size_t i) { return state_.weights[rows[i]] >> bit & 1; }, selected);
      add(selected, static_cast<Counter>(Counter{1} << bit));
    }
  }
}

template <class Counter>
void ConditionRows::count_listed(const std::vector<Row>& rows, Counter* counts, bool in_classes) const {
  std::vector<Counter> missing(all_counters_ - counters_, 0);
  Count all = 0;
  for (const Row row : rows) {
    const bool classed = in_classes && !state_.unit;
    const auto weight = static_cast<Counter>(classed ? classes_.counted[classes_.of_row[row]] : state_.weights[row]);
    all += weight;
    for (std::uint32_t k = first_[row]; k < first_[row + 1]; ++k) {
      const std::uint32_t number = listed_[k];
      Counter& counter = number < counters_ ? counts[number] : missing[number - counters_];
      counter = static_cast<Counter>(counter + weight);
    }
  }
  for (const Block& block : blocks_) {
    Count left = all;
    for (std::uint32_t number = block.first; number < block.last; ++number) left -= counts[number];
    if (block.missing) left -= missing[block.missing - counters_];
    counts[block.number] = static_cast<Counter>(left);
  }
}

Count ConditionRows::count_label_in_classes(std::size_t number, const Word* among) const {
  const Condition& condition = conditions_[number];
  const Word *set = state_.set[condition.index], *ones = state_.ones[condition.index];
  Bits covered(state_.rows);
  for (std::size_t w = 0; w < covered.words(); ++w)
    covered.data()[w] = among[w] & set[w] & (condition.edge == 0 ? ~ones[w] : ones[w]);
  return state_.unit ? count_bits(covered.data(), covered.words()) : classes_.weigh(covered.data());
}

Count ConditionRows::count_among(std::size_t number, const Word* among) const {
  const Condition& condition = conditions_[number];
  if (is_label(number))
    return state_.weigh_common(among, state_.set[condition.index], state_.ones[condition.index], condition.edge == 0);
  if (all_in_records()) return state_.weigh_common(among, bits_of(number));
  Count total = 0;
  const Where& where = where_[number];
  const Column& column = columns_[where.column];
  const auto add = [&](Row row) {
    if (among[row / 64] >> row % 64 & 1) total += state_.weights[row];
  };
  for (std::size_t p = where.first; p < where.last; ++p) add(column.row_at(p));
  if (!where.is_block) return total;
  for (const Row row : column.missing) add(row);
  return state_.weigh(among) - total;
}

template void ConditionRows::count<std::uint16_t>(const std::vector<Row>&, std::size_t, std::uint16_t*, bool) const;
template void ConditionRows::count<std::uint32_t>(const std::vector<Row>&, std::size_t, std::uint32_t*, bool) const;
template void ConditionRows::add_last<std::uint16_t>(const std::vector<Row>&, std::uint16_t*, bool) const;
template void ConditionRows::add_last<std::uint32_t>(const std::vector<Row>&, std::uint32_t*, bool) const;

}  // namespace polyrule
