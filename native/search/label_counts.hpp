// What each condition covers of each label in the empty body, kept from rule to rule.
//
// Bodies often cover most rows, so the counts of a label in a node are best found by taking off the few rows that are
// not covered. A label is counted when it is asked for; afterwards only rows that have left the working set and
// conditions on labels that have been set on more rows are corrected.
#pragma once

#include <vector>

#include "data/members.hpp"

namespace polyrule {

enum class Part { present, absent, present_set };  // unset and present, unset and absent, set and present

inline Word part_rows(const State& state, std::size_t label, Part part, std::size_t w) {
  const Word truth = state.truth[label][w], set = state.set[label][w];
  return part == Part::present  ? truth & ~set
         : part == Part::absent ? ~truth & ~set & state.known_word(label, w)
                                : truth & set;
}

inline std::size_t count_rows(const State& state, const Bits& among, std::size_t label, Part part) {
  std::size_t rows = 0;
  for (std::size_t w = 0; w < among.words(); ++w)
    rows += static_cast<std::size_t>(std::popcount(among.data()[w] & part_rows(state, label, part, w)));
  return rows;
}

template <class Counter>
class LabelCounts {
 public:
  LabelCounts(const Members& members, const State& state) : members_(members), state_(state), kept_(state.labels * 3) {}

  bool fits() const {
    constexpr std::size_t kMostBytes = std::size_t{64} << 20;
    return state_.labels * 3 * members_.counters() * sizeof(Counter) <= kMostBytes;
  }

  // By condition, up to date; different labels may be asked for at the same time.
  const Counter* counts(std::size_t label, Part part) {
    Kept& kept = kept_[label * 3 + static_cast<std::size_t>(part)];
    bring_up_to_date(label, part, kept);
    return kept.counts.get();
  }

  // How many rows of the empty body are in a part; known at less cost than the counts.
  std::size_t rows(std::size_t label, Part part) {
    Kept& kept = kept_[label * 3 + static_cast<std::size_t>(part)];
    if (kept.rows_label_version != state_.label_version[label] || kept.rows_working_version != state_.working_version) {
      kept.rows_label_version = state_.label_version[label];
      kept.rows_working_version = state_.working_version;
      kept.rows = count_rows(state_, state_.working, label, part);
    }
    return kept.rows;
  }

  // Rows that a condition on a label has gained are seen here, once per rule.
  void begin_rule() {
    if (versions_.empty()) versions_ = state_.label_version;
    for (std::uint32_t l = 0; l < state_.labels; ++l)
      if (versions_[l] != state_.label_version[l]) log_.push_back(l), versions_[l] = state_.label_version[l];
  }

 private:
  struct Kept {
    std::uint64_t label_version = 0, working_version = 0;
    std::size_t seen = 0;  // of the log
    std::uint64_t rows_label_version = 0, rows_working_version = 0;
    std::size_t rows = 0;
    Bits working;
    LineArray<Counter> counts;
  };

  template <class Visit>
  std::vector<Row> rows_of(std::size_t label, Part part, Visit&& among) const {
    std::vector<Row> rows;
    for (std::size_t w = 0; w < state_.working.words(); ++w)
      for_each_bit(among(w) & part_rows(state_, label, part, w), w * 64,
                   [&](std::size_t i) { rows.push_back(static_cast<Row>(i)); });
    return rows;
  }

  void bring_up_to_date(std::size_t label, Part part, Kept& kept) {
    constexpr std::size_t kMostChanged = 16;  // labels; with more of them, all counts are made again
    const bool stale = kept.label_version != state_.label_version[label] || log_.size() - kept.seen > kMostChanged;
    if (stale) {
      kept.counts.resize(members_.counters());
      members_.count(rows_of(label, part, [&](std::size_t w) { return state_.working.data()[w]; }), members_.vectors(),
                     kept.counts.get());
    } else {
      if (kept.working_version != state_.working_version) take_off(label, part, kept);
      for (; kept.seen < log_.size(); ++kept.seen) recount(label, part, kept, log_[kept.seen]);
    }
    kept.label_version = state_.label_version[label];
    if (kept.working_version != state_.working_version) kept.working = state_.working;
    kept.working_version = state_.working_version;
    kept.seen = log_.size();
  }

  // Rows have left the working set.
  void take_off(std::size_t label, Part part, Kept& kept) {
    const std::vector<Row> left =
        rows_of(label, part, [&](std::size_t w) { return kept.working.data()[w] & ~state_.working.data()[w]; });
    if (left.empty()) return;
    std::vector<Counter> sums(members_.counters());
    members_.count(left, members_.vectors(), sums.data());
    for (std::size_t k = 0; k < sums.size(); ++k) kept.counts[k] = static_cast<Counter>(kept.counts[k] - sums[k]);
  }

  // The conditions on a label cover more rows.
  void recount(std::size_t label, Part part, Kept& kept, std::size_t tested) {
    if (!members_.has_labels()) return;
    std::vector<Word> some(state_.working.words());
    for (std::size_t w = 0; w < some.size(); ++w)
      some[w] = state_.working.data()[w] & part_rows(state_, label, part, w);
    for (int value = 0; value < 2; ++value) {
      const std::size_t number = members_.number_of(tested, value);
      kept.counts[number] = static_cast<Counter>(members_.count_among(number, some.data()));
    }
  }

  const Members& members_;
  const State& state_;
  std::vector<Kept> kept_;  // by label and part
  std::vector<std::uint64_t> versions_;
  std::vector<std::uint32_t> log_;  // labels, in the order in which they were set on more rows
};

}  // namespace polyrule
