#include "core/bits.hpp"

namespace polyrule {

#if POLYRULE_HAS_COUNT_VECTORS
const bool counts_vectors =
    POLYRULE_SUPPORTS("avx512vpopcntdq") && POLYRULE_SUPPORTS("avx512vl") && POLYRULE_SUPPORTS("avx512bw");
#else
const bool counts_vectors = false;
#endif

namespace {

POLYRULE_INLINE void three(const Word* cover, const Word* a, const Word* b, std::size_t words, Count out[3]) {
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

POLYRULE_INLINE Count common(const Word* a, const Word* b, std::size_t words) {
  Count total = 0;
  for (std::size_t i = 0; i < words; ++i) total += std::popcount(a[i] & b[i]);
  return total;
}

POLYRULE_INLINE Count common(const Word* a, const Word* b, const Word* c, bool outside, std::size_t words) {
  const Word flip = outside ? ~Word{0} : 0;
  Count total = 0;
  for (std::size_t i = 0; i < words; ++i) total += std::popcount(a[i] & b[i] & (c[i] ^ flip));
  return total;
}

POLYRULE_CLONES void three_by_words(const Word* cover, const Word* a, const Word* b, std::size_t words, Count out[3]) {
  three(cover, a, b, words, out);
}
POLYRULE_COUNT_VECTORS void three_by_vectors(const Word* cover, const Word* a, const Word* b, std::size_t words,
                                             Count out[3]) {
  three(cover, a, b, words, out);
}
POLYRULE_CLONES Count common_by_words(const Word* a, const Word* b, std::size_t words) { return common(a, b, words); }
POLYRULE_COUNT_VECTORS Count common_by_vectors(const Word* a, const Word* b, std::size_t words) {
  return common(a, b, words);
}
POLYRULE_CLONES Count common_by_words(const Word* a, const Word* b, const Word* c, bool outside, std::size_t words) {
  return common(a, b, c, outside, words);
}
POLYRULE_COUNT_VECTORS Count common_by_vectors(const Word* a, const Word* b, const Word* c, bool outside,
                                               std::size_t words) {
  return common(a, b, c, outside, words);
}

}  // namespace

void count_three(const Word* cover, const Word* a, const Word* b, std::size_t words, Count out[3]) {
  counts_vectors ? three_by_vectors(cover, a, b, words, out) : three_by_words(cover, a, b, words, out);
}

Count count_common(const Word* a, const Word* b, std::size_t words) {
  return counts_vectors ? common_by_vectors(a, b, words) : common_by_words(a, b, words);
}

Count count_common(const Word* a, const Word* b, const Word* c, bool outside, std::size_t words) {
  return counts_vectors ? common_by_vectors(a, b, c, outside, words) : common_by_words(a, b, c, outside, words);
}

POLYRULE_CLONES
Count count_bits(const Word* a, std::size_t words) {
  Count total = 0;
  for (std::size_t i = 0; i < words; ++i) total += std::popcount(a[i]);
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
