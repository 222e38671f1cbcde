// What each condition covers of each label in the empty body, kept from rule to rule.
//
// Bodies often cover most rows, so the counts of a label in a node are best found by taking off the few rows that are
// not covered. A label is counted when it is asked for; afterwards only what has changed since is corrected.
#pragma once

#include <vector>

#include "data/members.hpp"
#include "data/node.hpp"

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

  // By condition, up to date; different labels may be asked for at the same time. Rows that are in the part no more are
  // taken off, fresh ones are added, and conditions on labels that have been set on more rows are counted again; where
  // that is more work than counting all rows, they are.
  const Counter* counts(std::size_t label, Part part) {
    Kept& kept = kept_[label * 3 + static_cast<std::size_t>(part)];
    const Change change = state_.since(kept.stamp, label);
    if (!change.any()) return kept.counts.get();
    const std::size_t words = state_.working.words(), vectors = members_.vectors();
    std::vector<Row> gone, fresh;
    std::size_t size = 0;
    if (!kept.stamp.working) kept.part = Bits(state_.rows), kept.counts.assign(members_.counters(), 0);
    const auto list = [](Word rows, std::size_t w, std::vector<Row>& out) {
      for_each_bit(rows, w * 64, [&](std::size_t i) { out.push_back(static_cast<Row>(i)); });
    };
    for (std::size_t w = 0; w < words; ++w) {
      const Word now = state_.working.data()[w] & part_rows(state_, label, part, w), before = kept.part.data()[w];
      size += static_cast<std::size_t>(std::popcount(now));
      list(before & ~now, w, gone);
      list(now & ~before, w, fresh);
      kept.part.data()[w] = now;
    }
    const std::size_t tested = members_.has_labels() ? change.sets.size() : 0;
    if ((gone.size() + fresh.size()) * vectors + tested * words / 4 >= size * vectors) {
      std::vector<Row> all;
      for (std::size_t w = 0; w < words; ++w) list(kept.part.data()[w], w, all);
      members_.count(all, vectors, kept.counts.get());
    } else {
      add(gone, true, kept.counts);
      add(fresh, false, kept.counts);
      for (std::size_t i = 0; i < tested; ++i)
        for (int value = 0; value < 2; ++value) {
          const std::size_t number = members_.number_of(change.sets[i], value);
          kept.counts[number] = static_cast<Counter>(members_.count_among(number, kept.part.data()));
        }
    }
    kept.stamp = state_.now();
    return kept.counts.get();
  }

  // Whether a part has been counted before: then little is to be done for it.
  bool knows(std::size_t label, Part part) const {
    return kept_[label * 3 + static_cast<std::size_t>(part)].stamp.working != nullptr;
  }

  // How many rows of the empty body are in a part; known at less cost than the counts.
  std::size_t rows(std::size_t label, Part part) {
    Kept& kept = kept_[label * 3 + static_cast<std::size_t>(part)];
    if (const Change change = state_.since(kept.rows_stamp, label); change.label || change.working) {
      kept.rows_stamp = state_.now();
      kept.rows = count_rows(state_, state_.working, label, part);
    }
    return kept.rows;
  }

 private:
  struct Kept {
    Stamp stamp, rows_stamp;
    std::size_t rows = 0;
    Bits part;  // the rows that were counted
    LineArray<Counter> counts;
  };

  void add(const std::vector<Row>& rows, bool subtract, LineArray<Counter>& counts) const {
    if (rows.empty()) return;
    std::vector<Counter> sums(members_.counters());
    members_.count(rows, members_.vectors(), sums.data());
    for (std::size_t k = 0; k < sums.size(); ++k)
      counts[k] = static_cast<Counter>(subtract ? counts[k] - sums[k] : counts[k] + sums[k]);
  }

  const Members& members_;
  const State& state_;
  std::vector<Kept> kept_;  // by label and part
};

// Counts of a label's parts in a node, by condition: of the covered rows, or what the others leave of the empty body's.
template <class Counter>
class NodeCounts {
 public:
  // `kept`: null if there are none.
  NodeCounts(const Node& node, const State& state, const Members& members, LabelCounts<Counter>* kept)
      : node_(node), state_(state), members_(members), kept_(kept) {}

  // Rows of one part of a label that the node covers.
  std::size_t rows(const NodeLabel& label, Part part) const {
    if (!state_.unit) return count_rows(state_, node_.cover, label.label, part);
    return static_cast<std::size_t>(part == Part::present  ? label.kinds[kPresent]
                                    : part == Part::absent ? label.kinds[kAbsent]
                                                           : label.kinds[kPresentSet]);
  }

  // Rows that must be looked at to count a part.
  std::size_t work(const NodeLabel& label, Part part) {
    const std::size_t covered = rows(label, part);
    return kept_ ? std::min(covered, kept_->rows(label.label, part) - covered) : covered;
  }
  // The same where it would have to be counted in the empty body first.
  std::size_t whole_work(const NodeLabel& label, Part part) {
    return kept_ && kept_->knows(label.label, part) ? work(label, part) : rows(label, part);
  }

  // For the first `vectors` vectors of conditions. `room` takes what is not there already.
  const Counter* count(const NodeLabel& label, Part part, std::size_t vectors, LineArray<Counter>& room) {
    const std::size_t covered = kept_ ? rows(label, part) : 0,
                      others = kept_ ? kept_->rows(label.label, part) - covered : 0;
    const Counter* const all = kept_ && others <= covered ? kept_->counts(label.label, part) : nullptr;
    if (all && others == 0) return all;
    if (all) find_outside();
    const Bits& among = all ? outside_ : node_.cover;
    count_some([&](std::size_t w) { return among.data()[w] & part_rows(state_, label.label, part, w); }, vectors, room);
    if (all)
      for (std::size_t k = 0; k < vectors * kVector; ++k) room[k] = static_cast<Counter>(all[k] - room[k]);
    return room.get();
  }

  // The rows that some(w) has of each word.
  template <class Some>
  void count_some(Some&& some, std::size_t vectors, LineArray<Counter>& room) {
    listed_.clear();
    for (std::size_t w = 0; w < node_.cover.words(); ++w)
      for_each_bit(some(w), w * 64, [&](std::size_t i) { listed_.push_back(static_cast<Row>(i)); });
    members_.count(listed_, vectors, room.get());
  }

 private:
  static constexpr std::size_t kVector = 256;

  // Rows of the empty body that are not covered.
  void find_outside() {
    if (outside_.words() > 0) return;
    outside_ = state_.working;
    for (std::size_t w = 0; w < outside_.words(); ++w) outside_.data()[w] &= ~node_.cover.data()[w];
  }

  const Node& node_;
  const State& state_;
  const Members& members_;
  LabelCounts<Counter>* kept_;
  Bits outside_;  // made when it is needed
  std::vector<Row> listed_;
};

}  // namespace polyrule
