// The sign of a sum of fractions with many different denominators, exactly, however many digits that takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/bits.hpp"

namespace polyrule {

// A natural number in base 2**32, the lowest digit first.
class Natural {
 public:
  explicit Natural(std::uint32_t number = 0) : digits_(number ? 1 : 0, number) {}

  void multiply(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (std::uint32_t& digit : digits_) {
      carry += std::uint64_t{digit} * factor;
      digit = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry) digits_.push_back(static_cast<std::uint32_t>(carry));
  }

  // Divides by a number; what is returned is the rest.
  std::uint32_t divide(std::uint32_t by) {
    std::uint64_t rest = 0;
    for (std::size_t i = digits_.size(); i-- > 0;) {
      rest = (rest << 32) | digits_[i];
      digits_[i] = static_cast<std::uint32_t>(rest / by);
      rest %= by;
    }
    while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
    return static_cast<std::uint32_t>(rest);
  }

  // Adds another number times a factor times 2**(32 * places).
  void add(const Natural& other, std::uint32_t factor, std::size_t places) {
    if (factor == 0 || other.digits_.empty()) return;
    digits_.resize(std::max(digits_.size(), other.digits_.size() + places) + 2, 0);
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < other.digits_.size() || carry; ++i) {
      carry += digits_[places + i];
      if (i < other.digits_.size()) carry += std::uint64_t{other.digits_[i]} * factor;
      digits_[places + i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
  }

  friend int compare(const Natural& a, const Natural& b) {
    if (a.digits_.size() != b.digits_.size()) return a.digits_.size() < b.digits_.size() ? -1 : 1;
    for (std::size_t i = a.digits_.size(); i-- > 0;)
      if (a.digits_[i] != b.digits_[i]) return a.digits_[i] < b.digits_[i] ? -1 : 1;
    return 0;
  }

 private:
  std::vector<std::uint32_t> digits_;  // no zeros at the end
};

// Of numerators over positive denominators: -1, 0 or 1.
inline int sign_of_sum(const std::vector<std::pair<Count, std::uint32_t>>& terms) {
  Natural common(1);  // a multiple of all denominators
  for (const auto& [num, den] : terms) {
    Natural copy = common;
    common.multiply(den / std::gcd(den, copy.divide(den)));
  }
  Natural above, below;
  for (const auto& [num, den] : terms) {
    Natural part = common;
    part.divide(den);
    Natural& side = num < 0 ? below : above;
    const auto size = static_cast<std::uint64_t>(num < 0 ? -num : num);
    side.add(part, static_cast<std::uint32_t>(size), 0);
    side.add(part, static_cast<std::uint32_t>(size >> 32), 1);
  }
  return compare(above, below);
}

}  // namespace polyrule
