#include "sweep.hpp"

#include <limits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && !defined(POLYRULE_SANITIZE)
#define POLYRULE_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define POLYRULE_VECTOR_CLONES
#endif

namespace polyrule {

namespace {

using Lane = std::int32_t;
typedef Lane Lanes __attribute__((vector_size(32), may_alias));

// Width vectors at a time, small enough that all sums stay in registers.
template <std::size_t Width>
inline __attribute__((always_inline)) void sweep_some(const std::uint32_t* rows, std::size_t size, const Lane* table,
                                                      std::size_t stride, bool at_end, Lane* high, Lane* low,
                                                      Lane* total) {
  Lanes sum[Width], top[Width], bottom[Width];
  for (std::size_t k = 0; k < Width; ++k) {
    sum[k] = Lanes{};
    top[k] = Lanes{} + std::numeric_limits<Lane>::lowest() / 4;
    bottom[k] = Lanes{} + std::numeric_limits<Lane>::max() / 4;
  }
  // One step past the end, so that the look at the end is the same code.
  for (std::size_t i = 0; i < size + (at_end ? 1 : 0); ++i) {
    if (i == size || (i != 0 && (rows[i] & kStarts)))
      for (std::size_t k = 0; k < Width; ++k) {
        top[k] = sum[k] > top[k] ? sum[k] : top[k];
        bottom[k] = sum[k] < bottom[k] ? sum[k] : bottom[k];
      }
    if (i == size) break;
    const Lane* add = table + std::size_t(rows[i] & kRowMask) * stride * kLanes;
    for (std::size_t k = 0; k < Width; ++k) sum[k] += *reinterpret_cast<const Lanes*>(add + k * kLanes);
  }
  for (std::size_t k = 0; k < Width; ++k) {
    *reinterpret_cast<Lanes*>(high + k * kLanes) = top[k];
    *reinterpret_cast<Lanes*>(low + k * kLanes) = bottom[k];
    *reinterpret_cast<Lanes*>(total + k * kLanes) = sum[k];
  }
}

}  // namespace

POLYRULE_VECTOR_CLONES
void sweep_rows(const std::uint32_t* rows, std::size_t size, const std::int32_t* table, std::size_t width, bool at_end,
                std::int32_t* high, std::int32_t* low, std::int32_t* total) {
  std::size_t k = 0;
  for (; k + 4 <= width; k += 4) sweep_some<4>(rows, size, table + k * kLanes, width, at_end, high + k * kLanes, low + k * kLanes,
                                                   total + k * kLanes);
  for (; k + 2 <= width; k += 2) sweep_some<2>(rows, size, table + k * kLanes, width, at_end, high + k * kLanes, low + k * kLanes,
                                                   total + k * kLanes);
  for (; k < width; ++k) sweep_some<1>(rows, size, table + k * kLanes, width, at_end, high + k * kLanes, low + k * kLanes,
                                                   total + k * kLanes);
}

}  // namespace polyrule
