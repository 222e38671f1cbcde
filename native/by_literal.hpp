// The search for the best condition, one label after the other, where all columns are kept as lists.
//
// A label's positive rows are few. Adding up their member records (members.hpp) counts them for every condition at once,
// and where counts of the empty body are kept (label_counts.hpp), it is enough to add up those that the node does not
// cover. How many of the other rows a condition covers is known. How many of those are unset is counted as well if that
// costs little; if not, it lies between two bounds, so every condition has an upper bound on G (singles.hpp), and only
// where that is not negative the unset rows are counted.
#pragma once

#include <limits>
#include <vector>

#include "label_counts.hpp"
#include "lanes.hpp"
#include "node.hpp"
#include "prospects.hpp"
#include "singles.hpp"
#include "tally.hpp"

namespace polyrule {

// What bounds G of one literal, in lanes: weights of the counts, and the counts of the node.
struct LiteralWeights {
  std::int32_t empty, present, present_set, absent_set, absent;  // `absent`: what an unset row adds to a set one
  std::int32_t all_absent, all_absent_set;
};

inline constexpr std::int32_t kNeverReached = std::numeric_limits<std::int32_t>::lowest() / 4;

// Lists the conditions whose bound is not negative in `found` (room for `counters` numbers) and returns how many; `below`
// gets the largest bound of the others. Conditions of size 0 do not count. `absent` may be null; then G is only bounded.
std::size_t bound_conditions(const LiteralWeights& weights, const std::uint16_t* sizes, const std::uint16_t* present,
                             const std::uint16_t* present_set, const std::uint16_t* absent, std::size_t counters,
                             std::uint32_t* found, std::int32_t& below);

// counts[k] becomes all[k] - counts[k].
void subtract_from(const std::uint16_t* all, std::uint16_t* counts, std::size_t size);

// Tests lower these, so that small data takes the ways of large data.
struct ListLimits {
  std::size_t kept_rows = 1000;      // from how many rows on counts of the empty body are worth keeping
  std::size_t threaded_labels = 48;  // that a second thread pays for
};
inline ListLimits list_limits;

// How many rows each condition covers in a node; 0 for those that do not divide it.
using ConditionSizes = LineArray<std::uint16_t>;

// The best conditions of the labels shown so far.
template <class Int>
class LiteralSearch {
 public:
  LiteralSearch(const Node& node, const State& state, const Form& form, const ConditionSizes& sizes, const Best& start,
                LabelCounts* kept)
      : node_(node), state_(state), members_(state.members), form_(form), sizes_(sizes), start_(start),
        target_(form, start.value, state.working_weight), ties_(members_.size(), 0), seen_tp_(members_.size(), 0),
        seen_at_(members_.size(), 0), absent_(node.cover.words()), kept_(kept),
        outside_(state.working) {
    for (std::size_t w = 0; w < outside_.words(); ++w) outside_.data()[w] &= ~node.cover.data()[w];
    for (LineArray<std::uint16_t>* counts : {&present_, &present_set_, &unset_, &none_})
      counts->resize(members_.counters());
    std::fill(none_.get(), none_.get() + members_.counters(), 0);
    found_.resize(members_.counters());
    for (std::size_t k = 0; k < members_.counters(); k += kVector)
      largest_.push_back(*std::max_element(sizes.get() + k, sizes.get() + k + kVector));
    set_level(start.value);
  }

  const Fraction& level() const { return level_; }
  const Target<Int>& target() const { return target_; }
  void raise(const Fraction& level) {
    if (compare(level, level_) > 0) set_level(level);
  }

  // All conditions for the literals of a label. note(value, reach, level): what no condition exceeds (prospects.hpp).
  template <class Note>
  void look(const NodeLabel& label, Note&& note) {
    ++stamp_;
    counted_.clear();
    const Fraction level = level_;
    double beyond[2];
    vectors_ = 0;
    for (int v = 0; v < 2; ++v)
      if (label.usable(v)) vectors_ = std::max(vectors_, vectors_for(label, v, 0, beyond[v]));
    for (int v = 0; v < 2; ++v)
      if (label.usable(v)) vectors_for(label, v, vectors_, beyond[v]);
    if (vectors_ > 0) count_positives(label);
    for (int v = 0; v < 2; ++v)
      if (label.usable(v)) note(v, std::max(beyond[v], vectors_ > 0 ? look_at(label, v) : beyond[v]), level);
    while (rises(label)) {
    }
    for (const Counted& c : counted_)
      if (gain_of(label, c) == 0 && c.kinds[c.value] > 0) add_tie(c);
  }

  // Adds what another search has found for other labels.
  void join(const LiteralSearch& other) {
    raise(other.level_);
    if (compare(other.level_, level_) < 0) return;
    for (const std::uint32_t k : other.tied_) {
      if (ties_[k] == 0) tied_.push_back(k);
      ties_[k] += other.ties_[k];
    }
  }

  Best best() const {
    Best best = start_;
    best.value = level_;
    best.tp = compare(level_, start_.value) == 0 ? start_.tp : 0;
    for (const std::uint32_t k : tied_) {
      if (ties_[k] < best.tp || (ties_[k] == best.tp && !best.any)) continue;
      if (ties_[k] == best.tp && !comes_before(members_[k], best.condition)) continue;
      best.tp = ties_[k];
      best.any = true;
      best.condition = members_[k];
    }
    return best;
  }

 private:
  static constexpr std::size_t kVector = 256;   // conditions that are counted together
  static constexpr Count kWorthCounting = 8000;  // rows times vectors, to have exact counts instead of bounds

  struct Counted {
    std::uint32_t condition;
    int value;
    Count kinds[4];
  };

  void set_level(const Fraction& level) {
    level_ = level;
    target_ = Target<Int>(form_, level, state_.working_weight);
    const LaneLevel lanes(form_, node_, state_, level);
    scale_ = double(lanes.value.den);
    lane_gains_ = Gains<Int>(form_, lanes.value, state_.working_weight);
    for (const std::uint32_t k : tied_) ties_[k] = 0;
    tied_.clear();
  }

  bool needs_set(int v) const { return target_.gains.slope[v][kPresentSet] != target_.gains.slope[v][kAbsentSet]; }

  // Up to which vector of conditions there is one large enough for the literal, but not less than `least`. `beyond`
  // gets what those after it cannot exceed.
  std::size_t vectors_for(const NodeLabel& label, int v, std::size_t least, double& beyond) const {
    beyond = double(kNeverReached) / scale_;
    for (std::size_t g = largest_.size(); g > least; --g) {
      Int bound = lane_gains_.empty_sum(label);
      for (int k = 0; k < 4; ++k)
        if (lane_gains_.slope[v][k] > 0)
          bound += lane_gains_.slope[v][k] * Int(std::min<Count>(label.kinds[k], largest_[g - 1]));
      if (bound >= 0) return g;
      beyond = std::max(beyond, double(bound) / scale_);
    }
    return least;
  }

  void count_positives(const NodeLabel& label) {
    has_set_ = label.kinds[kPresentSet] > 0 && (needs_set(0) || needs_set(1));
    has_absent_ = false;
    present_at_ = count_part(label, LabelCounts::present, label.kinds[kPresent], present_);
    present_set_at_ = none_.get();
    if (has_set_) present_set_at_ = count_part(label, LabelCounts::present_set, label.kinds[kPresentSet], present_set_);
    unset_at_ = nullptr;
    if (kept_) {
      const Count all = label.kinds[kAbsent];
      const Count rows = std::min(all, kept_->total(label.label, LabelCounts::absent) - all);
      if (rows * Count(vectors_) <= kWorthCounting) unset_at_ = count_part(label, LabelCounts::absent, all, unset_);
    }
  }

  // Counts of one part of a label by condition, either of its covered rows or as what the others leave.
  const std::uint16_t* count_part(const NodeLabel& label, LabelCounts::Part part, Count covered,
                                  LineArray<std::uint16_t>& counts) {
    const std::uint16_t* all = kept_ ? kept_->counts(state_, label.label, part) : nullptr;
    const bool others = all && kept_->total(label.label, part) - covered < covered;
    const Bits& among = others ? outside_ : node_.cover;
    rows_.clear();
    for (std::size_t w = 0; w < among.words(); ++w)
      for_each_bit(among.data()[w] & LabelCounts::rows_of(state_, label.label, part, w), w * 64,
                   [&](std::size_t i) { rows_.push_back(static_cast<Row>(i)); });
    if (others && rows_.empty()) return all;
    add_up(rows_, counts);
    if (others) subtract_from(all, counts.get(), vectors_ * kVector);
    return counts.get();
  }

  void add_up(const std::vector<Row>& rows, LineArray<std::uint16_t>& counts) const {
    tally(members_.data(), members_.stride(), rows.data(), rows.size(), vectors_, counts.get());
  }

  // Returns the literal's reach.
  double look_at(const NodeLabel& label, int v) {
    LiteralWeights weights;
    const auto& slope = lane_gains_.slope[v];
    const auto lane = [](Int x) { return static_cast<std::int32_t>(x); };
    weights.empty = lane(lane_gains_.empty_sum(label));
    weights.present = lane(slope[kPresent]);
    weights.present_set = lane(slope[kPresentSet]);
    weights.absent_set = lane(slope[kAbsentSet]);
    weights.absent = lane(slope[kAbsent] - slope[kAbsentSet]);
    weights.all_absent = lane(label.kinds[kAbsent]);
    // Present rows that are set count like absent ones where they are not told apart.
    weights.all_absent_set = lane(label.kinds[kAbsentSet] + (has_set_ ? 0 : label.kinds[kPresentSet]));
    std::int32_t below = kNeverReached;
    const std::size_t count = bound_conditions(weights, sizes_.get(), present_at_, present_set_at_, unset_at_,
                                               vectors_ * kVector, found_.get(), below);
    double reach = double(below) / scale_;
    if (count > 0) prepare_unset(label, count);
    for (std::size_t i = 0; i < count; ++i) {
      Counted c{found_.get()[i], v, {0, 0, 0, 0}};
      const std::uint32_t k = c.condition;
      c.kinds[kPresent] = present_at_[k];
      c.kinds[kPresentSet] = present_set_at_[k];
      const Count others = Count(sizes_.get()[k]) - c.kinds[kPresent] - c.kinds[kPresentSet];
      const Count least = std::max<Count>(0, others - weights.all_absent_set);
      const Count most = std::min<Count>(others, label.kinds[kAbsent]);
      c.kinds[kAbsent] = least == most ? least : count_absent(k);
      c.kinds[kAbsentSet] = others - c.kinds[kAbsent];
      Int gain = lane_gains_.empty_sum(label);
      for (int kind = 0; kind < 4; ++kind) gain += slope[kind] * Int(c.kinds[kind]);
      reach = std::max(reach, double(gain) / scale_);
      if (gain >= 0) counted_.push_back(c);
    }
    return reach;
  }

  // Makes ready to count the unset absent rows of `count` conditions, all at once if that is cheaper.
  void prepare_unset(const NodeLabel& label, std::size_t count) {
    if (unset_at_) return;
    if (!has_absent_) {
      const Word *truth = state_.truth[label.label], *set = state_.set[label.label];
      for (std::size_t w = 0; w < absent_.size(); ++w) absent_[w] = node_.cover.data()[w] & ~truth[w] & ~set[w];
      has_absent_ = true;
    }
    const auto rows = static_cast<std::size_t>(label.kinds[kAbsent]);
    if (unset_at_ || 4 * rows * vectors_ > count * absent_.size()) return;
    rows_.clear();
    for (std::size_t w = 0; w < absent_.size(); ++w)
      for_each_bit(absent_[w], w * 64, [&](std::size_t i) { rows_.push_back(static_cast<Row>(i)); });
    add_up(rows_, unset_);
    unset_at_ = unset_.get();
  }

  Count count_absent(std::uint32_t k) const {
    if (unset_at_) return unset_at_[k];
    if (!members_.is_label(k)) return count_common(absent_.data(), members_.rows_of(k), absent_.size());
    const Condition& condition = members_[k];
    return count_common(absent_.data(), state_.set[condition.index], state_.ones[condition.index], condition.edge == 0,
                        absent_.size());
  }

  Int gain_of(const NodeLabel& label, const Counted& c) const {
    return target_.gains.sum(label, c.kinds, c.value);
  }

  // Whether a literal of the label exceeds the level, which then rises.
  bool rises(const NodeLabel& label) {
    const Counted* top = nullptr;
    Int most = 0;
    for (const Counted& c : counted_)
      if (const Int gain = gain_of(label, c); gain > most && c.kinds[c.value] > 0) top = &c, most = gain;
    if (!top) return false;
    set_level(literal_value(form_, literal_counts(label, top->kinds, top->value, state_.working_weight)));
    return true;
  }

  // Of a label's two literals, the one with more true positives counts.
  void add_tie(const Counted& c) {
    const std::uint32_t k = c.condition;
    const Count tp = c.kinds[c.value];
    const Count before = seen_at_[k] == stamp_ ? seen_tp_[k] : 0;
    seen_at_[k] = stamp_;
    if (tp <= before) return;
    seen_tp_[k] = tp;
    if (ties_[k] == 0) tied_.push_back(k);
    ties_[k] += tp - before;
  }

  const Node& node_;
  const State& state_;
  const Members& members_;
  const Form& form_;
  const ConditionSizes& sizes_;
  const Best start_;
  Fraction level_;
  Target<Int> target_;
  Gains<Int> lane_gains_{target_.gains};
  double scale_ = 1;
  std::vector<Count> ties_;  // by condition: true positives of the labels that tie
  std::vector<std::uint32_t> tied_;
  std::vector<Count> seen_tp_;  // what the label under search has added
  std::vector<std::uint64_t> seen_at_;
  std::uint64_t stamp_ = 0;
  std::vector<Row> rows_;
  LineArray<std::uint16_t> present_, present_set_, unset_, none_;
  std::vector<std::uint16_t> largest_;  // size of a condition, by vector of conditions
  std::size_t vectors_ = 0;             // that the label under search needs
  bool has_set_ = false, has_absent_ = false;
  // Counts of the label under search; `unset_at_` is null if the unset absent rows are not counted yet.
  const std::uint16_t *present_at_ = nullptr, *present_set_at_ = nullptr, *unset_at_ = nullptr;
  LineArray<std::uint32_t> found_;
  std::vector<Word> absent_;  // the covered rows that are absent and unset
  std::vector<Counted> counted_;
  LabelCounts* kept_;  // null if there are none
  Bits outside_;       // the rows of the empty body that are not covered
};

}  // namespace polyrule
