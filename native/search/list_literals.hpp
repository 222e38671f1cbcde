// The search for the best list conditions of one label after the other (lists.hpp says how).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "data/condition_rows.hpp"
#include "search/cache.hpp"
#include "search/label_counts.hpp"
#include "search/list_bounds.hpp"
#include "search/lists.hpp"

namespace polyrule {

// What a search needs room for, kept from node to node. Between two searches nothing is held.
template <class Counter>
struct ListRoom {
  LineArray<Counter> present, present_set, unset, none;
  LineArray<std::uint32_t> passing;
  std::vector<BestLiterals> best;  // by condition
  std::vector<Word> absent, absent_set;
  std::vector<Word> parts[3];

  explicit ListRoom(const ConditionRows& condition_rows) : best(condition_rows.size()) {
    for (LineArray<Counter>* counts : {&present, &present_set, &unset}) counts->resize(condition_rows.counters());
    none.assign(condition_rows.counters(), 0);
    passing.resize(condition_rows.counters());
  }
};

// The best conditions of the labels shown so far.
template <class Counter>
class LiteralSearch {
 public:
  LiteralSearch(const Node& node, const State& state, const ConditionRows& condition_rows, const Form& form,
                const Sizes<Counter>& sizes, LabelCounts<Counter>* root_counts, bool in_classes,
                ListRoom<Counter>& room, double capacity, Count min_coverage, std::size_t max_size,
                const Fraction& level)
      : node_(node), state_(state), condition_rows_(condition_rows), form_(form), sizes_(sizes.get()),
        has_root_counts_(root_counts != nullptr), rough_(in_classes && !condition_rows.classes().exact()),
        min_ratio_(rough_ ? condition_rows.classes().min_ratio : 1),
        max_ratio_(rough_ ? condition_rows.classes().max_ratio : 1),
        counts_(node, state, condition_rows, sizes.all(), root_counts, in_classes), room_(room), capacity_(capacity),
        min_coverage_(min_coverage), max_size_(max_size), target_(form, level), gains_(form, level), best_(room.best) {
    room.absent.resize(node.cover.words());
    for (std::size_t k = 0; k < condition_rows_.counters(); k += kVector)
      largest_.push_back(
          static_cast<Count>(std::ceil(double(*std::max_element(sizes_ + k, sizes_ + k + kVector)) * max_ratio_)));
    set_level(level);
  }

  ~LiteralSearch() {
    for (const std::uint32_t k : numbers_) best_[k] = {};
  }

  const Fraction& level() const { return level_; }
  const Target& target() const { return target_; }
  void raise(const Fraction& level) {
    if (compare(level, level_) > 0) set_level(level);
  }

  // All conditions for the literals of a label. note(value, reach, level): what no condition exceeds (cache.hpp).
  template <class Note>
  void look(const NodeLabel& label, Note&& note) {
    const Fraction level = level_;
    double beyond[2];
    vectors_ = 0;
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v]) vectors_ = std::max(vectors_, vectors_for(label, v, 0, beyond[v]));
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v]) vectors_for(label, v, vectors_, beyond[v]);
    if (vectors_ > 0) count_positives(label);
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v]) {
        const double reach = vectors_ > 0 ? look_at(label, v) : beyond[v];
        note(v, std::max(beyond[v], reach), vectors_ > 0 ? level_ : level);
      }
    rise();
  }

  // Adds what another search has found for other labels.
  void join(const LiteralSearch& other) {
    raise(other.level_);
    for (const std::uint32_t k : other.numbers_) {
      const BestLiterals& more = other.best_[k];
      hold(k, more.value, more.tp, more.label);
    }
    better_ = true;
    rise();
  }

  void offer_all(Shortlist& best) const {
    for (const std::uint32_t k : numbers_)
      if (best.admits(best_[k].value, best_[k].tp)) best.offer({best_[k].value, best_[k].tp, condition_rows_[k]});
  }

 private:
  static constexpr std::size_t kVector = 256;            // conditions that are counted together
  static constexpr std::size_t kMaxCountingWork = 8000;  // rows times vectors, to have exact counts instead of bounds

  void set_level(const Fraction& level) {
    level_ = level;
    target_ = Target(form_, level);
    gains_ = Gains(form_, level);
    std::erase_if(numbers_, [&](std::uint32_t k) {
      const bool out = compare(best_[k].value, level) < 0;
      if (out) best_[k] = {};
      return out;
    });
  }

  // The level is the value of the last condition wanted.
  void rise() {
    if (!better_ || numbers_.size() < max_size_) return;
    better_ = false;
    if (max_size_ == 1) {
      Fraction top = level_;
      for (const std::uint32_t k : numbers_)
        if (compare(best_[k].value, top) > 0) top = best_[k].value;
      return set_level(make_fraction(top.num, top.den));
    }
    std::vector<Fraction> values;
    for (const std::uint32_t k : numbers_) values.push_back(best_[k].value);
    std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(max_size_ - 1), values.end(),
                     [](const Fraction& a, const Fraction& b) { return compare(a, b) > 0; });
    const Fraction& last = values[max_size_ - 1];
    if (compare(last, level_) > 0) set_level(make_fraction(last.num, last.den));
  }

  void hold(std::uint32_t k, const Fraction& value, Count tp, std::uint32_t label) {
    if (!best_[k].any()) numbers_.push_back(k);
    best_[k].meet(value, tp, label);
  }

  // Whether values tell present rows from absent ones where the label is set. At one level they may weigh the same.
  bool needs_set() const { return form_.num[3] != form_.num[4] || form_.den[3] != form_.den[4]; }

  // Up to which vector of conditions there is one large enough for the literal, but not less than `least`. `beyond`
  // gets what those after it cannot exceed.
  std::size_t vectors_for(const NodeLabel& label, int v, std::size_t first, double& beyond) const {
    beyond = -std::numeric_limits<double>::infinity();
    for (std::size_t g = largest_.size(); g > first; --g) {
      Wide bound = gains_.empty_sum(label);
      for (int k = 0; k < kOutcomes; ++k)
        if (gains_.slope[v][k] > 0) bound += gains_.slope[v][k] * std::min(label.outcomes[k], largest_[g - 1]);
      if (bound >= 0 && largest_[g - 1] > 0) return g;
      beyond = std::max(beyond, double(bound) / double(level_.den));
    }
    return first;
  }

  void count_positives(const NodeLabel& label) {
    has_set_ = label.outcomes[kPresentSet] > 0 && needs_set();
    has_absent_ = false;
    unset_at_ = nullptr;
    if (rough_) list_parts(label);
    present_at_ = counts_.count(label, Part::present, vectors_, room_.present);
    present_set_at_ =
        has_set_ ? counts_.count(label, Part::present_set, vectors_, room_.present_set) : room_.none.get();
    // Where the unset absent rows are counted at little cost, there is no need for bounds, and what the literal reaches
    // is known exactly.
    if (has_root_counts_ && counts_.work(label, Part::absent) * vectors_ <= kMaxCountingWork)
      unset_at_ = counts_.count(label, Part::absent, vectors_, room_.unset);
  }

  // Returns the literal's reach at the level, which may rise before.
  double look_at(const NodeLabel& label, int v) {
    for (bool tried = false;;) {
      double scale = 1;
      const LiteralLanes lanes = lanes_of(label, v, scale);
      ListLane below = kNever;
      const std::size_t count = bound_conditions(lanes, sizes_, present_at_, present_set_at_, unset_at_,
                                                 vectors_ * kVector, room_.passing.get(), below);
      double reach = double(below) / scale;
      if (count == 0) return reach;  // all pruned by the coverage bound
      if (prepare_unset(label, count) && rough_) continue;
      const std::span<const std::uint32_t> passing(room_.passing.get(), count);
      if (rough_ && max_size_ == 1 && !tried && count > 2) {
        // The value of the most promising one rules out most others.
        tried = true;
        const auto leader = std::max_element(passing.begin(), passing.end(), [&](std::uint32_t a, std::uint32_t b) {
          return rough_gain(lanes, a) < rough_gain(lanes, b);
        });
        if (const auto outcomes = outcomes_of(label, *leader); outcomes && (*outcomes)[v] > 0) {
          const Fraction value = literal_value(form_, literal_counts(label, *outcomes, v));
          if (compare(value, level_) > 0) {
            set_level(make_fraction(value.num, value.den));
            continue;
          }
        }
      }
      for (const std::uint32_t k : passing) {
        const auto outcomes = outcomes_of(label, k);
        if (!outcomes) continue;
        const Wide gain = gains_.sum(label, *outcomes, v);
        reach = std::max(reach, double(gain) / double(level_.den));
        if (gain < 0 || (*outcomes)[v] <= 0) continue;
        const Fraction value = literal_value(form_, literal_counts(label, *outcomes, v));
        better_ = better_ || gain > 0;
        hold(k, value, (*outcomes)[v], label.label);
      }
      return reach;
    }
  }

  // What counts add to G, at most; `scale` is what G is multiplied with. Where sums do not fit into lanes, bounds are
  // rounded up.
  LiteralLanes lanes_of(const NodeLabel& label, int v, double& scale) const {
    // Rows where the label is unknown, and present ones that are set where they are not told apart, count like absent
    // ones that are set.
    const Count rest = node_.weight - label.outcomes[kAbsent] - label.outcomes[kPresent] -
                       (has_set_ ? label.outcomes[kPresentSet] : 0);
    double up[kOutcomes], down[kOutcomes], largest = 0;
    for (int k = 0; k < kOutcomes; ++k) {
      const double slope = double(gains_.slope[v][k]);
      up[k] = slope * (slope > 0 ? max_ratio_ : min_ratio_);
      down[k] = slope * (slope > 0 ? min_ratio_ : max_ratio_);
      if (k == kAbsentSet && is_vague()) up[k] = std::max(0.0, up[k]), down[k] = std::min(0.0, down[k]);
      largest += (k == kAbsentSet ? 2 : 1) * std::max(std::abs(up[k]), std::abs(down[k]));
    }
    const double empty = double(gains_.empty_sum(label)), whole = double(gains_.sum(label, label.outcomes, v));
    largest = std::abs(empty) + std::abs(whole) + largest * (double(node_.weight) / min_ratio_ + 1);
    const double by = largest < capacity_ ? 1 : 0.9 * capacity_ / largest;
    const auto above = [&](double x) { return static_cast<ListLane>(std::ceil(x * by)) + (by < 1); };
    const auto fill = [&](LiteralWeights& out, const auto& lane) {
      out.present = lane(kPresent);
      out.present_set = lane(kPresentSet);
      out.absent_set = lane(kAbsentSet);
      out.absent = lane(kAbsent) - out.absent_set;
    };
    const auto max_count = [&](Count weight) { return static_cast<ListLane>(double(weight) / min_ratio_ + 1e-6); };
    LiteralLanes lanes{{}, {}, max_count(label.outcomes[kAbsent]), max_count(rest), false};
    fill(lanes.covered, [&](int k) { return static_cast<ListLane>(std::ceil(up[k] * by)); });
    lanes.covered.empty = above(empty);
    if (rough_) {
      LiteralWeights& out = lanes.excluded;
      fill(out, [&](int k) { return static_cast<ListLane>(std::floor(down[k] * by)); });
      out.empty =
          above(whole) -
          static_cast<ListLane>(Count(out.present) * counted_[0] + Count(out.present_set) * counted_[1] +
                                Count(out.absent_set) * (counted_[2] + counted_[3]) + Count(out.absent) * counted_[2]);
      lanes.both = unset_at_ || (out.absent > 0) == (lanes.covered.absent > 0);
    }
    scale = double(level_.den) * by;
    return lanes;
  }

  Count rough_gain(const LiteralLanes& lanes, std::uint32_t k) const {
    const Count absent_weight = Count(sizes_[k]) - Count(present_at_[k]) - Count(present_set_at_[k]);
    const Count unset = unset_at_ ? Count(unset_at_[k]) : std::min<Count>(absent_weight, lanes.all_absent);
    const auto sum = [&](const LiteralWeights& w) {
      return w.empty + Count(w.present) * Count(present_at_[k]) + Count(w.present_set) * Count(present_set_at_[k]) +
             Count(w.absent_set) * absent_weight + Count(w.absent) * unset;
    };
    return lanes.both ? std::min(sum(lanes.covered), sum(lanes.excluded)) : sum(lanes.covered);
  }

  // Where it matters, rows of an unknown label are told from those that lack it only after the look at all conditions.
  bool is_vague() const { return state_.has_unknown && (form_.num[3] != 0 || form_.den[3] != 0); }

  // What a condition covers of a label, exactly; none if it covers too little. To be called after prepare_unset.
  std::optional<OutcomeCounts> outcomes_of(const NodeLabel& label, std::uint32_t k) {
    OutcomeCounts outcomes;
    const Count rest = node_.weight - label.outcomes[kAbsent] - label.outcomes[kPresent] -
                       (has_set_ ? label.outcomes[kPresentSet] : 0);
    Count absent_weight;
    if (rough_) {
      outcomes[kPresent] = weigh(k, room_.parts[0], label.outcomes[kPresent]);
      outcomes[kPresentSet] = has_set_ ? weigh(k, room_.parts[1], label.outcomes[kPresentSet]) : 0;
      outcomes[kAbsent] = weigh(k, room_.absent, label.outcomes[kAbsent]);
      absent_weight = outcomes[kAbsent] + (rest > 0 ? weigh(k, room_.parts[2], rest) : 0);
      if (absent_weight + outcomes[kPresent] + outcomes[kPresentSet] < min_coverage_) return {};
    } else {
      outcomes[kPresent] = present_at_[k];
      outcomes[kPresentSet] = present_set_at_[k];
      absent_weight = Count(sizes_[k]) - outcomes[kPresent] - outcomes[kPresentSet];
      const Count min_absent = std::max<Count>(0, absent_weight - rest),
                  max_absent = std::min<Count>(absent_weight, label.outcomes[kAbsent]);
      outcomes[kAbsent] = min_absent == max_absent ? min_absent
                          : unset_at_              ? Count(unset_at_[k])
                                                   : condition_rows_.count_among(k, room_.absent.data());
    }
    outcomes[kAbsentSet] =
        is_vague() ? condition_rows_.count_among(k, room_.absent_set.data()) : absent_weight - outcomes[kAbsent];
    return outcomes;
  }

  // The weight of a condition's rows among some that weigh `all`: of these, or of the others, whichever are fewer.
  Count weigh(std::uint32_t k, const std::vector<Word>& among, Count all) const {
    if (condition_rows_.is_label(k) || !condition_rows_.all_in_records())
      return condition_rows_.count_among(k, among.data());
    const Word* const rows = condition_rows_.bits_of(k);
    const Count inside = count_common(among.data(), rows, among.size()), whole = count_bits(among.data(), among.size());
    if (2 * inside <= whole) return state_.weigh_common(among.data(), rows);
    return all - state_.weigh_common(among.data(), among.data(), rows, true);
  }

  // The rows of a label's parts in the node. `parts`: present and unset, present and set if they are told apart, all
  // but these and the absent ones that are unset.
  void list_parts(const NodeLabel& label) {
    const std::size_t words = room_.absent.size();
    const Word *truth = state_.truth[label.label], *set = state_.set[label.label], *cover = node_.cover.data();
    part_rows(state_, label.label, Part::absent, cover, room_.absent);
    room_.absent_set.resize(is_vague() ? words : 0);
    for (std::size_t w = 0; w < room_.absent_set.size(); ++w)
      room_.absent_set[w] = cover[w] & ~truth[w] & set[w] & state_.known_word(label.label, w);
    has_absent_ = true;
    if (!rough_) return;
    for (std::vector<Word>& rows : room_.parts) rows.resize(words);
    for (std::size_t w = 0; w < words; ++w) {
      room_.parts[0][w] = cover[w] & truth[w] & ~set[w];
      room_.parts[1][w] = has_set_ ? cover[w] & truth[w] & set[w] : 0;
      room_.parts[2][w] = cover[w] & ~room_.parts[0][w] & ~room_.parts[1][w] & ~room_.absent[w];
    }
    const WeightClasses& classes = condition_rows_.classes();
    counted_[0] = classes.weigh(room_.parts[0].data());
    counted_[1] = has_set_ ? classes.weigh(room_.parts[1].data()) : 0;
    counted_[2] = classes.weigh(room_.absent.data());
    counted_[3] = classes.weigh(room_.parts[2].data());
  }

  // Makes ready to find the outcomes of `count` conditions. Whether the unset absent rows of all conditions have been
  // counted, because that is cheaper.
  bool prepare_unset(const NodeLabel& label, std::size_t count) {
    if (!has_absent_) list_parts(label);
    const std::size_t work = count * room_.absent.size() * (rough_ ? 8 : 1);
    if (unset_at_ || 4 * counts_.rows(label, Part::absent) * vectors_ > work) return false;
    counts_.count_rows_of(room_.absent, vectors_, room_.unset);
    unset_at_ = room_.unset.get();
    return true;
  }

  const Node& node_;
  const State& state_;
  const ConditionRows& condition_rows_;
  const Form& form_;
  const Counter* sizes_;
  const bool has_root_counts_;          // whether counts of the empty body are
  const bool rough_;                    // whether counts are those of classes: what passes is weighed
  const double min_ratio_, max_ratio_;  // what a count stands for
  NodeCounts<Counter> counts_;
  ListRoom<Counter>& room_;
  const double capacity_;
  const Count min_coverage_;
  const std::size_t max_size_;
  Fraction level_;
  Target target_;
  Gains gains_;
  std::vector<BestLiterals>& best_;
  std::vector<std::uint32_t> numbers_;  // of those that are held
  std::vector<Count> largest_;          // weight of a condition at most, by vector of conditions
  std::size_t vectors_ = 0;             // that the label under search needs
  bool has_set_ = false, has_absent_ = false, better_ = false;
  Count counted_[4] = {};  // of the label's parts in the node, where counts are those of classes
  // Counts of the label under search; `unset_at_` is null if the unset absent rows are not counted yet.
  const Counter *present_at_ = nullptr, *present_set_at_ = nullptr, *unset_at_ = nullptr;
};

}  // namespace polyrule
