// What a head is judged by, as integers: the FastForm of the Python side.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "bits.hpp"

namespace polyrule {

using Wide = __int128;

// The state of one label on one row. Rows of one kind move the counts of a rule on a straight line.
enum Kind : int { kAbsent = 0, kPresent = 1, kAbsentSet = 2, kPresentSet = 3 };
inline int kind_of(bool present, bool set) { return int(present) | (int(set) << 1); }
// Whether a covered row of this kind is a true positive of the literal `label = value`.
inline bool is_right(int kind, int value) { return kind == value; }
inline bool is_wrong(int kind, int value) { return kind == 1 - value; }

// A rational with positive denominator.
struct Fraction {
  Wide num = 0, den = 1;
};

// -1, 0 or 1. Small numbers are cross-multiplied; where that could exceed 128 bits (lifted values), the two continued
// fractions are compared term by term, which needs no product.
inline int compare(Fraction a, Fraction b) {
  constexpr Wide kSafe = Wide{1} << 62;
  const auto small = [](const Fraction& x) { return -kSafe < x.num && x.num < kSafe && x.den < kSafe; };
  if (small(a) && small(b)) {
    const Wide left = a.num * b.den, right = b.num * a.den;
    return left < right ? -1 : left > right;
  }
  for (int sign = 1;; sign = -sign) {
    const auto floor = [](const Fraction& x) { return x.num / x.den - (x.num % x.den < 0 ? 1 : 0); };
    const Wide p = floor(a), q = floor(b);
    if (p != q) return p < q ? -sign : sign;
    const Wide rest_a = a.num - p * a.den, rest_b = b.num - q * b.den;
    if (rest_a == 0 || rest_b == 0) return rest_a == rest_b ? 0 : (rest_a == 0 ? -sign : sign);
    a = {a.den, rest_a};  // comparing the reciprocals of the rests turns the order round
    b = {b.den, rest_b};
  }
}

// Counts of one literal, or of a head.
struct Counts {
  Count tp = 0, fp = 0, tn = 0, fn = 0;
  bool operator==(const Counts&) const = default;
};

class Valuer;

// `counted`: any measure of the counts where a head is worth as much as its best literal. `micro`: such a measure of the
// counts summed over the head.
enum class HeadKind { singles, subset, ratio, counted, micro };
enum class Scope { head, all, full };
// What `counted` and `micro` measure; `function` asks the valuer.
enum class Formula { none, wracc, rate_difference, m_estimate, matthews, function };

struct Form {
  HeadKind kind = HeadKind::singles;
  Scope scope = Scope::head;
  std::array<Count, 5> num{};  // constant, TP, FP, TN, FN
  std::array<Count, 5> den{};
  std::vector<Count> rho;  // in steps of 2**-30 by head size; empty without lift
  std::size_t max_head = SIZE_MAX;
  bool negative = true;
  Formula formula = Formula::none;
  bool measured = false;  // values are only known in their order; the measure itself gives those that are shown
  Count m_num = 0, m_den = 1;  // of the m-estimate
  std::shared_ptr<Valuer> valuer;
};

inline constexpr Count kLiftScale = Count{1} << 30;

template <class Int>
inline Int linear(const std::array<Count, 5>& row, const Counts& c, bool with_constant = true) {
  Int sum = with_constant ? Int(row[0]) : Int(0);
  sum += Int(row[1]) * c.tp;
  sum += Int(row[2]) * c.fp;
  sum += Int(row[3]) * c.tn;
  sum += Int(row[4]) * c.fn;
  return sum;
}

// The rows of coefficients that one literal is judged by; for subset accuracy, its share of rightly treated examples.
struct Coefficients {
  std::array<Count, 5> num, den;
};

inline Coefficients coefficients(const Form& form, Count working_weight) {
  if (form.kind == HeadKind::subset) return {{0, 1, 0, 1, 0}, {working_weight, 0, 0, 0, 0}};
  return {form.num, form.den};
}

inline Wide gcd_wide(Wide a, Wide b) {
  if (a < 0) a = -a;
  while (b) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// num/den in lowest terms with a positive denominator; 0 where the denominator is 0.
inline Fraction make_fraction(Wide num, Wide den) {
  if (den == 0) return {0, 1};
  if (den < 0) num = -num, den = -den;
  const Wide common = gcd_wide(num, den);
  return {num / common, den / common};
}

}  // namespace polyrule
