// Measures that are no ratio of linear functions: exact numbers that compare like their values, and quick doubles.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "judge/form.hpp"

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
  void add(double tp, double fp, double tn, double fn) {
    columns_[0][size_] = tp;
    columns_[1][size_] = fp;
    columns_[2][size_] = tn;
    columns_[3][size_++] = fn;
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
    question.add(double(c.tp), double(c.fp), double(c.tn), double(c.fn));
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

// A number that compares like the value: for Matthews' correlation its square with the sign, for a function the order
// of its doubles, else the value itself.
inline Fraction formula_value(const Form& form, const Counts& c) {
  const Wide tp = c.tp, fp = c.fp, tn = c.tn, fn = c.fn;
  const Wide total = tp + fp + tn + fn;
  const auto ratio = [](Wide num, Wide den) { return den == 0 ? Fraction{0, 1} : Fraction{num, den}; };
  switch (form.formula) {
    case Formula::wracc:
      return ratio(tp * tn - fp * fn, total * total);
    case Formula::rate_difference: {
      const Wide positives = std::max<Wide>(tp + fn, 1), negatives = std::max<Wide>(fp + tn, 1);
      return ratio(tp * negatives - fp * positives, positives * negatives);
    }
    case Formula::m_estimate:
      return ratio(form.m_den * tp * total + form.m_num * (tp + fn), total * (form.m_den * (tp + fp) + form.m_num));
    case Formula::matthews: {
      const Wide top = tp * tn - fp * fn;
      return ratio(top < 0 ? -top * top : top * top, (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn));
    }
    case Formula::function:
      return {Valuer::in_order(form.valuer->value(c)), 1};
    case Formula::none:
      break;
  }
  return ratio(linear<Wide>(form.num, c), linear<Wide>(form.den, c));
}

// Whether a number stands for the largest value there is, which only heads without an error have.
inline bool is_largest(Formula formula, const Fraction& value) {
  if (formula == Formula::wracc) return value.num * 4 == value.den;
  return (formula == Formula::rate_difference || formula == Formula::matthews) && value.num == value.den;
}

// The value that such a number stands for.
inline double shown_value(const Form& form, const Fraction& value) {
  if (form.formula == Formula::function) return Valuer::from_order(static_cast<Count>(value.num));
  const double number = as_double(value);
  return form.formula == Formula::matthews ? std::copysign(std::sqrt(std::abs(number)), number) : number;
}

// The same in doubles, up to a relative error of about 1e-14 of the largest part.
inline double formula_estimate(const Form& form, double tp, double fp, double tn, double fn) {
  const double total = tp + fp + tn + fn;
  const auto ratio = [](double num, double den) { return den > 0 ? num / den : 0; };
  switch (form.formula) {
    case Formula::wracc:
      return ratio(tp * tn - fp * fn, total * total);
    case Formula::rate_difference:
      return ratio(tp, tp + fn) - ratio(fp, fp + tn);
    case Formula::m_estimate: {
      const double m = double(form.m_num) / double(form.m_den);
      return ratio(tp + m * ratio(tp + fn, total), tp + fp + m);
    }
    default: {
      const double top = tp * tn - fp * fn;
      return ratio(top * std::abs(top), (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn));
    }
  }
}

}  // namespace polyrule
