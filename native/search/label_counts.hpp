// What each condition covers of each label in the empty body, cached from rule to rule.
//
// Bodies often cover most rows, so the counts of a label in a node are best found by taking off the few rows that are
// not covered. A label is counted when it is asked for; afterwards only what has changed since is corrected.
#pragma once

#include <vector>

#include "data/condition_rows.hpp"
#include "data/node.hpp"

namespace polyrule {

enum class Part { present, absent, present_set };  // unset and present, unset and absent, set and present

// The rows of a part of a label among some.
inline void part_rows(const State& state, std::size_t label, Part part, const Word* among, std::vector<Word>& out) {
  const Word *truth = state.truth[label], *set = state.set[label];
  out.resize(state.working.words());
  const auto fill = [&](auto&& rows) {
    for (std::size_t w = 0; w < out.size(); ++w) out[w] = among[w] & rows(w);
  };
  if (part == Part::present) fill([&](std::size_t w) { return truth[w] & ~set[w]; });
  else if (part == Part::present_set) fill([&](std::size_t w) { return truth[w] & set[w]; });
  else fill([&](std::size_t w) { return ~truth[w] & ~set[w]; });
  if (part != Part::absent || !state.has_unknown) return;
  for (std::size_t w = 0; w < out.size(); ++w) out[w] &= state.is_known[label][w];
}

inline std::size_t size_of(const std::vector<Word>& rows) {
  return static_cast<std::size_t>(count_bits(rows.data(), rows.size()));
}

inline std::size_t count_rows(const State& state, const Bits& among, std::size_t label, Part part) {
  std::vector<Word> rows;
  part_rows(state, label, part, among.data(), rows);
  return size_of(rows);
}

template <class Counter>
class LabelCounts {
 public:
  // `in_classes`: whether rows count as their class does.
  LabelCounts(const ConditionRows& condition_rows, const State& state, bool in_classes)
      : condition_rows_(condition_rows), state_(state), in_classes_(in_classes), cache_(state.labels * 3) {}

  bool fits() const {
    constexpr std::size_t kMostBytes = std::size_t{64} << 20;
    return state_.labels * 3 * condition_rows_.counters() * sizeof(Counter) <= kMostBytes;
  }

  // The working set, or what conditions on labels cover of it, has changed: all of its rows are counted again. To be
  // called before labels are asked for.
  void follow() {
    if (whole_stamp_.working == state_.now().working &&
        (!condition_rows_.has_labels() || whole_stamp_.sets == state_.now().sets))
      return;
    whole_stamp_ = state_.now();
    whole_.resize(condition_rows_.counters());
    condition_rows_.count(list_rows(state_.working), condition_rows_.vectors(), whole_.get(), in_classes_);
  }

  // By condition, up to date; different labels may be asked for at the same time. Rows that are in the part no more are
  // taken off, fresh ones are added, and conditions on labels that have been set on more rows are counted again; where
  // that is more work than counting all rows of the part, or all others, they are.
  const Counter* counts(std::size_t label, Part part) {
    CachedPart& cached = at(label, part);
    const Change change = state_.since(cached.stamp, label);
    if (!change.any()) return cached.counts.get();
    // What is neither present nor absent and unset is mostly little.
    const Counter* const present = part == Part::absent ? counts(label, Part::present) : nullptr;
    const std::size_t words = state_.working.words(), vectors = condition_rows_.vectors();
    if (!cached.stamp.working) cached.part.assign(words, 0), cached.counts.assign(condition_rows_.counters(), 0);
    // What the last rule has set is known for all conditions on labels together; else each is counted by itself.
    const std::size_t tested = condition_rows_.has_labels() ? change.sets.size() : 0;
    const bool is_last = tested > 0 && condition_rows_.is_last(cached.stamp);
    std::vector<Word> now, gone(words), fresh(words), rest(words), last(is_last ? words : 0);
    part_rows(state_, label, part, state_.working.data(), now);
    for (std::size_t w = 0; w < words; ++w) {
      gone[w] = cached.part[w] & ~now[w];
      fresh[w] = now[w] & ~cached.part[w];
      rest[w] = state_.working.data()[w] & ~now[w];
    }
    if (present) {
      const std::vector<Word>& also = at(label, Part::present).part;
      for (std::size_t w = 0; w < words; ++w) rest[w] &= ~also[w];
    }
    for (std::size_t w = 0; w < last.size(); ++w) last[w] = condition_rows_.last_rows().data()[w] & cached.part[w];
    cached.part = std::move(now);
    cached.stamp = state_.now();
    const std::size_t size = size_of(cached.part), rest_size = size_of(rest);
    const std::size_t all = std::min(size, rest_size) * vectors, moved = (size_of(gone) + size_of(fresh)) * vectors;
    if (moved + tested * words < all || (is_last && moved + size_of(last) * vectors < all)) {
      add(gone, true, cached.counts);
      add(fresh, false, cached.counts);
      if (is_last) condition_rows_.add_last(list_rows(last), cached.counts.get(), in_classes_);
      for (std::size_t i = 0; i < tested && !is_last; ++i)
        for (int value = 0; value < 2; ++value) {
          const std::size_t number = condition_rows_.number_of(change.sets[i], value);
          const Word* const among = cached.part.data();
          cached.counts[number] =
              static_cast<Counter>(in_classes_ ? condition_rows_.count_label_in_classes(number, among)
                                               : condition_rows_.count_among(number, among));
        }
      return cached.counts.get();
    }
    if (size <= rest_size) {
      condition_rows_.count(list_rows(cached.part), vectors, cached.counts.get(), in_classes_);
      return cached.counts.get();
    }
    for (std::size_t k = 0; k < condition_rows_.counters(); ++k)
      cached.counts[k] = static_cast<Counter>(whole_[k] - (present ? present[k] : 0));
    add(rest, true, cached.counts);
    return cached.counts.get();
  }

  // Whether nothing has changed since a part was counted.
  bool is_current(std::size_t label, Part part) { return !state_.since(at(label, part).stamp, label).any(); }

  // How many rows of the empty body are in a part; known at less cost than the counts.
  std::size_t rows(std::size_t label, Part part) {
    CachedPart& cached = at(label, part);
    if (const Change change = state_.since(cached.rows_stamp, label); change.label || change.working) {
      cached.rows_stamp = state_.now();
      cached.rows = count_rows(state_, state_.working, label, part);
    }
    return cached.rows;
  }

 private:
  struct CachedPart {
    Stamp stamp, rows_stamp;
    std::size_t rows = 0;
    std::vector<Word> part;  // the rows that were counted
    LineArray<Counter> counts;
  };

  CachedPart& at(std::size_t label, Part part) { return cache_[label * 3 + static_cast<std::size_t>(part)]; }

  void add(const std::vector<Word>& mask, bool subtract, LineArray<Counter>& counts) const {
    const std::vector<Row> rows = list_rows(mask);
    if (rows.empty()) return;
    std::vector<Counter> sums(condition_rows_.counters());
    condition_rows_.count(rows, condition_rows_.vectors(), sums.data(), in_classes_);
    for (std::size_t k = 0; k < sums.size(); ++k)
      counts[k] = static_cast<Counter>(subtract ? counts[k] - sums[k] : counts[k] + sums[k]);
  }

  const ConditionRows& condition_rows_;
  const State& state_;
  const bool in_classes_;
  std::vector<CachedPart> cache_;  // by label and part
  Stamp whole_stamp_;
  LineArray<Counter> whole_;  // of the working set
};

// Counts of a label's parts in a node, by condition: of its rows, or what the others leave of the node's or of the
// empty body's.
template <class Counter>
class NodeCounts {
 public:
  // `sizes`: what each condition covers of the node. `root_counts`: null if there are none.
  NodeCounts(const Node& node, const State& state, const ConditionRows& condition_rows, const Counter* sizes,
             LabelCounts<Counter>* root_counts, bool in_classes)
      : node_(node), state_(state), condition_rows_(condition_rows), sizes_(sizes), root_counts_(root_counts),
        in_classes_(in_classes) {
    if (!root_counts) return;
    outside_.resize(node.cover.words());
    for (std::size_t w = 0; w < outside_.size(); ++w) outside_[w] = state.working.data()[w] & ~node.cover.data()[w];
  }

  // Rows that must be looked at to count a part, if the rest of the node is not known.
  std::size_t work(const NodeLabel& label, Part part) {
    const std::size_t covered = rows(label, part);
    return root_counts_ && root_counts_->is_current(label.label, part)
               ? std::min(covered, root_counts_->rows(label.label, part) - covered)
               : covered;
  }

  // For the first `vectors` vectors of conditions. `room` takes what is not there already. `present`: those of the rows
  // where the label is unset and present; then absent ones are what these and the rest leave, which is mostly little.
  const Counter* count(const NodeLabel& label, Part part, std::size_t vectors, LineArray<Counter>& room,
                       const Counter* present = nullptr) {
    const std::size_t covered = rows(label, part),
                      outside = root_counts_ ? root_counts_->rows(label.label, part) - covered : SIZE_MAX;
    const std::size_t rest = present ? node_.rows.size() - covered - rows(label, Part::present) : SIZE_MAX;
    const bool from_node = outside > 0 && rest < covered;  // counts of the empty body would have to follow first
    const bool from_root = !from_node && outside <= covered;
    const Counter* const all = from_root ? root_counts_->counts(label.label, part) : nullptr;
    if (all && outside == 0) return all;
    part_rows(state_, label.label, part, from_root ? outside_.data() : node_.cover.data(), counted_rows_);
    if (from_node) {
      part_rows(state_, label.label, Part::present, node_.cover.data(), present_);
      for (std::size_t w = 0; w < counted_rows_.size(); ++w)
        counted_rows_[w] = node_.cover.data()[w] & ~counted_rows_[w] & ~present_[w];
    }
    count_rows_of(counted_rows_, vectors, room);
    for (std::size_t k = 0; from_root && k < vectors * kVector; ++k) room[k] = static_cast<Counter>(all[k] - room[k]);
    for (std::size_t k = 0; from_node && k < vectors * kVector; ++k)
      room[k] = static_cast<Counter>(sizes_[k] - present[k] - room[k]);
    return room.get();
  }

  void count_rows_of(const std::vector<Word>& mask, std::size_t vectors, LineArray<Counter>& room) const {
    condition_rows_.count(list_rows(mask), vectors, room.get(), in_classes_);
  }

  // Rows of one part of a label that the node covers.
  std::size_t rows(const NodeLabel& label, Part part) const {
    if (!state_.unit) return count_rows(state_, node_.cover, label.label, part);
    return static_cast<std::size_t>(part == Part::present  ? label.outcomes[kPresent]
                                    : part == Part::absent ? label.outcomes[kAbsent]
                                                           : label.outcomes[kPresentSet]);
  }

 private:
  static constexpr std::size_t kVector = 256;

  const Node& node_;
  const State& state_;
  const ConditionRows& condition_rows_;
  const Counter* sizes_;
  LabelCounts<Counter>* root_counts_;
  const bool in_classes_;
  std::vector<Word> outside_;                 // rows of the empty body that the node does not cover
  std::vector<Word> counted_rows_, present_;  // room
};

}  // namespace polyrule
