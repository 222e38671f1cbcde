#include "sweep.hpp"

#include <limits>

namespace polyrule {

namespace {

using Lane = std::int32_t;
typedef Lane Eight __attribute__((vector_size(32), may_alias));
typedef Lane Four __attribute__((vector_size(16), may_alias));

// Width vectors at a time, small enough that all sums stay in registers.
template <std::size_t Width, class Lanes>
inline __attribute__((always_inline)) void sweep_some(const std::uint32_t* rows, std::size_t size, const Lane* table,
                                                      std::size_t stride, bool at_end, Lane* high, Lane* low,
                                                      Lane* total) {
  constexpr std::size_t kCount = sizeof(Lanes) / sizeof(Lane);
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
    const Lane* add = table + std::size_t(rows[i] & kRowMask) * stride;
    for (std::size_t k = 0; k < Width; ++k) sum[k] += *reinterpret_cast<const Lanes*>(add + k * kCount);
  }
  for (std::size_t k = 0; k < Width; ++k) {
    *reinterpret_cast<Lanes*>(high + k * kCount) = top[k];
    *reinterpret_cast<Lanes*>(low + k * kCount) = bottom[k];
    *reinterpret_cast<Lanes*>(total + k * kCount) = sum[k];
  }
}

}  // namespace

POLYRULE_VECTOR_CLONES
void sweep_rows(const std::uint32_t* rows, std::size_t size, const std::int32_t* table, std::size_t stride, bool at_end,
                std::int32_t* high, std::int32_t* low, std::int32_t* total) {
  if (stride == 4) return sweep_some<1, Four>(rows, size, table, stride, at_end, high, low, total);
  std::size_t k = 0;
  for (; k + 4 * kLanes <= stride; k += 4 * kLanes)
    sweep_some<4, Eight>(rows, size, table + k, stride, at_end, high + k, low + k, total + k);
  for (; k + 2 * kLanes <= stride; k += 2 * kLanes)
    sweep_some<2, Eight>(rows, size, table + k, stride, at_end, high + k, low + k, total + k);
  for (; k < stride; k += kLanes) sweep_some<1, Eight>(rows, size, table + k, stride, at_end, high + k, low + k, total + k);
}

}  // namespace polyrule
