#include "bits.hpp"

namespace polyrule {

POLYRULE_CLONES
void count_three(const Word* cover, const Word* a, const Word* b, std::size_t words, Count out[3]) {
  Count in_a = 0, in_b = 0, in_both = 0;
  for (std::size_t i = 0; i < words; ++i) {
    const Word x = cover[i] & a[i], y = cover[i] & b[i];
    in_a += std::popcount(x);
    in_b += std::popcount(y);
    in_both += std::popcount(x & y);
  }
  out[0] = in_a;
  out[1] = in_b;
  out[2] = in_both;
}

POLYRULE_CLONES
Count count_bits(const Word* a, std::size_t words) {
  Count total = 0;
  for (std::size_t i = 0; i < words; ++i) total += std::popcount(a[i]);
  return total;
}

POLYRULE_CLONES
Count count_common(const Word* a, const Word* b, std::size_t words) {
  Count total = 0;
  for (std::size_t i = 0; i < words; ++i) total += std::popcount(a[i] & b[i]);
  return total;
}

POLYRULE_CLONES
Count count_common(const Word* a, const Word* b, const Word* c, bool outside, std::size_t words) {
  const Word flip = outside ? ~Word{0} : 0;
  Count total = 0;
  for (std::size_t i = 0; i < words; ++i) total += std::popcount(a[i] & b[i] & (c[i] ^ flip));
  return total;
}

POLYRULE_CLONES
void running_counts(const Word* a, std::size_t words, std::uint32_t* out) {
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < words; ++i) {
    out[i] = total;
    total += static_cast<std::uint32_t>(std::popcount(a[i]));
  }
  out[words] = total;
}

}  // namespace polyrule
