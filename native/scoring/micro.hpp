// The best head by a measure of its summed counts that is no ratio: correlations, associations, the m-estimate.
#pragma once

#include <algorithm>
#include <vector>

#include "core/watch.hpp"
#include "scoring/dominance.hpp"
#include "scoring/formula.hpp"
#include "scoring/micro_gains.hpp"
#include "scoring/rank.hpp"

namespace polyrule {

// Branch and bound over boxes until few literals are left, or over labels where a box is small. Labels with the
// smallest x are decided first: once all that is left has the same x, single literals decide.
class MicroHeads {
 public:
  struct Literal {
    HeadLiteral literal;
    Counts counts;
  };

  MicroHeads(const Form& form, const TimeCheck& time_check)
      : form_(form), time_check_(time_check), gains_(form), dominance_(form.formula) {}

  // The best head of literals in label order (`= 1` first), or none if a level is given that no head reaches.
  Head best(const std::vector<Literal>& literals, std::size_t most_labels, const Fraction* level) {
    if (form_.effort > 0 && !literals_decide(literals)) return climb(literals, most_labels, level);
    if (all_are_equal(literals)) {
      Head all = largest(literals, most_labels);
      return level && compare(*level, all.value) > 0 ? Head{} : all;
    }
    literals_ = &literals;
    max_size_ = most_labels;
    has_target_ = level != nullptr;
    if (level) set_target(*level);
    std::vector<MicroItem> open = items_of(literals);
    for (std::uint32_t i = 0; i < literals.size(); ++i) try_places({i}, literals[i].counts);
    if (has_target_ && is_largest(form_.formula, target_)) {
      if (take_faultless()) return best_;
      std::erase_if(open,
                    [&](const MicroItem& item) { return !may_be_faultless(form_.formula, item.fp > 0, item.fn > 0); });
    }
    if (max_size_ > 1) halve(std::move(open), {});
    return best_;
  }

 private:
  static constexpr double kFew = 1024;  // heads that are tried one by one

  // Whether no head is better than its best literal: equal margins, and a value that is not negative.
  bool literals_decide(const std::vector<Literal>& literals) const {
    if (form_.formula == Formula::m_estimate) return false;
    const Counts& first = literals.front().counts;
    const Count covered = first.tp + first.fp, total = covered + first.tn + first.fn;
    return std::all_of(literals.begin(), literals.end(),
                       [&](const Literal& l) {
                         const Counts& c = l.counts;
                         return c.tp + c.fp == covered && c.tp + c.fp + c.tn + c.fn == total;
                       }) &&
           std::any_of(literals.begin(), literals.end(),
                       [&](const Literal& l) { return formula_value(form_, l.counts).num >= 0; });
  }

  // The best of as many heads as may be tried, in an order that the counts alone decide; polyrule/heads/enumeration.py
  // is the definition. None if no head at all reaches the level.
  Head climb(const std::vector<Literal>& literals, std::size_t most_labels, const Fraction* level) {
    if (level && !may_reach(literals, *level)) return {};
    literals_ = &literals;
    has_target_ = false;
    std::size_t tried = literals.size();
    for (std::uint32_t i = 0; i < literals.size(); ++i) try_places({i}, literals[i].counts);
    const std::vector<std::uint32_t> leaders = leading();
    max_size_ = std::min(most_labels, leaders.size());
    std::vector<std::uint32_t> head;
    Counts sum;
    for (std::size_t size = 1; size <= max_size_ && (size == 1 || tried < form_.effort); ++size) {
      head.push_back(leaders[size - 1]);
      sum = sum + literals[leaders[size - 1]].counts;
      if (size > 1) ++tried, try_places(head, sum);
    }
    while (climb_once(tried)) time_check_.step(literals.size());
    return level && compare(*level, best_.value) > 0 ? Head{} : best_;
  }

  // Tries the heads that differ in one label from the best so far; whether one of them is better.
  bool climb_once(std::size_t& tried) {
    const std::vector<std::uint32_t> from = places_;
    std::vector<int> in_head(literals_->size(), -1);  // by literal, its label's literal in the head
    Counts sum;
    for (const std::uint32_t i : from) sum = sum + (*literals_)[i].counts;
    for (std::size_t first = 0, next; first < literals_->size(); first = next) {
      for (next = first; next < literals_->size() && label(next) == label(first);) ++next;
      for (const std::uint32_t i : from)
        if (label(i) == label(first)) std::fill(&in_head[first], &in_head[first] + (next - first), int(i));
    }
    for (std::uint32_t i = 0; i < literals_->size(); ++i) {
      const bool leaves = in_head[i] == int(i);
      if (leaves ? from.size() == 1 : in_head[i] < 0 && from.size() == max_size_) continue;
      if (tried++ >= form_.effort) return false;
      Counts changed = leaves ? sum : sum + (*literals_)[i].counts;
      if (in_head[i] >= 0) changed = changed - (*literals_)[std::size_t(in_head[i])].counts;
      if (!is_promising(changed)) continue;
      std::vector<std::uint32_t> head;
      for (const std::uint32_t k : from)
        if (int(k) != in_head[i]) head.push_back(k);
      if (!leaves) head.push_back(i);
      try_places(head, changed);
    }
    return places_ != from;
  }

  // The best literal of every label, the best first.
  std::vector<std::uint32_t> leading() const {
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      const Literal &left = (*literals_)[a], &right = (*literals_)[b];
      const int order = compare_values(left.counts, right.counts);
      if (order != 0) return order > 0;
      return left.literal.tp != right.literal.tp ? left.literal.tp > right.literal.tp : a < b;
    };
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < literals_->size(); ++i) {
      if (out.empty() || label(out.back()) != label(i)) out.push_back(i);
      else if (before(i, out.back())) out.back() = i;
    }
    std::sort(out.begin(), out.end(), before);
    return out;
  }

  std::uint32_t label(std::size_t place) const { return (*literals_)[place].literal.label; }

  double estimate(const Counts& c) const {
    return formula_estimate(form_, double(c.tp), double(c.fp), double(c.tn), double(c.fn));
  }

  // Exact, but quick where doubles can tell.
  int compare_values(const Counts& a, const Counts& b) const {
    const double left = estimate(a), right = estimate(b);
    if (std::abs(left - right) > 1e-11 * std::max({1.0, std::abs(left), std::abs(right)})) return left > right ? 1 : -1;
    return compare(formula_value(form_, a), formula_value(form_, b));
  }

  bool is_promising(const Counts& sum) const { return !has_target_ || estimate(sum) >= lowered_; }

  // Keeps a head if it is the best so far: `items` are its literals, place(item) says which.
  template <class Items, class Place>
  void try_head(const Items& items, const Counts& sum, Place&& place) {
    if (!is_promising(sum)) return;
    const Fraction value = formula_value(form_, sum);
    const int order = has_target_ ? compare(value, target_) : 1;
    if (order < 0) return;
    std::vector<std::uint32_t> head;
    for (const auto& item : items) head.push_back(place(item));
    std::sort(head.begin(), head.end());
    std::vector<HeadLiteral> literals;
    for (const std::uint32_t i : head) literals.push_back((*literals_)[i].literal);
    if (order == 0 && !outranks(literals, best_.literals)) return;
    best_ = {value, sum.tp, std::move(literals)};
    places_ = std::move(head);
    if (order > 0) set_target(value);
  }
  void try_places(const std::vector<std::uint32_t>& places, const Counts& sum) {
    try_head(places, sum, [](std::uint32_t place) { return place; });
  }
  void try_fixed(const Counts& sum) {
    try_head(fixed_, sum, [](const MicroItem& item) { return item.place; });
  }

  // Says no only if no head reaches the level.
  bool may_reach(const std::vector<Literal>& literals, const Fraction& level) {
    gains_.set_level(level);
    for (const Literal& l : literals)
      if (compare(formula_value(form_, l.counts), level) >= 0) return true;
    std::vector<MicroItem> open = items_of(literals);
    return gains_.restrict_to_reachable(open, fixed_, slack_);
  }

  // The literals as the gains see them, which are rounded by less than `slack_`.
  std::vector<MicroItem> items_of(const std::vector<Literal>& literals) {
    std::vector<MicroItem> items;
    for (std::uint32_t i = 0; i < literals.size(); ++i) {
      const Counts& c = literals[i].counts;
      items.push_back({double(c.tp), double(c.fp), double(c.tn), double(c.fn), literals[i].literal.label, i});
      slack_ += 1e-11 * (items.back().total + 1);
    }
    return items;
  }

  // Whether every head has the same value, because nothing is left uncovered.
  bool all_are_equal(const std::vector<Literal>& literals) const {
    if (form_.formula == Formula::m_estimate || form_.formula == Formula::cosine) return false;
    const bool rates = form_.formula == Formula::rate_difference;
    return std::all_of(literals.begin(), literals.end(), [&](const Literal& l) {
      return l.counts.tn == 0 && l.counts.fn == 0 && (!rates || l.counts.fp > 0);
    });
  }

  // The head that wins where all are equal: as many labels as may be, with the most true positives.
  Head largest(const std::vector<Literal>& literals, std::size_t most_labels) const {
    Head head;
    for (const Literal& l : literals) join(head.literals, l.literal);
    keep_most_right(head.literals, most_labels);
    head.tp = total_tp(head.literals);
    Counts sum;
    for (const Literal& l : literals)
      if (std::any_of(head.literals.begin(), head.literals.end(), [&](const HeadLiteral& other) {
            return other.label == l.literal.label && other.value == l.literal.value;
          }))
        sum = sum + l.counts;
    head.value = formula_value(form_, sum);
    return head;
  }

  // Where the target is the largest value there is, literals without an error decide: all heads of those tie. False if
  // a head of them falls short all the same, having no true negative.
  bool take_faultless() {
    for (const bool by_fp : {true, false}) {
      if (!by_fp && form_.formula != Formula::yule_q) break;
      std::vector<Literal> faultless;
      for (const Literal& l : *literals_)
        if (may_be_faultless(form_.formula, l.counts.fp > 0, l.counts.fn > 0) &&
            (by_fp ? l.counts.fp : l.counts.fn) == 0)
          faultless.push_back(l);
      if (faultless.empty()) continue;
      Head head = largest(faultless, max_size_);
      if (compare(head.value, target_) != 0) return false;
      if (!best_.any() || outranks(head.literals, best_.literals)) best_ = std::move(head);
    }
    return true;
  }

  void halve(std::vector<MicroItem> open, const MicroBox& box) {
    // Prunes by the box bound, and by dominance if only worse ties are left.
    time_check_.step(open.size());
    if (!gains_.restrict_to_reachable(open, fixed_, slack_, box) || only_worse_ties(open, {})) return;
    if (has_few_heads(open)) return try_all(open, 0, {}, 0);
    try_gaining(open);
    MicroBox low, high;
    if (!gains_.bounded() || gains_.singles_decide() || !gains_.split(low, high)) {
      box_ = box;
      descend(std::move(open), {});
      return;
    }
    halve(open, low);
    halve(std::move(open), high);
  }

  bool has_few_heads(const std::vector<MicroItem>& open) {
    if (open.size() > Dominance::kMost) return false;
    dominance_.look(open, gains_.x());
    return dominance_.heads() <= kFew;
  }

  // Every head that may be the best, with the literals of `fixed_`, others from one label on, and none that is `out`.
  void try_all(const std::vector<MicroItem>& open, std::size_t from, const Counts& sum, Dominance::Set out) {
    time_check_.step();
    if (fixed_.size() == max_size_) return;
    for (; from < dominance_.labels().size(); ++from) {
      const Dominance::Label& label = dominance_.labels()[from];
      for (const std::uint32_t i : label.literals) {
        if (out >> i & 1) continue;
        const Counts grown = sum + (*literals_)[open[i].place].counts;
        fixed_.push_back(open[i]);
        if (fixed_.size() > 1) try_fixed(grown);
        try_all(open, from + 1, grown, out);
        fixed_.pop_back();
      }
      out |= label.dominated;
    }
  }

  // The head that the bound has chosen is often a good one.
  void try_gaining(const std::vector<MicroItem>& open) {
    Counts sum;
    MicroGains::each_label(open, [&](std::size_t first, std::size_t last, const Gain& best) {
      if (best.by[0] <= 0 || fixed_.size() == max_size_) return;
      for (std::size_t i = first; i < last; ++i)
        if (open[i].gain.by[0] == best.by[0]) {
          sum = sum + (*literals_)[open[i].place].counts;
          fixed_.push_back(open[i]);
          return;
        }
    });
    if (fixed_.size() > 1) try_fixed(sum);
    fixed_.clear();
  }

  void descend(std::vector<MicroItem> open, const Counts& sum) {
    time_check_.step(open.size());
    if (fixed_.size() == max_size_ || !gains_.restrict_to_reachable(open, fixed_, slack_, box_) ||
        only_worse_ties(open, sum))
      return;
    if (has_few_heads(open)) return try_all(open, 0, sum, 0);
    const auto [first, last] = next_label(open);
    const double x[] = {gains_.x()[0], gains_.x()[1]};
    std::vector<MicroItem> rest(open.begin(), open.begin() + std::ptrdiff_t(first));
    rest.insert(rest.end(), open.begin() + std::ptrdiff_t(last), open.end());
    for (std::size_t i = first; i < last; ++i) {
      const Counts grown = sum + (*literals_)[open[i].place].counts;
      fixed_.push_back(open[i]);
      if (fixed_.size() > 1) try_fixed(grown);
      descend(rest, grown);
      fixed_.pop_back();
    }
    // What a literal beats goes with it.
    std::erase_if(rest, [&](const MicroItem& item) {
      return std::any_of(open.begin() + std::ptrdiff_t(first), open.begin() + std::ptrdiff_t(last),
                         [&](const MicroItem& other) { return dominance_.beats(other, item, x); });
    });
    descend(std::move(rest), sum);
  }

  // Whether nothing but ties is left, and those lose: more labels win, then more true positives.
  bool only_worse_ties(const std::vector<MicroItem>& open, const Counts& sum) const {
    if (!gains_.singles_decide() || target_.num < 0) return false;
    if (!best_.any()) return true;
    std::size_t labels = 0;
    double tp = double(sum.tp);
    MicroGains::each_label(open, [&](std::size_t first, std::size_t last, const Gain&) {
      ++labels;
      double max_tp = 0;
      for (std::size_t i = first; i < last; ++i) max_tp = std::max(max_tp, open[i].tp);
      tp += max_tp;
    });
    const std::size_t size = std::min(max_size_, fixed_.size() + labels);
    return size != best_.literals.size() ? size < best_.literals.size() : tp < double(best_.tp);
  }

  std::pair<std::size_t, std::size_t> next_label(const std::vector<MicroItem>& open) const {
    std::pair<std::size_t, std::size_t> closest{0, 0};
    double nearest = 2, highest = 0;
    const bool by_x = form_.formula != Formula::m_estimate;
    MicroGains::each_label(open, [&](std::size_t first, std::size_t last, const Gain& best) {
      double x = by_x ? 2 : 0;
      for (std::size_t i = first; by_x && i < last; ++i) x = std::min(x, open[i].x());
      if (x > nearest || (x == nearest && best.by[1] <= highest)) return;
      nearest = x;
      highest = best.by[1];
      closest = {first, last};
    });
    return closest;
  }

  void set_target(const Fraction& value) {
    target_ = value;
    has_target_ = true;
    lowered_ = as_double(value) - 1e-12 * std::max(1.0, std::abs(as_double(value)));
    gains_.set_level(value);
    dominance_.set_negative(value.num < 0);
  }

  const Form& form_;
  const TimeCheck& time_check_;
  MicroGains gains_;
  Dominance dominance_;
  const std::vector<Literal>* literals_ = nullptr;
  std::size_t max_size_ = 0;
  double slack_ = 0;
  bool has_target_ = false;
  Fraction target_;
  double lowered_ = 0;  // no head whose estimate lies below reaches the target
  std::vector<MicroItem> fixed_;
  MicroBox box_;
  Head best_;
  std::vector<std::uint32_t> places_;  // of the literals of `best_`, where it is climbed to
};

}  // namespace polyrule
