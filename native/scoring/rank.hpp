// The one order of literals of a label, of heads and of candidates. All comparisons are defined here; the part that the
// processor and a GPU share is in device/counting.h.
//
// An example: the candidates of one body, best first. Values are compared by cross-multiplication (6/8 ties with 3/4),
// then true positives; then the earlier condition comes first: features by column, labels last; thresholds ascending,
// `<=` before `>`; categories in declared order; `= 0` before `= 1` for labels.
//
//   value  TP  condition
//    4/5    2  f3 <= 0.5       the largest value, with however few true positives
//    6/8    9  f1 > 7.5        more true positives
//    3/4    6  f0 <= 1.5       the rest ties: the first column,
//    3/4    6  f0 > 1.5        `<=` before `>`,
//    6/8    6  f0 <= 2.5       the lower threshold before the higher one,
//    3/4    6  f2 = red        the next column,
//    3/4    6  f2 = blue       categories as they are declared,
//    3/4    6  label 0 = 0     labels after all features,
//    3/4    6  label 0 = 1     absence before presence
//    2/3    9  f0 <= 0.5       a smaller value comes last
#pragma once

#include <algorithm>
#include <vector>

#include "core/fraction.hpp"
#include "data/columns.hpp"
#include "device/counting.h"

namespace polyrule {

struct HeadLiteral {
  std::uint32_t label;
  int value;
  Count tp, fp;
};

struct Head {
  Fraction value;
  Count tp = 0;
  std::vector<HeadLiteral> literals;  // in label order
  // Where examples are measured by themselves and `value` is rounded: their weight by number of wrong literals.
  std::vector<Count> errors = {};
  bool any() const { return !literals.empty(); }
};

inline void sort_by_label(std::vector<HeadLiteral>& literals) {
  std::sort(literals.begin(), literals.end(), [](auto& a, auto& b) { return a.label < b.label; });
}

inline Count total_tp(const std::vector<HeadLiteral>& literals) {
  Count total = 0;
  for (const HeadLiteral& literal : literals) total += literal.tp;
  return total;
}

// Adds a literal to others that are as good. Of a label's two literals, which come one after the other with `= 1`
// first, the one with more true positives stays.
inline void join(std::vector<HeadLiteral>& tied, const HeadLiteral& literal) {
  if (tied.empty() || tied.back().label != literal.label) tied.push_back(literal);
  else if (literal.tp > tied.back().tp) tied.back() = literal;
}

// Keeps so many literals at most: those with the most true positives, then the first labels.
inline void keep_most_right(std::vector<HeadLiteral>& literals, std::size_t max_size) {
  if (literals.size() <= max_size) return;
  std::stable_sort(literals.begin(), literals.end(), [](auto& a, auto& b) { return a.tp > b.tp; });
  literals.resize(max_size);
  sort_by_label(literals);
}

// Of each label the literal that gains more, then the one with more true positives, then `= 1`; largest gains first,
// then more true positives, then the first labels. Literals of a label come one after the other, `= 1` first; see(item)
// has its label as `e`, its `gain` and its `tp`.
template <class Item, class See>
std::vector<Item> leaders(const std::vector<Item>& items, See&& see) {
  const auto gains_more = [&](const Item& a, const Item& b) {
    return see(a).gain != see(b).gain ? see(a).gain > see(b).gain : see(a).tp > see(b).tp;
  };
  std::vector<Item> out;
  for (const Item& item : items) {
    if (out.empty() || see(out.back()).e != see(item).e) out.push_back(item);
    else if (gains_more(item, out.back())) out.back() = item;
  }
  std::sort(out.begin(), out.end(), [&](const Item& a, const Item& b) {
    return gains_more(a, b) || (!gains_more(b, a) && see(a).e < see(b).e);
  });
  return out;
}

// Of two sets of literals that are equally good: more labels, more true positives, first labels, `= 1` before `= 0`.
inline bool outranks(const std::vector<HeadLiteral>& a, const std::vector<HeadLiteral>& b) {
  if (a.size() != b.size()) return a.size() > b.size();
  if (total_tp(a) != total_tp(b)) return total_tp(a) > total_tp(b);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].label != b[i].label) return a[i].label < b[i].label;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].value != b[i].value) return a[i].value > b[i].value;
  return false;
}

// By value, then true positives; the first found wins a tie.
template <class A, class B>
bool beats(const A& a, const B& b) {
  const int order = compare(a.value, b.value);
  return order > 0 || (order == 0 && a.tp > b.tp);
}

// A condition with the value of the head that it leads to.
struct Scored {
  Fraction value;
  Count tp = 0;
  Condition condition;
};

// The canonical order of conditions decides between candidates that do not beat each other.
inline bool better(const Scored& a, const Scored& b) {
  return beats(a, b) || (!beats(b, a) && comes_before(a.condition, b.condition));
}

// What literals that are met label by label make of a head where the best single value counts: that value, and the true
// positives of all labels that reach it.
struct BestLiterals {
  Fraction value;
  Count tp = 0, label_tp = 0;
  std::uint32_t label = UINT32_MAX;  // the last that reaches it

  bool any() const { return label != UINT32_MAX; }
  void meet(const Fraction& literal_value, Count right, std::uint32_t of) {
    const int order = any() ? compare(literal_value, value) : 1;
    if (order < 0) return;
    if (order > 0) *this = {literal_value, 0, 0, of};
    if (label != of) label = of, label_tp = 0;
    const Count more = polyrule_count::joins(right, label_tp);
    tp += more;
    label_tp += more;
  }
};

}  // namespace polyrule
