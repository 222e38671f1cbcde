// Exact values: rationals that are compared by cross-multiplication, never as rounded doubles.
#pragma once

#include "core/wide.hpp"

namespace polyrule {

// A rational with positive denominator, not always in lowest terms.
struct Fraction {
  Wide num = 0, den = 1;
};

// -1, 0 or 1. Small numbers are cross-multiplied; where that could exceed 128 bits (lifted values), the two continued
// fractions are compared term by term, which needs no product.
inline int compare(Fraction a, Fraction b) {
  constexpr Wide kSafe = Wide{1} << 62;
  const auto small = [&](const Fraction& x) { return -kSafe < x.num && x.num < kSafe && x.den < kSafe; };
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

inline double as_double(const Fraction& value) { return double(value.num) / double(value.den); }

// The largest fraction not above `target` whose denominator is at most `most`: a walk down the tree
// of fractions (Stern and Brocot), many steps at a time. It is far nearer than rounding to steps of 1 / most.
inline Fraction nearest_below(const Fraction& target, Wide max_den) {
  const Wide whole = target.num / target.den - (target.num % target.den < 0 ? 1 : 0);
  Fraction low{whole, 1}, high{whole + 1, 1};
  for (;;) {
    // low + k * high stays at or below the target for k up to this, unless high is met exactly.
    const Wide above = high.num * target.den - target.num * high.den;
    const Wide below = target.num * low.den - low.num * target.den;
    if (below == 0) return low;
    const Wide up_by = below / above, room = (max_den - low.den) / high.den, up = up_by < room ? up_by : room;
    low = {low.num + up * high.num, low.den + up * high.den};
    const Wide left = target.num * low.den - low.num * target.den;
    if (left == 0 || low.den + high.den > max_den) return low;
    // high + k * low stays above the target.
    const Wide down_by = (above - 1) / left, space = (max_den - high.den) / low.den;
    const Wide down = down_by < space ? down_by : space;
    high = {high.num + down * low.num, high.den + down * low.den};
    if (low.den + high.den > max_den) return low;
  }
}

}  // namespace polyrule
