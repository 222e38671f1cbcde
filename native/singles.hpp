// The search for the best condition where a head is worth as much as its best literal.
//
// At a value p/q, num/den >= p/q is the same as G = q*num - p*den >= 0 (denominators are positive here), and G is a sum
// over rows: every covered row adds a number that depends only on its kind. So a scan keeps one running sum per literal and
// asks two questions: is G > 0 anywhere (then the value rises and the scan is repeated), and where is G == 0 (a tie)?
//
// Which boundaries must be looked at. Between two touches of a label G is linear in the covered weight, so it is
// largest at an end of that stretch: before or after a touch. If G stays 0 along a stretch, the literal is *active*:
// the true positives of all active literals are one linear function of the weight, kept as a sum, and the best
// boundary is an end again. At the final value an inactive literal cannot be 0 inside a stretch, for then it would be
// positive at one end of it. This needs that a literal does not lose by gaining true positives, which `set_value` checks.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "columns.hpp"
#include "node.hpp"

namespace polyrule {

// Best condition so far. A tie at `value` counts only with more than `tp` true positives.
struct Best {
  Fraction value;
  Count tp = 0;
  bool any = false;
  Condition condition;
};

// What a covered row adds to G, by literal and kind, at one value.
template <class Int>
struct Gains {
  Int slope[2][4];
  Int constant, true_negative, false_negative;
  Count working_weight;

  Gains(const Form& form, const Fraction& value, Count working_weight) : working_weight(working_weight) {
    const Int p = static_cast<Int>(value.num), q = static_cast<Int>(value.den);
    Int h[5];
    for (std::size_t i = 0; i < 5; ++i) h[i] = Int(form.num[i]) * q - p * Int(form.den[i]);
    constant = h[0];
    true_negative = h[3];
    false_negative = h[4];
    for (int v = 0; v < 2; ++v) {
      slope[v][v] = h[1] - (v ? h[4] : h[3]);
      slope[v][1 - v] = h[2] - (v ? h[3] : h[4]);
      slope[v][kAbsentSet] = -h[3];
      slope[v][kPresentSet] = -h[4];
    }
  }

  // Whether every row can only lose: then nothing but ties can be found.
  bool only_ties() const {
    for (const auto& by_kind : slope)
      for (const Int& one : by_kind)
        if (one > 0) return false;
    return true;
  }

  // G of a rule that covers nothing.
  Int empty_sum(const NodeLabel& label) const {
    return constant + true_negative * Int(working_weight - label.present) + false_negative * Int(label.present);
  }

  // G of a rule that covers so many rows of each kind.
  Int sum(const NodeLabel& label, const Count kinds[4], int value) const {
    Int sum = empty_sum(label);
    for (int k = 0; k < 4; ++k) sum += slope[value][k] * Int(kinds[k]);
    return sum;
  }

  Int full_sum(const NodeLabel& label, int value) const { return sum(label, label.kinds, value); }

  // An upper bound on G over all refinements of the node: take only the rows that help. Negative: the literal is out of
  // the race here and in every body below, because covers only shrink and the value to reach only rises.
  Int bound(const NodeLabel& label, int value) const {
    Int sum = empty_sum(label);
    for (int k = 0; k < 4; ++k)
      if (slope[value][k] > 0) sum += slope[value][k] * Int(label.kinds[k]);
    return sum;
  }
};

inline Counts literal_counts(const NodeLabel& label, const Count kinds[4], int value, Count working_weight) {
  return {kinds[value], kinds[1 - value], working_weight - label.present - kinds[kAbsent] - kinds[kAbsentSet],
          label.present - kinds[kPresent] - kinds[kPresentSet]};
}

inline Fraction literal_value(const Form& form, const Counts& c) {
  return make_fraction(linear<Wide>(form.num, c), linear<Wide>(form.den, c));
}

template <class Int>
class SinglesScan {
 public:
  SinglesScan(const Node& node, const State& state, const Form& form, const Best& start)
      : node_(node), state_(state), form_(form), best_(start), gains_(form, start.value, state.working_weight) {
    runs_.resize(node.labels.size());
    for (auto& mode : starts_) mode.resize(node.labels.size());
    usable_ = set_value(start.value);
  }

  // False if the measure's shape does not allow this scan; the general one must be used.
  bool usable() const { return usable_; }
  const Best& best() const { return best_; }
  const Gains<Int>& gains() const { return gains_; }
  std::uint64_t risen() const { return risen_; }  // changes whenever the value does
  // Whether every row can only lose: then nothing but ties can be found, and a scan ends when no literal ties any more.
  bool fading() const { return fading_; }

  // Someone else has found a better value; ties with it are found from now on.
  void raise(const Fraction& value) {
    if (compare(value, best_.value) > 0) rise_to(value);
  }

  // Call after the scans of one feature: false if the value has risen and they must be repeated.
  template <class CountKinds>
  bool settled(CountKinds&& count_kinds) {
    if (!beat_.any) return true;
    Count kinds[4];
    const NodeLabel& label = node_.labels[beat_.label];
    count_kinds(beat_.condition, label.label, kinds);
    const Fraction value = literal_value(form_, literal_counts(label, kinds, beat_.value, state_.working_weight));
    // The scan and a plain count must agree; a loop that never ends would be the worse way to find out.
    if (compare(value, best_.value) <= 0) throw std::logic_error("polyrule: a scan and a count disagree");
    rise_to(value);
    return false;
  }

  // What another way of looking at candidates has found at the present value: a literal with G > 0, or the true positives
  // of all literals with G == 0.
  template <class Resolve>
  void offer_beat(Int gain, std::uint32_t label, int value, std::size_t where, Resolve&& resolve) {
    if (!beat_.any || gain > beat_.gain) beat_ = {true, gain, label, value, resolve(where)};
  }
  template <class Resolve>
  void offer_tie(Count tp, std::size_t where, Resolve&& resolve) {
    record(tp, where, resolve);
  }

  // Whether a tie with so many true positives at most would count.
  bool could_tie(Count tp) const { return tp > best_.tp || (tp == best_.tp && best_.any); }

  // -- one scan ------------------------------------------------------------------------------------------------------
  // Rows join (or, with `leaving`, leave) the candidate one group at a time; a boundary lies between two groups.

  void begin(bool leaving) {
    mode_ = leaving;
    for (const std::uint32_t e : dirty_) runs_[e].dirty = false;
    dirty_.clear();
    active_ = active_start_[mode_];
    here_ = {};
    ++stamp_;
    extra_ = 0;
  }

  // The boundary before a group of rows with equal values.
  template <class Resolve>
  void open(Count weight, std::size_t where, bool valid, Resolve&& resolve) {
    move_to(weight, where, valid, resolve);
    ++group_;
    touched_.clear();
  }

  template <class Resolve>
  void row(Row row, Resolve&& resolve) {
    const Count w = state_.unit ? 1 : state_.weights[row];
    for (std::uint32_t t = node_.first[row]; t < node_.last[row]; ++t) {
      const std::uint32_t e = node_.touches[t] >> 2;
      Run& run = fresh(e);
      if (run.group != group_) {
        run.group = group_;
        touched_.push_back(e);
        // Judge the label at the boundary before the group and take it out of the active sum.
        if (here_.valid) extra_ += run.stamp == stamp_ ? active_part(run) : contribution(e, run, resolve);
        if (run.active >= 0) drop_active(run);
      }
      touch(run, static_cast<int>(node_.touches[t] & 3), w);
    }
  }

  // The boundary after the group. False: no literal can tie any more.
  template <class Resolve>
  bool close(Count weight, std::size_t where, bool valid, Resolve&& resolve) {
    move_to(weight, where, valid, resolve);
    bool alive = false;
    for (const std::uint32_t e : touched_) {
      Run& run = runs_[e];
      const Count tp = valid ? contribution(e, run, resolve) : 0;
      run.stamp = valid ? stamp_ : 0;
      extra_ += tp - join_active(run);
      alive = alive || run.sum[0] + run.slope[0] * Int(weight) >= 0 || run.sum[1] + run.slope[1] * Int(weight) >= 0;
    }
    return alive || active_.count > 0 || !fading_ || mode_;
  }

  // Rows of a set that is a candidate only as a whole.
  void only_row(Row row) {
    const Count w = state_.unit ? 1 : state_.weights[row];
    for (std::uint32_t t = node_.first[row]; t < node_.last[row]; ++t) {
      const std::uint32_t e = node_.touches[t] >> 2;
      Run& run = fresh(e);
      if (run.active >= 0) drop_active(run);
      touch(run, static_cast<int>(node_.touches[t] & 3), w);
    }
  }

  // A boundary at which every label counts, touched or not.
  template <class Resolve>
  void all(Count weight, std::size_t where, bool valid, Resolve&& resolve) {
    flush(resolve);
    here_ = {weight, where, valid};
    ++stamp_;
    extra_ = 0;
    if (!valid) return;
    if (untouched_can_reach(mode_, weight)) {
      for (std::uint32_t e = 0; e < runs_.size(); ++e) {
        Run& run = fresh(e);
        extra_ += contribution(e, run, resolve) - active_part(run);
        run.stamp = stamp_;
      }
    } else {
      for (const std::uint32_t e : dirty_) {
        Run& run = runs_[e];
        extra_ += contribution(e, run, resolve) - active_part(run);
        run.stamp = stamp_;
      }
    }
  }

  // Last boundary of a scan; only active literals can gain there.
  template <class Resolve>
  void last(Count weight, std::size_t where, bool valid, Resolve&& resolve) {
    if (weight > here_.weight) move_to(weight, where, valid, resolve);
  }

  template <class Resolve>
  void end(Resolve&& resolve) {
    flush(resolve);
    here_ = {};
  }

  // The rest of the node after all rows given to `only_row` have left: the same sums, seen from the other side.
  template <class Resolve>
  void all_others(Count weight, bool valid, Resolve&& resolve) {
    if (!valid) return;
    Count total = active_start_[1].tp + active_start_[1].slope * weight;
    const bool loop = untouched_can_reach(true, weight);
    auto other = [&](std::uint32_t e) {
      Run run = starts_[1][e];
      if (run.active >= 0) total -= run.tp[run.active] + run.tp_slope[run.active] * weight;
      if (runs_[e].dirty)
        for (int v = 0; v < 2; ++v) {
          run.sum[v] -= runs_[e].sum[v] - starts_[0][e].sum[v];
          run.tp[v] -= runs_[e].tp[v] - starts_[0][e].tp[v];
        }
      here_ = {weight, 0, true};
      total += contribution(e, run, resolve);
    };
    if (loop)
      for (std::uint32_t e = 0; e < runs_.size(); ++e) other(e);
    else
      for (const std::uint32_t e : dirty_) other(e);
    here_ = {};
    if (total > 0) record(total, 0, resolve);
  }

 private:
  struct Run {
    Int sum[2];       // G without the part of the usual rows
    Int slope[2];     // what a usual row adds to G
    Count tp[2];      // true positives without the usual rows
    Count tp_slope[2];
    int active = -1;  // the literal that is 0 along the present stretch
    int usual = 0;
    bool dirty = false;
    std::uint32_t group = 0;
    std::uint32_t stamp = 0;  // the boundary this label was last judged at
  };
  struct Active {
    Count tp = 0, slope = 0;
    std::size_t count = 0;
  };
  struct Boundary {
    Count weight = 0;
    std::size_t where = 0;
    bool valid = false;
  };
  struct Beat {
    bool any = false;
    Int gain = 0;
    std::uint32_t label = 0;
    int value = 0;
    Condition condition;
  };

  void rise_to(const Fraction& value) {
    best_.value = value;
    best_.tp = 0;
    best_.any = false;
    usable_ = set_value(value) && usable_;
  }

  // Prepare all sums for one value.
  bool set_value(const Fraction& value) {
    gains_ = Gains<Int>(form_, value, state_.working_weight);
    beat_ = {};
    ++risen_;
    fading_ = gains_.only_ties();
    for (int mode = 0; mode < 2; ++mode) {
      active_start_[mode] = {};
      for (auto& by_value : highest_[mode]) by_value[0] = by_value[1] = kNever;
    }
    bool shape = gains_.slope[1][kPresent] >= 0 && gains_.slope[0][kAbsent] >= 0;
    for (std::uint32_t e = 0; e < node_.labels.size(); ++e) shape = prepare(e) && shape;
    dirty_.clear();
    return shape;
  }

  bool prepare(std::uint32_t e) {
    const NodeLabel& label = node_.labels[e];
    const int usual = label.usual;
    for (int mode = 0; mode < 2; ++mode) {
      Run run;
      run.usual = usual;
      for (int v = 0; v < 2; ++v) {
        run.sum[v] = mode ? gains_.full_sum(label, v) : gains_.empty_sum(label);
        run.tp[v] = mode ? label.kinds[v] : 0;
        run.slope[v] = mode ? -gains_.slope[v][usual] : gains_.slope[v][usual];
        run.tp_slope[v] = (is_right(usual, v) ? 1 : 0) * (mode ? -1 : 1);
        if (!label.usable(v)) {
          run.sum[v] = kNever;
          run.slope[v] = 0;
          run.tp_slope[v] = 0;
        }
        Int& high = highest_[mode][usual][v];
        high = std::max(high, run.sum[v]);
      }
      if (mode == 0 && (run.sum[0] > 0 || run.sum[1] > 0)) fading_ = false;
      run.active = active_literal(run);
      if (run.active >= 0) add_active(active_start_[mode], run, 1);
      starts_[mode][e] = run;
    }
    runs_[e].dirty = false;
    // Two literals of one label that are both flat where one of them gains true positives: which of them counts could
    // change inside a stretch.
    const bool both_flat = gains_.slope[0][usual] == 0 && gains_.slope[1][usual] == 0 && usual <= kPresent;
    return !(both_flat && label.usable(0) && label.usable(1));
  }

  Run& fresh(std::uint32_t e) {
    Run& run = runs_[e];
    if (!run.dirty) {
      run = starts_[mode_][e];
      run.dirty = true;
      dirty_.push_back(e);
    }
    return run;
  }

  void touch(Run& run, int kind, Count w) {
    const int usual = run.usual;
    if (mode_) w = -w;
    for (int v = 0; v < 2; ++v) {
      run.sum[v] += (gains_.slope[v][kind] - gains_.slope[v][usual]) * Int(w);
      run.tp[v] += (int(is_right(kind, v)) - int(is_right(usual, v))) * w;
    }
  }

  // The literal whose G is 0 now and stays so while usual rows pass, if any. If both are (then neither gains true
  // positives from usual rows, see `prepare`), the one with more true positives.
  static int active_literal(const Run& run) {
    int found = -1;
    for (int v = 1; v >= 0; --v)
      if (run.slope[v] == 0 && run.sum[v] == 0 && (found < 0 || run.tp[v] > run.tp[found])) found = v;
    return found;
  }

  static void add_active(Active& active, const Run& run, int sign) {
    active.tp += sign * run.tp[run.active];
    active.slope += sign * run.tp_slope[run.active];
    active.count += static_cast<std::size_t>(sign);
  }

  void drop_active(Run& run) {
    add_active(active_, run, -1);
    run.active = -1;
  }

  Count active_part(const Run& run) const {
    return run.active < 0 ? 0 : run.tp[run.active] + run.tp_slope[run.active] * here_.weight;
  }

  Count join_active(Run& run) {
    run.active = active_literal(run);
    if (run.active < 0) return 0;
    add_active(active_, run, 1);
    return active_part(run);
  }

  // True positives that a label brings to the head of the present candidate: 0 unless one of its literals ties.
  template <class Resolve>
  Count contribution(std::uint32_t e, const Run& run, Resolve&& resolve) {
    Count most = 0;
    for (int v = 1; v >= 0; --v) {
      const Int gain = run.sum[v] + run.slope[v] * Int(here_.weight);
      if (gain < 0) continue;
      const Count tp = run.tp[v] + run.tp_slope[v] * here_.weight;
      if (tp <= 0) continue;
      if (gain == 0) most = std::max(most, tp);
      else offer_beat(gain, e, v, here_.where, resolve);
    }
    return most;
  }

  template <class Resolve>
  void move_to(Count weight, std::size_t where, bool valid, Resolve&& resolve) {
    if (weight == here_.weight && valid == here_.valid) return;
    flush(resolve);
    here_ = {weight, where, valid};
    ++stamp_;
    extra_ = 0;
  }

  template <class Resolve>
  void flush(Resolve&& resolve) {
    if (!here_.valid) return;
    const Count total = active_.tp + active_.slope * here_.weight + extra_;
    if (total > 0) record(total, here_.where, resolve);
  }

  template <class Resolve>
  void record(Count total, std::size_t where, Resolve&& resolve) {
    if (beat_.any || total < best_.tp || (total == best_.tp && !best_.any)) return;
    const Condition condition = resolve(where);
    if (total == best_.tp && !comes_before(condition, best_.condition)) return;
    best_.tp = total;
    best_.any = true;
    best_.condition = condition;
  }

  bool untouched_can_reach(bool mode, Count weight) const {
    for (int usual = 0; usual < 4; ++usual)
      for (int v = 0; v < 2; ++v) {
        const Int high = highest_[mode][usual][v];
        if (high == kNever) continue;
        const Int slope = mode ? -gains_.slope[v][usual] : gains_.slope[v][usual];
        const Int reach = high + slope * Int(weight);
        // Flat literals at 0 are in the active sum already.
        if (reach > 0 || (reach == 0 && slope != 0)) return true;
      }
    return false;
  }

  static constexpr Int kNever = -(Int(1) << (sizeof(Int) * 8 - 3));

  const Node& node_;
  const State& state_;
  const Form& form_;
  Best best_;
  bool usable_ = true;
  std::uint64_t risen_ = 0;

  Gains<Int> gains_;
  bool fading_ = false;
  Int highest_[2][4][2];
  Active active_start_[2], active_;
  std::vector<Run> starts_[2], runs_;

  bool mode_ = false;
  Boundary here_;
  Count extra_ = 0;  // what literals that tie only at this boundary add to the active sum
  std::uint32_t stamp_ = 1, group_ = 0;
  std::vector<std::uint32_t> dirty_, touched_;
  Beat beat_;
};

}  // namespace polyrule
