#include "search/sweep.hpp"

#include "core/lanes.hpp"

namespace polyrule {

namespace {

// Width vectors at a time, small enough that all sums stay in registers.
template <std::size_t Count, std::size_t Width>
POLYRULE_INLINE void sweep_some(const std::uint32_t* list, std::size_t size, const Lane* table, std::size_t stride,
                                bool guess, bool at_end, Lane* high, Lane* low) {
  using Some = Lanes<Lane, Count>;
  Some sum[Width], top[Width], bottom[Width];
  for (std::size_t k = 0; k < Width; ++k) {
    sum[k] = Some{};
    top[k] = fill<Some>(std::numeric_limits<Lane>::lowest() / 4);
    bottom[k] = fill<Some>(std::numeric_limits<Lane>::max() / 4);
  }
  const auto look = [&] {
    for (std::size_t k = 0; k < Width; ++k) top[k] = larger(sum[k], top[k]), bottom[k] = smaller(sum[k], bottom[k]);
  };
  const auto look_where = [&](const Some& counts) {
    for (std::size_t k = 0; k < Width; ++k) {
      top[k] = larger(select(counts, sum[k], top[k]), top[k]);
      bottom[k] = smaller(select(counts, sum[k], bottom[k]), bottom[k]);
    }
  };
  const auto step = [&](std::uint32_t entry) {
    const Lane* add = table + std::size_t(entry & kEntry) * stride;
    for (std::size_t k = 0; k < Width; ++k) sum[k] += load<Some>(add + k * Count);
  };
  if (size > 0) step(list[0]);
  if (!guess)
    for (std::size_t i = 1; i < size; ++i) look_where(fill<Some>(-static_cast<Lane>(list[i] >> 31))), step(list[i]);
  else
    for (std::size_t i = 1; i < size; ++i) {
      if (list[i] & kStarts) look();
      step(list[i]);
    }
  if (at_end) look();
  for (std::size_t k = 0; k < Width; ++k) {
    store(high + k * Count, top[k]);
    store(low + k * Count, bottom[k]);
  }
}

}  // namespace

POLYRULE_VECTOR_CLONES
void sweep_list(const std::uint32_t* list, std::size_t size, const Lane* table, std::size_t stride, bool at_end,
                Lane* high, Lane* low) {
  // Whether a row starts a value cannot be guessed where there are two or three rows of each: there no branch depends
  // on it.
  std::size_t starts = 0;
  for (std::size_t i = 1; i < size; ++i) starts += list[i] >> 31;
  const bool guess = starts <= size / 8 || starts >= size - size / 8;
  if (stride == 4) return sweep_some<4, 1>(list, size, table, stride, guess, at_end, high, low);
  std::size_t k = 0;
  for (; k + 4 * kLanes <= stride; k += 4 * kLanes)
    sweep_some<kLanes, 4>(list, size, table + k, stride, guess, at_end, high + k, low + k);
  for (; k + 2 * kLanes <= stride; k += 2 * kLanes)
    sweep_some<kLanes, 2>(list, size, table + k, stride, guess, at_end, high + k, low + k);
  for (; k < stride; k += kLanes)
    sweep_some<kLanes, 1>(list, size, table + k, stride, guess, at_end, high + k, low + k);
}

POLYRULE_VECTOR_CLONES
void sum_bins(const std::uint8_t* bins, const Row* rows, std::size_t size, bool by_row, const Lane* table,
              std::size_t stride, Lane* sums) {
  using Four = Lanes<Lane, 4>;
  for (std::size_t p = 0; p < size; ++p) {
    const Lane* add = table + (by_row ? std::size_t(rows[p]) : p) * stride;
    Lane* sum = sums + std::size_t(bins[rows[p]]) * stride;
    for (std::size_t k = 0; k < stride; k += 4) store(sum + k, load<Four>(sum + k) + load<Four>(add + k));
  }
}

}  // namespace polyrule
