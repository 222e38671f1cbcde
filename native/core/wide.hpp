// Integers of 128 bits: the compiler's own, or two words with the same arithmetic.
#pragma once

#include <bit>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>

#include "core/machine.hpp"

namespace polyrule {

// In two's complement. Results that do not fit lose their high bits.
class TwoWords {
 public:
  constexpr TwoWords() = default;
  template <std::integral T>
  constexpr TwoWords(T value) : low_(static_cast<std::uint64_t>(value)), high_(value < T{0} ? ~std::uint64_t{0} : 0) {}
  explicit TwoWords(double value) {  // towards zero
    const double size = std::abs(std::trunc(value));
    const double high = std::floor(std::ldexp(size, -64));
    high_ = static_cast<std::uint64_t>(high);
    low_ = static_cast<std::uint64_t>(size - std::ldexp(high, 64));
    if (value < 0) *this = -*this;
  }
  template <std::integral T>
  explicit constexpr operator T() const {
    return static_cast<T>(low_);
  }
  // Rounded to the nearest, once: what falls off is remembered in the last bit.
  explicit operator double() const {
    const TwoWords size = is_negative() ? -*this : *this;
    if (size.high_ == 0) return is_negative() ? -static_cast<double>(size.low_) : static_cast<double>(size.low_);
    const int shift = 64 - std::countl_zero(size.high_);
    const std::uint64_t top = shift == 64 ? size.high_ : size.high_ << (64 - shift) | size.low_ >> shift;
    const std::uint64_t rest = size.low_ << (64 - shift);
    const double value = std::ldexp(static_cast<double>(top | (rest != 0)), shift);
    return is_negative() ? -value : value;
  }

  friend constexpr bool operator==(const TwoWords&, const TwoWords&) = default;
  friend constexpr std::strong_ordering operator<=>(const TwoWords& a, const TwoWords& b) {
    if (a.high_ != b.high_) return static_cast<std::int64_t>(a.high_) <=> static_cast<std::int64_t>(b.high_);
    return a.low_ <=> b.low_;
  }

  constexpr TwoWords operator-() const { return make(~high_, ~low_) + TwoWords(1); }
  friend constexpr TwoWords operator+(const TwoWords& a, const TwoWords& b) {
    const std::uint64_t low = a.low_ + b.low_;
    return make(a.high_ + b.high_ + (low < a.low_ ? 1 : 0), low);
  }
  friend constexpr TwoWords operator-(const TwoWords& a, const TwoWords& b) { return a + -b; }
  friend constexpr TwoWords operator*(const TwoWords& a, const TwoWords& b) {
    constexpr std::uint64_t kHalf = 0xffffffff;
    const std::uint64_t a0 = a.low_ & kHalf, a1 = a.low_ >> 32, b0 = b.low_ & kHalf, b1 = b.low_ >> 32;
    const std::uint64_t low_product = a0 * b0, left = a1 * b0 + (low_product >> 32), right = a0 * b1 + (left & kHalf);
    return make(a1 * b1 + (left >> 32) + (right >> 32) + a.high_ * b.low_ + a.low_ * b.high_,
                (right << 32) | (low_product & kHalf));
  }
  friend constexpr TwoWords operator/(const TwoWords& a, const TwoWords& b) {
    TwoWords rest;
    return divide(a, b, rest);
  }
  friend constexpr TwoWords operator%(const TwoWords& a, const TwoWords& b) {
    TwoWords rest;
    divide(a, b, rest);
    return rest;
  }
  friend constexpr TwoWords operator<<(const TwoWords& a, int by) {
    if (by == 0) return a;
    if (by >= 64) return make(a.low_ << (by - 64), 0);
    return make((a.high_ << by) | (a.low_ >> (64 - by)), a.low_ << by);
  }
  friend constexpr TwoWords operator>>(const TwoWords& a, int by) {
    const std::int64_t high = static_cast<std::int64_t>(a.high_);
    if (by == 0) return a;
    if (by >= 64) return TwoWords(high >> (by - 64));
    return make(static_cast<std::uint64_t>(high >> by), (a.low_ >> by) | (a.high_ << (64 - by)));
  }
  constexpr TwoWords& operator+=(const TwoWords& other) { return *this = *this + other; }
  constexpr TwoWords& operator-=(const TwoWords& other) { return *this = *this - other; }
  constexpr TwoWords& operator*=(const TwoWords& other) { return *this = *this * other; }
  explicit constexpr operator bool() const { return (low_ | high_) != 0; }

 private:
  static constexpr TwoWords make(std::uint64_t high, std::uint64_t low) {
    TwoWords out;
    out.high_ = high;
    out.low_ = low;
    return out;
  }
  constexpr bool is_negative() const { return high_ >> 63 != 0; }
  constexpr int bits() const {
    return high_ ? 64 + static_cast<int>(std::bit_width(high_)) : static_cast<int>(std::bit_width(low_));
  }
  // Sizes, compared and subtracted without a sign.
  static constexpr bool reaches(const TwoWords& a, const TwoWords& b) {
    return a.high_ != b.high_ ? a.high_ > b.high_ : a.low_ >= b.low_;
  }

  // The quotient, towards zero; the rest has the sign of the dividend. Long division bit by bit, unless both fit one
  // word.
  static constexpr TwoWords divide(const TwoWords& a, const TwoWords& b, TwoWords& rest) {
    const TwoWords size = b.is_negative() ? -b : b;
    TwoWords quotient;
    rest = a.is_negative() ? -a : a;
    if (rest.high_ == 0 && size.high_ == 0) {
      quotient = make(0, rest.low_ / size.low_);
      rest = make(0, rest.low_ % size.low_);
    } else {
      for (int shift = rest.bits() - size.bits(); shift >= 0; --shift) {
        const TwoWords part = size << shift;
        if (!reaches(rest, part)) continue;
        rest = rest - part;
        quotient = quotient + (TwoWords(1) << shift);
      }
    }
    if (a.is_negative()) rest = -rest;
    return a.is_negative() != b.is_negative() ? -quotient : quotient;
  }

  std::uint64_t low_ = 0, high_ = 0;
};

#ifdef POLYRULE_INT128
using Wide = POLYRULE_INT128;
#else
using Wide = TwoWords;
#endif

}  // namespace polyrule
