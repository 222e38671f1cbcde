#include "core/bits.hpp"

namespace polyrule {

const bool counts_vectors =
    POLYRULE_SUPPORTS("avx512vpopcntdq") && POLYRULE_SUPPORTS("avx512vl") && POLYRULE_SUPPORTS("avx512bw");

namespace {

const bool counts_words = POLYRULE_SUPPORTS("popcnt");

// A loop that counts bits, compiled for what machines have.
template <class Loop>
POLYRULE_COUNT_VECTORS auto by_vectors(const Loop& loop) {
  return loop();
}
template <class Loop>
POLYRULE_COUNT_WORDS auto by_words(const Loop& loop) {
  return loop();
}
template <class Loop>
auto counted(const Loop& loop) {
  return counts_vectors ? by_vectors(loop) : counts_words ? by_words(loop) : loop();
}

}  // namespace

std::vector<Row> list_rows(const Word* rows, std::size_t words) {
  std::vector<Row> out(static_cast<std::size_t>(count_bits(rows, words)));
  Row* next = out.data();
  for (std::size_t w = 0; w < words; ++w)
    for_each_bit(rows[w], w * 64, [&](std::size_t i) { *next++ = static_cast<Row>(i); });
  return out;
}

void count_three(const Word* cover, const Word* a, const Word* b, std::size_t words, Count out[3]) {
  counted([=]() POLYRULE_ALWAYS {
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
  });
}

Count count_common(const Word* a, const Word* b, std::size_t words) {
  return counted([=]() POLYRULE_ALWAYS {
    Count total = 0;
    for (std::size_t i = 0; i < words; ++i) total += std::popcount(a[i] & b[i]);
    return total;
  });
}

Count count_common(const Word* a, const Word* b, const Word* c, bool outside, std::size_t words) {
  const Word inverted = outside ? ~Word{0} : 0;
  return counted([=]() POLYRULE_ALWAYS {
    Count total = 0;
    for (std::size_t i = 0; i < words; ++i) total += std::popcount(a[i] & b[i] & (c[i] ^ inverted));
    return total;
  });
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
