// Measures that are no ratio of linear functions: exact numbers that compare like their values, and quick doubles.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "scoring/form.hpp"

namespace polyrule {

// Counts whose values a function that lives outside is asked for, many at a time.
class Question {
 public:
  explicit Question(std::size_t room) : room_(room) { clear(); }

  std::size_t size() const { return size_; }
  bool has_room(std::size_t more) const { return size_ + more <= room_; }
  void clear() {
    size_ = 0;
    for (auto& column : columns_)
      if (!column) column.reset(new double[room_]);
  }
  void add(const Counts& counts) {
    columns_[0][size_] = double(counts.tp);
    columns_[1][size_] = double(counts.fp);
    columns_[2][size_] = double(counts.tn);
    columns_[3][size_++] = double(counts.fn);
  }
  // Hands a column over for good, because the function may keep it.
  std::unique_ptr<double[]> take(std::size_t column) { return std::move(columns_[column]); }

 private:
  std::size_t room_, size_ = 0;
  std::unique_ptr<double[]> columns_[4];
};

// A function that lives outside. Its values are finite doubles, none of them a negative zero.
class Valuer {
 public:
  // Takes the counts and fills one value for each; throws what ends the search.
  using Call = std::function<void(Question&, std::vector<double>&)>;
  explicit Valuer(Call call) : call_(std::move(call)) {}

  // The answers, in order; the question is empty afterwards.
  const std::vector<double>& ask(Question& question) {
    values_.resize(question.size());
    if (question.size()) call_(question, values_);
    question.clear();
    return values_;
  }

  double value(const Counts& c) {
    Question question(1);
    question.add(c);
    return ask(question).front();
  }

  // The bits of a double as an integer that compares like it, and back.
  static Count in_order(double value) {
    const Count bits = std::bit_cast<Count>(value);
    return bits >= 0 ? bits : std::numeric_limits<Count>::min() - bits;
  }
  static double from_order(Count order) {
    return std::bit_cast<double>(order >= 0 ? order : std::numeric_limits<Count>::min() - order);
  }

 private:
  Call call_;
  std::vector<double> values_;
};

// Whether a measure of counts is compared by its square, which has its sign.
inline bool is_squared(Formula formula) {
  return formula == Formula::matthews || formula == Formula::klosgen || formula == Formula::cosine;
}

// Top and bottom of such a number, of integers or doubles; the value is 0 where the bottom is.
template <class Number>
struct Parts {
  Number top, bottom;
};

template <class Number>
Parts<Number> formula_parts(const Form& form, Number tp, Number fp, Number tn, Number fn) {
  const Number total = tp + fp + tn + fn, covered = tp + fp, positives = tp + fn, excess = tp * tn - fp * fn;
  const auto squared = [](Number x) { return x < 0 ? -x * x : x * x; };
  switch (form.formula) {
    case Formula::wracc:
      return {excess, total * total};
    case Formula::rate_difference: {
      const Number p = std::max<Number>(positives, 1), n = std::max<Number>(fp + tn, 1);
      return {tp * n - fp * p, p * n};
    }
    case Formula::m_estimate: {
      const Number m = Number(form.m_num), of = Number(form.m_den);
      return {of * tp * total + m * positives, total * (of * covered + m)};
    }
    case Formula::matthews:
      return {squared(excess), covered * positives * (tn + fp) * (tn + fn)};
    case Formula::klosgen:
      return {squared(excess), covered * total * total * total};
    case Formula::added_value:
      return {excess, covered * total};
    case Formula::cosine:
      return {tp * tp, covered * positives};
    case Formula::kappa:
      return {2 * excess, covered * (fp + tn) + positives * (tn + fn)};
    case Formula::yule_q:
      return {excess, tp * tn + fp * fn};
    case Formula::lift:
      return {tp * total, covered * positives};
    case Formula::certainty:
      return {excess, covered * (fp + tn)};
    case Formula::none:
    case Formula::function:
      break;
  }
  return {0, 1};
}

// A number that compares like the value: its square with the sign where the value is a root, for a function the order
// of its doubles, else the value itself.
inline Fraction formula_value(const Form& form, const Counts& c) {
  if (form.formula == Formula::function) return {Valuer::in_order(form.valuer->value(c)), 1};
  const Parts<Wide> parts = form.formula == Formula::none
                                ? Parts<Wide>{linear<Wide>(form.num, c), linear<Wide>(form.den, c)}
                                : formula_parts<Wide>(form, c.tp, c.fp, c.tn, c.fn);
  return parts.bottom == 0 ? Fraction{0, 1} : Fraction{parts.top, parts.bottom};
}

// Whether a number stands for the largest value there is. Only heads without an error have it; by Yule's Q, heads
// without a false positive or without a false negative; by the certainty, heads without a false positive.
inline bool is_largest(Formula formula, const Fraction& value) {
  switch (formula) {
    case Formula::wracc:
      return value.num * 4 == value.den;
    case Formula::rate_difference:
    case Formula::matthews:
    case Formula::cosine:
    case Formula::kappa:
    case Formula::yule_q:
    case Formula::certainty:
      return value.num == value.den;
    default:
      return false;
  }
}

// Whether a literal with or without errors of either kind may be in a head of the largest value.
inline bool may_be_faultless(Formula formula, bool has_fp, bool has_fn) {
  if (formula == Formula::certainty) return !has_fp;
  return formula == Formula::yule_q ? !(has_fp && has_fn) : !has_fp && !has_fn;
}

// The value that such a number stands for.
inline double shown_value(const Form& form, const Fraction& value) {
  if (form.formula == Formula::function) return Valuer::from_order(static_cast<Count>(value.num));
  const double number = as_double(value);
  return is_squared(form.formula) ? std::copysign(std::sqrt(std::abs(number)), number) : number;
}

// The same in doubles, up to a relative error of about 1e-14 of the largest part.
inline double formula_estimate(const Form& form, double tp, double fp, double tn, double fn) {
  const Parts<double> parts = formula_parts<double>(form, tp, fp, tn, fn);
  return parts.bottom > 0 ? parts.top / parts.bottom : 0;
}

// By a measure of summed counts that is neither a ratio nor the m-estimate: the least share of true positives with
// which a head reaches a level, if a share x is covered and a share s positive. It is concave in each of the two where
// `is_concave` says so. The level is that of the value, not of its square (docs/theory.md).
inline double least_share(Formula formula, double level, double x, double s) {
  const auto root = [](double y) { return std::sqrt(std::max(0.0, y)); };
  const double product = x * s;
  switch (formula) {
    case Formula::rate_difference:
      return product + level * (s - s * s);
    case Formula::matthews:
      return product + level * root((x - x * x) * (s - s * s));
    case Formula::klosgen:
      return product + level * root(x);
    case Formula::added_value:
      return product + level * x;
    case Formula::cosine:
      return level * root(product);
    case Formula::kappa:
      return product + level * ((x + s) / 2 - product);
    case Formula::yule_q: {
      const double both = x + s, apart = x - s, below = 1 - level, sides = both * 2 * level + below;
      const double square = below * (below + level * 2 * both * (2 - both)) + level * 2 * (1 + level) * apart * apart;
      return 2 * (1 + level) * product / (sides + root(square) + 1e-30);
    }
    case Formula::lift:
      return level * product;
    case Formula::certainty:
      return product + level * (x - product);
    default:
      return product + level;
  }
}

// The level itself, a little lowered so that rounding rules nothing out.
inline double lowered_level(Formula formula, const Fraction& level) {
  const double number = as_double(level), value = is_squared(formula) ? std::sqrt(std::max(number, 0.0)) : number;
  return value - 1e-12 * std::max(1.0, std::abs(value));
}

// Whether it is linear in s.
inline bool is_linear(Formula formula) {
  return formula != Formula::rate_difference && formula != Formula::matthews && formula != Formula::cosine &&
         formula != Formula::yule_q;
}

// Whether it is concave at a level, which at least those of 0 and more are.
inline bool is_concave(Formula formula, bool negative) {
  return !negative || (is_linear(formula) && formula != Formula::klosgen) || formula == Formula::m_estimate;
}

// Whether the value grows with the precision TP / (TP + FP), for given shares x and s, and with a smaller s.
inline bool is_by_precision(Formula formula) {
  return formula == Formula::klosgen || formula == Formula::added_value || formula == Formula::lift;
}

// Whether the values of a level or more never fall with TP and TN nor rise with FP and FN.
inline bool is_monotone(Formula formula, bool negative) {
  return formula == Formula::rate_difference || formula == Formula::matthews || formula == Formula::yule_q ||
         formula == Formula::cosine || (!negative && (formula == Formula::kappa || formula == Formula::certainty));
}

// Whether a head whose literals have no more TP and TN and no fewer FP and FN is worth no more, at a level.
inline bool is_bounded_by_reach(Formula formula, const Fraction& level) {
  return level.num >= 0 || formula == Formula::m_estimate || is_monotone(formula, true);
}

}  // namespace polyrule
