#include "core/popcount.hpp"

#include <cstring>

#include "core/assert.hpp"
#include "core/lanes.hpp"

#if POLYRULE_HAS_COUNT_VECTORS
#include <immintrin.h>
#endif

namespace polyrule {

namespace {

using Shorts = Lanes<std::uint16_t, 16>;
constexpr std::size_t kMostPlanes = 17;

// Full adder for many columns: a + b + c as two bits.
template <class Planes>
POLYRULE_INLINE void add(Planes& low, Planes& high, const Planes& a, const Planes& b, const Planes& c) {
  const Planes differ = a ^ b, sum = differ ^ c;
  high = (a & b) | (differ & c);
  low = sum;
}

template <class Planes>
POLYRULE_INLINE void carry_into(Planes* planes, std::size_t from, std::size_t to, Planes carry) {
  for (std::size_t j = from; j < to; ++j) {
    const Planes both = planes[j] & carry;
    planes[j] ^= carry;
    carry = both;
  }
}

// The counts of one vector of columns, as bit planes.
template <class Planes>
POLYRULE_INLINE void add_up(const Word* base, std::size_t stride, const std::uint32_t* rows, std::size_t size,
                            Planes* planes) {
  const auto record = [&](std::size_t i) POLYRULE_ALWAYS { return load<Planes>(base + std::size_t(rows[i]) * stride); };
  Planes ones = {}, twos = {}, fours = {};
  for (std::size_t j = 3; j < static_cast<std::size_t>(std::bit_width(size)); ++j) planes[j] = Planes{};
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    Planes two[4], four[2], eight;
    add(ones, two[0], ones, record(i), record(i + 1));
    add(ones, two[1], ones, record(i + 2), record(i + 3));
    add(ones, two[2], ones, record(i + 4), record(i + 5));
    add(ones, two[3], ones, record(i + 6), record(i + 7));
    add(twos, four[0], twos, two[0], two[1]);
    add(twos, four[1], twos, two[2], two[3]);
    add(fours, eight, fours, four[0], four[1]);
    carry_into(planes, 3, static_cast<std::size_t>(std::bit_width(i + 8)), eight);
  }
  planes[0] = ones;
  planes[1] = twos;
  planes[2] = fours;
  for (; i < size; ++i) carry_into(planes, 0, static_cast<std::size_t>(std::bit_width(i + 1)), record(i));
}

// 256 columns at a time.
POLYRULE_VECTOR_CLONES
void popcount_vectors(const Word* records, std::size_t stride, const std::uint32_t* rows, std::size_t size,
                      std::size_t vectors, std::uint16_t* counts) {
  const Shorts bits = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  const std::size_t used = static_cast<std::size_t>(std::bit_width(size));
  for (std::size_t k = 0; k < vectors; ++k) {
    Lanes<Word, 4> planes[kMostPlanes];
    add_up(records + k * 4, stride, rows, size, planes);
    // From bit planes to numbers, 16 columns at a time, the highest plane first.
    for (std::size_t part = 0; part < 16; ++part) {
      Shorts sum = {};
      for (std::size_t j = used; j > 0; --j) {
        std::uint16_t word;
        std::memcpy(&word, reinterpret_cast<const char*>(&planes[j - 1]) + part * 2, 2);
        const Shorts spread = Shorts{} + word;  // `fill` would be lowered before it knows the target
        sum = sum + sum - Shorts((spread & bits) == bits);
      }
      store(counts + k * 256 + part * 16, sum);
    }
  }
}

#if POLYRULE_HAS_COUNT_VECTORS
// 512 columns at a time; the bits of a plane choose the lanes that are added to.
POLYRULE_COUNT_VECTORS void popcount_pairs(const Word* records, std::size_t stride, const std::uint32_t* rows,
                                           std::size_t size, std::size_t pairs, std::uint16_t* counts) {
  const std::size_t used = static_cast<std::size_t>(std::bit_width(size));
  const __m512i one = _mm512_set1_epi16(1);
  for (std::size_t k = 0; k < pairs; ++k) {
    Lanes<Word, 8> planes[kMostPlanes];
    add_up(records + k * 8, stride, rows, size, planes);
    for (std::size_t part = 0; part < 16; ++part) {
      __m512i sum = {};
      for (std::size_t j = used; j > 0; --j) {
        std::uint32_t word;
        std::memcpy(&word, reinterpret_cast<const char*>(&planes[j - 1]) + part * 4, 4);
        sum = _mm512_add_epi16(sum, sum);
        sum = _mm512_mask_add_epi16(sum, word, sum, one);
      }
      _mm512_storeu_si512(counts + k * 512 + part * 32, sum);
    }
  }
}
#endif

}  // namespace

void popcount_records(const Word* records, std::size_t stride, const std::uint32_t* rows, std::size_t size,
                      std::size_t vectors, std::uint16_t* counts) {
  POLYRULE_ASSERT(size <= 65'535 && stride % 4 == 0);
  std::size_t done = 0;
#if POLYRULE_HAS_COUNT_VECTORS
  if (counts_vectors && vectors >= 2) {
    done = vectors / 2 * 2;
    popcount_pairs(records, stride, rows, size, done / 2, counts);
  }
#endif
  if (done < vectors) popcount_vectors(records + done * 4, stride, rows, size, vectors - done, counts + done * 256);
}

POLYRULE_VECTOR_CLONES
void add_times(const std::uint16_t* counts, std::uint32_t factor, std::size_t size, std::uint32_t* sums) {
  for (std::size_t i = 0; i < size; ++i) sums[i] += factor * counts[i];
}

POLYRULE_VECTOR_CLONES
void add_times(const std::uint16_t* counts, std::uint16_t factor, std::size_t size, std::uint16_t* sums) {
  for (std::size_t i = 0; i < size; ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + factor * counts[i]);
}

}  // namespace polyrule
