// The best first condition of every literal, kept between rules.
//
// A rule only changes the labels of its head, and rows that leave the working set are mostly done with. So what a single
// condition can make of the other literals stays true, and the next rule starts from what is known: only literals that
// changed are searched again, each at a value of its own, until its best value is known exactly.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "lanes.hpp"
#include "singles.hpp"
#include "sweep.hpp"

namespace polyrule {

// What is known about the first conditions of a literal.
struct FirstCondition {
  bool known = false;  // whether no first condition exceeds `value`
  bool below = false;  // whether none reaches it, either
  bool exact = false;  // whether those of `units`, and no others, reach it
  Fraction value;
  std::vector<std::uint32_t> units;   // columns; after them two for each label
  std::optional<Condition> witness;  // one that was the best, to start from next time

  bool may_reach(const Fraction& level) const {
    const int order = known ? compare(value, level) : 1;
    return order > 0 || (order == 0 && !below);
  }
};

// Finds the largest value of every literal over all conditions shown. Literals are lanes, as in sweep.hpp, but each has its
// own value to reach, which rises whenever a condition does better.
template <class Int>
class OwnValues {
 public:
  using Lane = std::int32_t;

  struct Literal {
    NodeLabel label;
    int value;
    Fraction best;         // the value to reach; whether a condition has reached it is `reached`
    bool reached = false;
    double reach = -std::numeric_limits<double>::infinity();  // see prospects.hpp
    std::vector<std::uint32_t> units;
    std::optional<Condition> witness;
  };

  OwnValues(const Node& node, const State& state, const Form& form, std::vector<Literal> literals)
      : node_(node), state_(state), form_(form), literals_(std::move(literals)) {
    const std::size_t size = literals_.size();
    stride_ = size <= 4 ? 4 : (size + kLanes - 1) / kLanes * kLanes;
    table_.resize(state.rows * stride_);
    for (const Row row : node.rows) std::fill_n(table_.get() + row * stride_, stride_, Lane(0));
    for (LineArray<Lane>* lanes : {&high_, &low_, &total_}) lanes->resize(stride_);
    for (std::size_t i = 0; i < size; ++i) lanes_.push_back(make_lane(i)), fill(i);
  }

  const std::vector<Literal>& literals() const { return literals_; }

  void begin(std::uint32_t unit) { unit_ = unit; }

  // The candidates of a list of rows; see Sweep::judge.
  template <class Scan, class Join, class Leave>
  void judge(const std::uint32_t* rows, std::size_t size, const Sides& sides, const State&, Scan&, Join&& join,
             Leave&& leave) {
    const bool at_end = sides.join_last || sides.leave_last;
    sweep_rows(rows, size, table_.get(), stride_, at_end, high_.get(), low_.get(), total_.get());
    for (std::size_t i = 0; i < literals_.size(); ++i) {
      const LaneState& lane = lanes_[i];
      const Lane whole = sides.leaves_node ? lane.full : lane.empty + total_.get()[i];
      const Lane low = sides.leave_first ? std::min<Lane>(low_.get()[i], 0) : low_.get()[i];
      const Lane most = std::max<Lane>(lane.empty + high_.get()[i], whole - low);
      if (most < 0) {
        literals_[i].reach = std::max(literals_[i].reach, double(most) / lane.scale);
        continue;
      }
      literals_[i].reach = std::max(literals_[i].reach, 0.0);
      if (most == 0 && lane.tie_is_right) {
        note_tie(i);
        continue;
      }
      bool rose = false;
      for (;;) {
        const Peak peak = follow(i, rows, size, sides);
        if (!peak.any || peak.gain < 0) break;
        if (peak.gain == 0) {
          note_tie(i);
          break;
        }
        rise(i, peak.kinds, peak.leaves ? leave(peak.where) : join(peak.where));
        lanes_[i] = make_lane(i);
        rose = true;
      }
      if (rose) fill(i);
    }
  }

  // A candidate whose rows have been counted.
  void judge_counted(std::size_t i, const Count kinds[4], const Condition& condition) {
    const Literal& literal = literals_[i];
    if (kinds[literal.value] <= 0) return;
    const Counts counts = literal_counts(literal.label, kinds, literal.value, state_.working_weight);
    const int order = compare(literal_value(form_, counts), literal.best);
    if (order > 0) {
      rise(i, kinds, condition);
      note_tie(i);
      lanes_[i] = make_lane(i);
      fill(i);
    } else if (order == 0) {
      note_tie(i);
    }
    const double gain = double(linear<Wide>(form_.num, counts)) -
                        double(literal.best.num) / double(literal.best.den) * double(linear<Wide>(form_.den, counts));
    literals_[i].reach = std::max(literals_[i].reach, std::min(0.0, gain + 1e-6));
  }

 private:
  struct LaneState {
    Gains<Int> exact;
    Lane add[4];
    Lane empty, full;
    double scale;
    bool tie_is_right;  // whether a sum of 0 is a tie that has true positives
  };

  struct Peak {
    bool any = false, leaves = false;
    Int gain = 0;
    std::size_t where = 0;
    Count kinds[4] = {0, 0, 0, 0};
  };

  LaneState make_lane(std::size_t i) const {
    const Literal& literal = literals_[i];
    const LaneLevel level(form_, node_, state_, literal.best);
    const Gains<Int> gains(form_, level.value, state_.working_weight);
    LaneState lane{Gains<Int>(form_, literal.best, state_.working_weight), {}, 0, 0, double(level.value.den),
                   level.exact && needs_true_positives(literal)};
    for (int k = 0; k < 4; ++k) lane.add[k] = static_cast<Lane>(gains.slope[literal.value][k]);
    lane.empty = static_cast<Lane>(gains.empty_sum(literal.label));
    lane.full = static_cast<Lane>(gains.full_sum(literal.label, literal.value));
    return lane;
  }

  // Whether a candidate without true positives cannot tie: its value is 0, and its denominator is not, as there are positive
  // rows that it covers wrongly or misses.
  bool needs_true_positives(const Literal& literal) const {
    const bool only_right = form_.num[0] == 0 && form_.num[2] == 0 && form_.num[3] == 0 && form_.num[4] == 0;
    return only_right && literal.best.num > 0 && form_.den[2] > 0 && form_.den[4] > 0 &&
           literal.label.present > literal.label.kinds[kPresentSet];
  }

  void fill(std::size_t i) {
    const Word *truth = state_.truth[literals_[i].label.label], *set = state_.set[literals_[i].label.label];
    const Lane* add = lanes_[i].add;
    for (const Row row : node_.rows) {
      const int kind = kind_of((truth[row >> 6] >> (row & 63)) & 1, (set[row >> 6] >> (row & 63)) & 1);
      table_.get()[row * stride_ + i] = add[kind] * static_cast<Lane>(state_.weights[row]);
    }
  }

  void rise(std::size_t i, const Count kinds[4], const Condition& condition) {
    Literal& literal = literals_[i];
    const Fraction value =
        literal_value(form_, literal_counts(literal.label, kinds, literal.value, state_.working_weight));
    // The sums and a plain count must agree; a loop that never ends would be the worse way to find out.
    if (compare(value, literal.best) <= 0) throw std::logic_error("polyrule: sums and counts disagree");
    literal.best = value;
    literal.units.clear();
    literal.witness = condition;
  }

  void note_tie(std::size_t i) {
    Literal& literal = literals_[i];
    literal.reached = true;
    if (literal.units.empty() || literal.units.back() != unit_) literal.units.push_back(unit_);
  }

  // One literal through a list, exactly: the candidate with the largest gain among those with true positives.
  Peak follow(std::size_t i, const std::uint32_t* rows, std::size_t size, const Sides& sides) const {
    const Literal& literal = literals_[i];
    const Gains<Int>& gains = lanes_[i].exact;
    const Int* slope = gains.slope[literal.value];
    const Word *truth = state_.truth[literal.label.label], *set = state_.set[literal.label.label];
    const auto kind_at = [&](std::size_t place) {
      const Row row = rows[place] & kRowMask;
      return kind_of((truth[row >> 6] >> (row & 63)) & 1, (set[row >> 6] >> (row & 63)) & 1);
    };
    Count all[4] = {0, 0, 0, 0}, passed[4] = {0, 0, 0, 0};
    if (sides.leaves_node) std::copy_n(literal.label.kinds, 4, all);
    else
      for (std::size_t p = 0; p < size; ++p) all[kind_at(p)] += state_.weights[rows[p] & kRowMask];
    const Int empty = gains.empty_sum(literal.label);
    Int whole = empty, sum = 0;
    for (int k = 0; k < 4; ++k) whole += slope[k] * Int(all[k]);
    Peak peak;
    const auto look = [&](std::size_t where, bool joins, bool leaves) {
      if (joins && passed[literal.value] > 0 && (!peak.any || empty + sum > peak.gain)) {
        peak = {true, false, empty + sum, where, {}};
        std::copy_n(passed, 4, peak.kinds);
      }
      if (leaves && all[literal.value] > passed[literal.value] && (!peak.any || whole - sum > peak.gain)) {
        peak = {true, true, whole - sum, where, {}};
        for (int k = 0; k < 4; ++k) peak.kinds[k] = all[k] - passed[k];
      }
    };
    if (sides.leave_first) look(0, false, true);
    for (std::size_t p = 0; p < size; ++p) {
      if (p != 0 && (rows[p] & kStarts)) look(p, true, true);
      const int kind = kind_at(p);
      const Count weight = state_.weights[rows[p] & kRowMask];
      passed[kind] += weight;
      sum += slope[kind] * Int(weight);
    }
    look(size, sides.join_last, sides.leave_last);
    return peak;
  }

  const Node& node_;
  const State& state_;
  const Form& form_;
  std::vector<Literal> literals_;
  std::vector<LaneState> lanes_;
  std::size_t stride_ = 0;
  LineArray<Lane> table_;  // per row, what it adds to every lane
  LineArray<Lane> high_, low_, total_;
  std::uint32_t unit_ = 0;
};

}  // namespace polyrule
