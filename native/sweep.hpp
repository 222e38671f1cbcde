// A safe and fast first look: can any candidate of a feature reach the value at all?
//
// All literals of a node are lanes of a vector. A feature's rows pass by in order, each adds its vector of gains (see
// singles.hpp) to the running sums, and only the largest and smallest sum of every lane is kept: whether `x <= t` or `x > t`
// reaches the value for some t can be read off them. Every boundary is looked at, so "no" is always right; where the answer
// is "perhaps", the literal is followed through the same rows with exact sums.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "columns.hpp"
#include "lanes.hpp"
#include "node.hpp"
#include "singles.hpp"
#include "tally.hpp"

namespace polyrule {

// Extremes of the running sums over a list of rows at the starts of distinct values (and at its end, if asked for), and
// the final sums. A row of the table has `stride` numbers: 4, or a multiple of kLanes; each starts at a multiple of 16 bytes.
void sweep_rows(const std::uint32_t* rows, std::size_t size, const std::int32_t* table, std::size_t stride, bool at_end,
                std::int32_t* high, std::int32_t* low, std::int32_t* total);

// What a pass over a list of rows shows at its boundaries: `join` makes the condition that covers the rows on this side,
// `leave` the one that covers the rest. Boundaries are known by the number of rows passed.
struct Sides {
  bool leaves_node;   // the rest is that of the node; otherwise that of the list
  bool leave_first;   // whether the whole list is a candidate of `leave` before any row has passed
  bool join_last;     // whether the whole list is a candidate of `join`
  bool leave_last;    // whether what remains after the whole list is a candidate of `leave`
};

template <class Int>
class Sweep {
 public:
  using Lane = std::int32_t;
  static constexpr std::size_t kLargestTable = std::size_t{16} << 20;  // worth building, in bytes

  explicit Sweep(const Node& node) : node_(node) {
    for (std::uint32_t e = 0; e < node.labels.size(); ++e)
      for (int v = 0; v < 2; ++v)
        if (node.labels[e].usable(v)) literals_.push_back({e, v});
    width_ = (literals_.size() + kLanes - 1) / kLanes;
    stride_ = literals_.size() <= 4 ? 4 : width_ * kLanes;  // a small table stays in the nearest cache
    reach_.assign(literals_.size(), -std::numeric_limits<double>::infinity());
    high_.resize(stride_);
    low_.resize(stride_);
    total_.resize(stride_);
  }

  std::size_t width() const { return width_; }
  std::size_t table_bytes(std::size_t rows) const { return rows * stride_ * sizeof(Lane); }

  // The largest G / q of the last list.
  double top() const { return top_; }

  // The largest G / q seen so far of every literal, over all candidates. Numbers taken at a lower value are larger, so
  // they bound what the literal can reach at the present one.
  template <class Visit>
  void each_reach(Visit&& visit) const {
    for (std::size_t i = 0; i < literals_.size(); ++i) visit(literals_[i].e, literals_[i].value, reach_[i]);
  }

  // Another look has found that no candidate it has seen exceeds this.
  void note_reach(std::uint32_t e, int value, double reach) {
    for (std::size_t i = 0; i < literals_.size(); ++i)
      if (literals_[i].e == e && literals_[i].value == value) reach_[i] = std::max(reach_[i], reach);
  }

  void set_gains(const Form& form, const Gains<Int>& exact, const Fraction& value, const State& state) {
    const LaneLevel level(form, node_, state, value);
    exact_ = level.exact;
    exact_gains_ = &exact;
    const Gains<Int> gains(form, level.value, state.working_weight);
    scale_ = double(level.value.den);
    plain_ = state.unit && exact_;
    for (int v = 0; v < 2; ++v) {
      right_gain_[v] = static_cast<Lane>(gains.slope[v][v]);
      for (int k = 0; k < 4; ++k) plain_ = plain_ && (k == v || gains.slope[v][k] != gains.slope[v][v]);
    }
    table_.resize(state.rows * stride_);
    empty_.assign(stride_, 0);
    full_.assign(stride_, 0);
    std::vector<Lane> usual(stride_, 0);
    slot_.assign(node_.labels.size() * 2, SIZE_MAX);
    for (std::size_t i = 0; i < literals_.size(); ++i) {
      const auto [e, v] = literals_[i];
      const NodeLabel& label = node_.labels[e];
      slot_[e * 2 + std::size_t(v)] = i;
      usual[i] = static_cast<Lane>(gains.slope[v][label.usual]);
      empty_[i] = static_cast<Lane>(gains.empty_sum(label));
      full_[i] = static_cast<Lane>(gains.full_sum(label, v));
    }
    for (const Row row : node_.rows) {
      const Lane w = static_cast<Lane>(state.weights[row]);
      Lane* out = table_.get() + row * stride_;
      for (std::size_t i = 0; i < usual.size(); ++i) out[i] = usual[i] * w;
      for (std::uint32_t t = node_.first[row]; t < node_.last[row]; ++t) {
        const std::size_t e = node_.touches[t] >> 2;
        for (int v = 0; v < 2; ++v)
          if (const std::size_t i = slot_[e * 2 + std::size_t(v)]; i != SIZE_MAX)
            out[i] = static_cast<Lane>(gains.slope[v][node_.touches[t] & 3]) * w;
      }
    }
  }

  // Judge all candidates of a list whose boundaries are distinct values. Lanes that can reach the value nowhere are dropped
  // after one sweep; for the others gains and true positives are followed boundary by boundary.
  template <class Scan, class Join, class Leave>
  void judge(const std::uint32_t* rows, std::size_t size, const Sides& sides, const State& state, Scan& scan,
             Join&& join, Leave&& leave) {
    const bool at_end = sides.join_last || sides.leave_last;
    sweep_rows(rows, size, table_.get(), stride_, at_end, high_.get(), low_.get(), total_.get());
    followed_.clear();
    Lane top = std::numeric_limits<Lane>::lowest();
    Count potential = 0;  // true positives that all literals at the value have at most
    for (std::uint32_t i = 0; i < literals_.size(); ++i) {
      const Lane whole = sides.leaves_node ? full_[i] : empty_[i] + total_.get()[i];
      const Lane low = sides.leave_first ? std::min<Lane>(low_.get()[i], 0) : low_.get()[i];
      const Lane most = std::max<Lane>(empty_[i] + high_.get()[i], whole - low);
      reach_[i] = std::max(reach_[i], double(most) / scale_);
      top = std::max(top, most);
      if (most < 0) continue;
      followed_.push_back({i, 0, 0, 0, 0, 0});
      potential += node_.labels[literals_[i].e].kinds[literals_[i].value];
    }
    top_ = double(top) / scale_;
    if (followed_.empty() || (exact_ && top == 0 && !scan.could_tie(potential))) return;
    for (Followed& f : followed_) start_following(f, rows, size, sides.leaves_node, state);
    if (sides.leave_first) judge_boundary(scan, 0, false, true, join, leave);
    for (std::size_t i = 0; i < size; ++i) {
      if (i != 0 && (rows[i] & kStarts) && any_reaches()) judge_boundary(scan, i, true, true, join, leave);
      const Row row = rows[i] & kRowMask;
      const Lane* adds = table_.get() + row * stride_;
      if (plain_)  // what a row adds tells whether it is a true positive
        for (Followed& f : followed_) {
          const Lane add = adds[f.lane];
          f.sum += add;
          f.tp += add == right_gain_[literals_[f.lane].value];
        }
      else
        for (Followed& f : followed_) follow(f, row, state);
    }
    judge_boundary(scan, size, sides.join_last, sides.leave_last, join, leave);
  }

 private:
  struct Slot {
    std::uint32_t e;
    int value;
  };

  struct Followed {
    std::uint32_t lane;
    Int empty;
    Int whole;
    Count tp_whole;
    Int sum;
    Count tp;
  };

  void start_following(Followed& f, const std::uint32_t* rows, std::size_t size, bool leaves_node, const State& state) {
    const auto [e, v] = literals_[f.lane];
    const NodeLabel& label = node_.labels[e];
    f.empty = exact_gains_->empty_sum(label);
    if (leaves_node) {
      f.whole = exact_gains_->full_sum(label, v);
      f.tp_whole = label.kinds[v];
      return;
    }
    for (std::size_t i = 0; i < size; ++i) follow(f, rows[i] & kRowMask, state);
    f.whole = f.empty + f.sum;
    f.tp_whole = f.tp;
    f.sum = 0;
    f.tp = 0;
  }

  void follow(Followed& f, Row row, const State& state) const {
    const auto [e, v] = literals_[f.lane];
    const std::uint32_t label = node_.labels[e].label;
    const int kind = kind_of(state.truth.test(label, row), state.set.test(label, row));
    f.sum += exact_gains_->slope[v][kind] * Int(state.weights[row]);
    f.tp += is_right(kind, v) ? state.weights[row] : 0;
  }

  bool any_reaches() const {
    for (const Followed& f : followed_)
      if (f.empty + f.sum >= 0 || f.whole - f.sum >= 0) return true;
    return false;
  }

  template <class Scan, class Join, class Leave>
  void judge_boundary(Scan& scan, std::size_t where, bool joins, bool leaves, Join&& join, Leave&& leave) const {
    if (joins)
      judge_side(scan, where, join, [&](const Followed& f) { return std::pair(f.empty + f.sum, f.tp); });
    if (leaves)
      judge_side(scan, where, leave, [&](const Followed& f) { return std::pair(f.whole - f.sum, f.tp_whole - f.tp); });
  }

  // True positives of all labels that tie here; of a label's two literals (neighbours in the list) the better one counts.
  template <class Scan, class Resolve, class Look>
  void judge_side(Scan& scan, std::size_t where, Resolve&& resolve, Look&& look) const {
    Count total = 0, last_tp = 0;
    std::uint32_t last = UINT32_MAX;
    for (const Followed& f : followed_) {
      const auto [gain, tp] = look(f);
      if (gain < 0 || tp <= 0) continue;
      const auto [e, value] = literals_[f.lane];
      if (gain > 0) {
        scan.offer_beat(gain, e, value, where, resolve);
      } else if (e == last) {
        total += std::max<Count>(0, tp - last_tp);
      } else {
        total += tp;
        last = e;
        last_tp = tp;
      }
    }
    if (total > 0) scan.offer_tie(total, where, resolve);
  }

  const Node& node_;
  std::vector<Slot> literals_;
  std::vector<Followed> followed_;
  std::vector<double> reach_;
  double scale_ = 1, top_ = 0;
  bool exact_ = true;  // whether the lanes' gains are those of the value itself
  const Gains<Int>* exact_gains_ = nullptr;
  bool plain_ = false;
  Lane right_gain_[2] = {0, 0};
  std::vector<std::size_t> slot_;
  std::size_t width_ = 0, stride_ = 0;
  LineArray<Lane> table_;  // per row, what it adds to every lane
  LineArray<Lane> high_, low_, total_;
  std::vector<Lane> empty_, full_;
};

}  // namespace polyrule
