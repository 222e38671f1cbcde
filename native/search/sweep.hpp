// The search of numeric columns: all literals of a node are lanes of a vector.
//
// A column's rows are read in ascending order. Each adds its vector of gains (scoring/literals.hpp) to the running
// sums, and only the largest and smallest sum of each lane is kept: they tell if `x <= t` or `x > t` reaches the level
// for some t. All boundaries are included, so "no" is always right; if the answer is "perhaps", the literal is followed
// through the same rows with exact counts.
//
// An example: the literal `a = 1`, F1 = 2 TP / (2 TP + FP + FN), and the level 1/2. G = 2 TP - FP - FN must reach 0. A
// rule that covers nothing has G = -5 (`empty`: FN = 5). A covered row adds 3 if it has the label (TP + 1, FN - 1) and
// -1 if not (FP + 1). All rows together add 10, so `whole` is 5.
//
//   row   x  a  adds  sum   G of x <= t   G of x > t    (at the boundary behind the row: -5 + sum, 5 - sum)
//     0   1  1    +3    3       -2             2        `x > 1.5`: TP 4, FP 5, FN 1
//     1   2  1    +3    6                               no boundary between equal values
//     2   2  1    +3    9        4            -4
//     3   3  0    -1    8        3            -3
//     4   4  1    +3   11        6            -6
//     5   5  0    -1   10        5            -5
//     6   6  0    -1    9        4            -4
//     7   7  1    +3   12        7            -7        `x <= 7.5`: TP 5, FP 3, FN 0
//     8   8  0    -1   11        6            -6
//     9   9  0    -1   10                               the end: all rows, no candidate
//
// The largest sum, 12, gives -5 + 12 >= 0: some `x <= t` reaches the level. The smallest, 3, gives 5 - 3 >= 0: so does
// some `x > t`. With a higher level both would fall below 0 for most literals, which are then never followed.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "core/arrays.hpp"
#include "core/assert.hpp"
#include "scoring/literals.hpp"

namespace polyrule {

inline constexpr std::size_t kLanes = 8;

using Lane = std::int32_t;

// Extremes of the running sums over a list at the starts of distinct values (and at its end, if asked for). A slot of
// the table has `stride` numbers: 4, or a multiple of kLanes; each starts at a multiple of 16 bytes.
void sweep_list(const std::uint32_t* list, std::size_t size, const Lane* table, std::size_t stride, bool at_end,
                Lane* high, Lane* low);

// sums[bin] gets what the covered rows of each bin add up to; stride as above.
void sum_bins(const std::uint8_t* bins, const Row* rows, std::size_t size, bool by_row, const Lane* table,
              std::size_t stride, Lane* sums);

// A list of slots, marked where distinct values start. A boundary lies between two values and is known by the number of
// slots before it: `join` makes the condition that covers the slots on this side, `leave` the one that covers the rest
// of the node except for the slots without a value.
struct Line {
  const std::uint32_t* list = nullptr;
  std::size_t size = 0;
  bool join_last = false;   // whether the whole list is a candidate of `join`
  bool leave_last = false;  // whether what remains after the whole list is a candidate of `leave`
  std::span<const std::uint32_t> missing;
};

// A literal that reaches its lane's level at a boundary.
struct Passing {
  std::size_t literal;
  Counts counts;
};

struct Literal {
  NodeLabel label;
  int value;
};

// Where gains do not fit into lanes, they are scaled down and rounded. No sum is then off by more than a half for each
// row, which is added to what a literal reaches.
class Sweep {
 public:
  Sweep(const Node& node, const State& state, const Form& form, double capacity, std::vector<Literal> literals)
      : node_(node), state_(state), form_(form), capacity_(capacity), literals_(std::move(literals)),
        lanes_(literals_.size()), reach_(literals_.size(), -std::numeric_limits<double>::infinity()) {
    stride_ = literals_.size() <= 4 ? 4 : (literals_.size() + kLanes - 1) / kLanes * kLanes;
    table_.assign(node.slots * stride_, Lane(0));
    for (LineArray<Lane>* lanes : {&high_, &low_}) lanes->resize(stride_);
  }

  const std::vector<Literal>& literals() const { return literals_; }
  // The largest G / q seen so far of a literal, over all candidates; see cache.hpp.
  double reach(std::size_t literal) const { return reach_[literal]; }
  // The largest G / q of the last column.
  double top() const { return top_; }
  void note_top(double top) { top_ = top; }
  // The slots of the open bins of the last column, in order.
  const std::vector<std::uint32_t>& binned() const { return binned_; }

  void set_level(const Fraction& level) {
    for (std::size_t i = 0; i < literals_.size(); ++i) set_lane(i, level);
    const std::size_t labels = literals_.size();
    // Row by row, so that every line of the table is written once.
    std::vector<const std::uint8_t*> outcomes(labels);
    for (std::size_t i = 0; i < labels; ++i) outcomes[i] = outcomes_of(i);
    each_slot([&](std::uint32_t slot) {
      Lane* out = table_.get() + slot * stride_;
      for (std::size_t i = 0; i < labels; ++i) out[i] = lane_gain(lanes_[i], outcomes[i][slot], slot);
    });
  }

  // One literal gets a level of its own.
  void set_level(std::size_t i, const Fraction& level) {
    set_lane(i, level);
    const std::uint8_t* outcomes = outcomes_of(i);
    each_slot([&](std::uint32_t slot) { table_[slot * stride_ + i] = lane_gain(lanes_[i], outcomes[slot], slot); });
  }

  // The literals whose boundaries are being shown, or one of them, must reach more from here on. Ties count again.
  void lift(const Fraction& level) {
    ties_count_ = true;
    for (Followed& f : followed_) aim(f, level);
  }
  void lift(std::size_t literal, const Fraction& level) {
    for (Followed& f : followed_)
      if (f.literal == literal) aim(f, level);
  }

  // Shows the boundaries where literals reach their level. can_tie(tp): whether boundaries where they do not exceed it,
  // and have no more true positives than this, are worth a look.
  template <class Show, class CanTie>
  void judge(const Line& line, CanTie&& can_tie, Show&& show) {
    const bool at_end = line.join_last || line.leave_last;
    sweep_list(line.list, line.size, table_.get(), stride_, at_end, high_.get(), low_.get());
    screen(line.missing,
           [&](std::size_t i, Count whole) { return std::max<Count>(lanes_[i].empty + high_[i], whole - low_[i]); });
    if (!must_follow(can_tie)) return;
    start(line.missing);
    for (std::size_t p = 0; p < line.size; ++p) {
      if (p != 0 && (line.list[p] & kStarts)) look(p, true, true, show);
      step(line.list[p] & kEntry);
    }
    look(line.size, line.join_last, line.leave_last, show);
  }

  // The same for a column in bins: those that cannot hold a boundary which reaches the level are passed as a whole, the
  // others are put in order by sort(slots). Boundaries are known by their number in `binned()`.
  template <class Show, class CanTie, class Sort>
  void judge_bins(const Column& column, const std::vector<std::uint32_t>& missing, CanTie&& can_tie, Show&& show,
                  Sort&& sort) {
    const std::size_t bins = column.cuts.size() + 1;
    sums_.assign((Column::kMissingBin + 1) * stride_, Lane(0));
    sum_bins(column.bins.data(), node_.rows.data(), node_.rows.size(), node_.is_root(), table_.get(), stride_,
             sums_.get());
    weigh_bins(column);
    std::vector<char> open(bins, 0);
    const auto peak = [&](std::size_t i, Count whole) { return peak_of(i, bins, whole, open); };
    screen(missing, peak);
    if (!must_follow(can_tie)) return;
    follow_bins(column, bins, missing, open, show, sort);
  }

 private:
  struct LaneState {
    Fraction level;
    double add[kOutcomes + 1];  // what a row of weight 1 adds, before it is rounded
    Lane unit[kOutcomes + 1];   // and after
    Count empty = 0, full = 0;
    double min_gain = 0, max_gain = 0;  // of `add`
    double scale = 1;
    Count room = 0;  // what rounding may change in a sum; 0: lanes are exact
  };

  Lane lane_gain(const LaneState& lane, int outcome, std::uint32_t slot) const {
    if (state_.unit) return lane.unit[outcome];
    const Count weight = state_.weights[node_.row(slot)];
    return lane.room == 0 ? static_cast<Lane>(lane.unit[outcome] * weight)
                          : static_cast<Lane>(std::lrint(lane.add[outcome] * double(weight)));
  }

  // A literal with exact counts, and with gains at the level that it must reach now. Sums of 64 bits leave lanes of 32
  // behind: where those can only look at a fraction below the level, most of what passes them does not reach it.
  struct Followed {
    explicit Followed(std::size_t number) : literal(number) {}
    std::size_t literal;
    const std::uint8_t* outcomes = nullptr;  // by slot
    OutcomeCounts all, passed;
    Count add[kOutcomes + 1] = {}, empty = 0, whole = 0, sum = 0;
    Count floor = 0;  // a gain below this is of no interest
  };

  void set_lane(std::size_t i, const Fraction& at) {
    const auto& [label, v] = literals_[i];
    const Gains gains(form_, at);
    double largest = std::abs(double(gains.empty_sum(label)));  // of the sums that this literal can have
    for (int k = 0; k < kOutcomes; ++k)
      largest += std::abs(double(gains.slope[v][k])) * double(std::max<Count>(1, label.outcomes[k]));
    const double down = largest < capacity_ ? 1 : 0.9 * capacity_ / largest;
    LaneState& lane = lanes_[i];
    lane.level = at;
    for (int k = 0; k <= kOutcomes; ++k) {
      lane.add[k] = double(gains.slope[v][k]) * down;
      lane.unit[k] = static_cast<Lane>(std::lrint(lane.add[k]));
    }
    lane.min_gain = *std::min_element(lane.add, lane.add + kOutcomes + 1);
    lane.max_gain = *std::max_element(lane.add, lane.add + kOutcomes + 1);
    lane.empty = static_cast<Count>(std::ceil(double(gains.empty_sum(label)) * down));
    lane.full = static_cast<Count>(std::ceil(double(gains.sum(label, label.outcomes, v)) * down));
    lane.scale = double(at.den) * down;
    lane.room = down < 1 ? static_cast<Count>(node_.rows.size()) / 2 + 2 : 0;
  }

  void aim(Followed& f, const Fraction& at) const {
    const auto& [label, v] = literals_[f.literal];
    const LaneLevel level(form_, double(node_.weight), state_, at, kWideCapacity);
    const Gains gains(form_, level.value);
    f.empty = f.whole = static_cast<Count>(gains.empty_sum(label));
    f.sum = 0;
    f.floor = level.exact && !ties_count_;
    for (int k = 0; k < kOutcomes; ++k) {
      f.add[k] = static_cast<Count>(gains.slope[v][k]);
      f.whole += f.add[k] * f.all[k];
      f.sum += f.add[k] * f.passed[k];
    }
  }

  // The kind of the literal's label by slot.
  const std::uint8_t* outcomes_of(std::size_t i) {
    const std::uint32_t label = literals_[i].label.label;
    for (const auto& [cached_label, outcomes] : outcomes_)
      if (cached_label == label) return outcomes.data();
    outcomes_.push_back({label, std::vector<std::uint8_t>(node_.slots, kUnknown)});
    std::vector<std::uint8_t>& outcomes = outcomes_.back().second;
    each_slot([&](std::uint32_t slot) {
      outcomes[slot] = static_cast<std::uint8_t>(state_.outcome(label, node_.row(slot)));
    });
    return outcomes.data();
  }

  template <class Visit>
  void each_slot(Visit&& visit) const {
    for (std::size_t p = 0; p < node_.rows.size(); ++p) visit(node_.slot_at(p));
  }

  Lane add_at(std::size_t i, std::uint32_t slot) const { return table_[slot * stride_ + i]; }

  // Finds the lanes that may reach their level, from what peak(lane, sum of all rows with a value) gives.
  template <class Peak>
  void screen(std::span<const std::uint32_t> missing, Peak&& peak) {
    followed_.clear();
    top_ = -std::numeric_limits<double>::infinity();
    all_exact_ = true;
    for (std::size_t i = 0; i < literals_.size(); ++i) {
      Count whole = lanes_[i].full;
      for (const std::uint32_t slot : missing) whole -= add_at(i, slot);
      const Count bound = peak(i, whole) + lanes_[i].room;
      const double reach = double(bound) / lanes_[i].scale;
      reach_[i] = std::max(reach_[i], reach);
      top_ = std::max(top_, reach);
      if (bound < 0) continue;  // prunes by the lane bound: no boundary of the column reaches the level
      all_exact_ = all_exact_ && lanes_[i].room == 0;
      followed_.emplace_back(i);
    }
  }

  template <class CanTie>
  bool must_follow(CanTie&& can_tie) {
    if (followed_.empty()) return false;
    ties_count_ = can_tie(potential());
    return top_ != 0 || !all_exact_ || ties_count_;
  }

  // True positives that all followed literals have at most.
  Count potential() const {
    Count total = 0;
    for (const Followed& f : followed_) total += literals_[f.literal].label.outcomes[literals_[f.literal].value];
    return total;
  }

  Count weight(std::uint32_t slot) const { return state_.unit ? 1 : state_.weights[node_.row(slot)]; }

  void start(std::span<const std::uint32_t> missing) {
    moved_ = 0;
    valued_ = node_.weight;
    for (const std::uint32_t slot : missing) valued_ -= weight(slot);
    POLYRULE_ASSERT(valued_ >= 0);
    for (Followed& f : followed_) {
      f.outcomes = outcomes_of(f.literal);
      f.all = literals_[f.literal].label.outcomes;
      for (const std::uint32_t slot : missing)
        if (f.outcomes[slot] < kOutcomes) f.all[f.outcomes[slot]] -= weight(slot);
      aim(f, lanes_[f.literal].level);
    }
  }

  void step(std::uint32_t slot) {
    const Count w = weight(slot);
    moved_ += w;
    for (Followed& f : followed_) {
      const int outcome = f.outcomes[slot];
      f.sum += f.add[outcome] * w;
      if (outcome < kOutcomes) f.passed[outcome] += w;
    }
  }

  // show(leaves, where, covered weight, passing literals) for each side of a boundary where there are any.
  template <class Show>
  void look(std::size_t where, bool joins, bool leaves, Show&& show) {
    for (const bool leaving : {false, true}) {
      if (leaving ? !leaves : !joins) continue;
      passing_.clear();
      for (const Followed& f : followed_) {
        if ((leaving ? f.whole - f.sum : f.empty + f.sum) < f.floor) continue;
        const auto& [label, value] = literals_[f.literal];
        OutcomeCounts outcomes = f.passed;
        if (leaving)
          for (int k = 0; k < kOutcomes; ++k) outcomes[k] = f.all[k] - outcomes[k];
        POLYRULE_ASSERT(outcomes[kPresent] >= 0 && outcomes[kAbsent] >= 0);
        if (outcomes[value] > 0) passing_.push_back({f.literal, literal_counts(label, outcomes, value)});
      }
      if (!passing_.empty()) show(leaving, where, leaving ? valued_ - moved_ : moved_, passing_);
    }
  }

  void weigh_bins(const Column& column) {
    weights_.assign(Column::kMissingBin + 1, 0);
    filled_.assign(Column::kMissingBin + 1, 0);
    for (const Row row : node_.rows) {
      weights_[column.bins[row]] += state_.unit ? 1 : state_.weights[row];
      ++filled_[column.bins[row]];
    }
  }

  // The largest gain that a boundary in or next to a bin can have. Inside, only the weight of a bin and the sum of its
  // gains are known: the rows that gain come first if the best row's gain and the worst one's alternate.
  Count peak_of(std::size_t i, std::size_t bins, Count whole, std::vector<char>& open) const {
    const LaneState& lane = lanes_[i];
    double top = -0x1p62, left = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      if (weights_[b] == 0) continue;
      const double sum = double(sums_[b * stride_ + i]), off = lane.room > 0 ? double(filled_[b]) / 2 : 0;
      const double rise = gaining(lane, sum + off, double(weights_[b]));
      const double bound = std::max(double(lane.empty) + left + rise, double(whole) - (left + sum - rise));
      if (bound + double(lane.room) >= 0) open[b] = 1;  // the others are pruned by the bin bound
      top = std::max(top, bound);
      left += sum;
    }
    return static_cast<Count>(std::floor(std::min(top, 0x1p62)));
  }

  // At most so much do the rows of a bin gain that gain anything.
  static double gaining(const LaneState& lane, double sum, double weight) {
    if (lane.max_gain <= 0) return 0;
    if (lane.min_gain >= 0) return sum;
    return std::ceil(lane.max_gain * (sum - lane.min_gain * weight) / (lane.max_gain - lane.min_gain) * (1 + 1e-12));
  }

  template <class Show, class Sort>
  void follow_bins(const Column& column, std::size_t bins, const std::vector<std::uint32_t>& missing,
                   const std::vector<char>& open, Show&& show, Sort&& sort) {
    start(missing);
    // Counts of the followed literals by bin, and the slots of open bins.
    std::vector<OutcomeCounts> counts(followed_.size() * bins);
    std::vector<std::vector<std::uint32_t>> slots(bins);
    for (std::uint32_t p = 0; p < node_.rows.size(); ++p) {
      const std::uint32_t slot = node_.slot_at(p);
      const std::uint8_t bin = column.bins[node_.rows[p]];
      if (bin == Column::kMissingBin) continue;
      if (open[bin]) slots[bin].push_back(slot);
      const Count w = weight(slot);
      for (std::size_t j = 0; j < followed_.size(); ++j)
        if (const int outcome = followed_[j].outcomes[slot]; outcome < kOutcomes) counts[j * bins + bin][outcome] += w;
    }
    // Boundaries next to a closed bin do not pass either, so the value before one that does is that of the last slot
    // seen.
    binned_.clear();
    for (std::size_t b = 0; b < bins; ++b) {
      if (weights_[b] == 0) continue;
      if (!open[b]) {
        for (std::size_t j = 0; j < followed_.size(); ++j) {
          Followed& f = followed_[j];
          for (int k = 0; k < kOutcomes; ++k) {
            f.passed[k] += counts[j * bins + b][k];
            f.sum += f.add[k] * counts[j * bins + b][k];
          }
        }
        moved_ += weights_[b];
        continue;
      }
      sort(slots[b]);
      for (const std::uint32_t entry : slots[b]) {
        if (!binned_.empty() && (entry & kStarts)) look(binned_.size(), true, true, show);
        binned_.push_back(entry & kEntry);
        step(entry & kEntry);
      }
    }
  }

  const Node& node_;
  const State& state_;
  const Form& form_;
  const double capacity_;
  std::vector<Literal> literals_;
  std::vector<LaneState> lanes_;
  std::vector<double> reach_;
  double top_ = 0;
  bool all_exact_ = true, ties_count_ = true;
  std::size_t stride_ = 0;
  LineArray<Lane> table_;  // by slot, what it adds to every lane
  LineArray<Lane> high_, low_, sums_;
  std::vector<Count> weights_, filled_;  // by bin, its weight and its rows
  std::vector<std::uint32_t> binned_;
  std::vector<std::pair<std::uint32_t, std::vector<std::uint8_t>>> outcomes_;
  std::vector<Followed> followed_;
  std::vector<Passing> passing_;
  Count moved_ = 0, valued_ = 0;  // weight passed, and of all rows with a value
};

}  // namespace polyrule
