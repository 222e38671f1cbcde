#include "label_counts.hpp"

#include <algorithm>

namespace polyrule {

namespace {

constexpr std::size_t kMostChanged = 16;  // labels; with more of them, all counts are made again
constexpr Count kMostLeft = 256;          // rows

std::vector<Row> list_rows(const Bits& bits) {
  std::vector<Row> rows;
  for_each_bit(bits, [&](std::size_t i) { rows.push_back(static_cast<Row>(i)); });
  return rows;
}

}  // namespace

void LabelCounts::forget(const State& state) {
  counters_ = state.members.counters();
  counts_.resize(state.labels * 3 * counters_);
  totals_.assign(state.labels * 3, 0);
  known_.assign(state.labels, 0);
  changed_ = state.changed;
  set_ = state.set;
  working_ = state.working;
}

void LabelCounts::refresh(const State& state) {
  if (known_.empty()) return forget(state);
  std::vector<std::size_t> changed;
  for (std::size_t l = 0; l < state.labels; ++l)
    if (changed_[l] != state.changed[l]) changed.push_back(l);
  Bits left = working_;
  for (std::size_t w = 0; w < left.words(); ++w) left.data()[w] &= ~state.working.data()[w];
  const Count gone = count_bits(left.data(), left.words());
  if (changed.size() > kMostChanged || gone > kMostLeft) return forget(state);
  for (const std::size_t l : changed) {
    known_[l] = 0;
    changed_[l] = state.changed[l];
  }
  for (const std::size_t l : changed)
    for (int value = 0; value < 2; ++value) add_newly_set(state, l, value);
  for (const std::size_t l : changed) std::copy(state.set[l], state.set[l] + working_.words(), set_[l]);
  if (gone > 0) take_off(state, left);
  working_ = state.working;
}

void LabelCounts::count(const State& state, std::size_t label) {
  std::vector<Row> rows;
  for (const Part part : {present, absent, present_set}) {
    rows.clear();
    for (std::size_t w = 0; w < working_.words(); ++w)
      for_each_bit(working_.data()[w] & rows_of(state, label, part, w), w * 64,
                   [&](std::size_t i) { rows.push_back(static_cast<Row>(i)); });
    const Members& members = state.members;
    tally(members.data(), members.stride(), rows.data(), rows.size(), members.vectors(), row(label, part));
    totals_[label * 3 + part] = static_cast<Count>(rows.size());
  }
  known_[label] = 1;
}

// A condition on a label covers more rows: what they are for all other labels is added up at once.
void LabelCounts::add_newly_set(const State& state, std::size_t label, int value) {
  const std::size_t condition = state.members.number_of(label, value);
  if (condition == SIZE_MAX) return;
  Bits fresh = working_;
  for (std::size_t w = 0; w < fresh.words(); ++w) {
    const Word ones = state.ones[label][w];
    fresh.data()[w] &= state.set[label][w] & ~set_[label][w] & (value ? ones : ~ones);
  }
  const std::vector<Row> rows = list_rows(fresh);
  if (rows.empty()) return;
  const RowRecords& records = state.records;
  LineArray<std::uint16_t> sums;
  sums.resize(records.stride() * 64);
  tally(records, rows.data(), rows.size(), records.stride() / 4, sums.get());
  for (std::size_t l = 0; l < state.labels; ++l)
    for (std::size_t part = 0; known_[l] && part < 3; ++part) {
      std::uint16_t& sum = row(l, part)[condition];
      sum = static_cast<std::uint16_t>(sum + sums.get()[part * records.words() * 64 + l]);
    }
}

// Rows that have left the working set.
void LabelCounts::take_off(const State& state, const Bits& left) {
  LineArray<std::uint16_t> sums;
  sums.resize(counters_);
  std::vector<Row> rows;
  for (std::size_t l = 0; l < state.labels; ++l)
    for (const Part part : {present, absent, present_set}) {
      if (!known_[l]) continue;
      rows.clear();
      for (std::size_t w = 0; w < left.words(); ++w)
        if (left.data()[w] != 0)
          for_each_bit(left.data()[w] & rows_of(state, l, part, w), w * 64,
                       [&](std::size_t i) { rows.push_back(static_cast<Row>(i)); });
      if (rows.empty()) continue;
      const Members& members = state.members;
      tally(members.data(), members.stride(), rows.data(), rows.size(), members.vectors(), sums.get());
      std::uint16_t* counts = row(l, part);
      for (std::size_t k = 0; k < counters_; ++k) counts[k] = static_cast<std::uint16_t>(counts[k] - sums.get()[k]);
      totals_[l * 3 + part] -= static_cast<Count>(rows.size());
    }
}

}  // namespace polyrule
