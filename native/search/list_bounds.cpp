#include "search/list_bounds.hpp"

#include <algorithm>

#include "core/machine.hpp"

namespace polyrule {

namespace {

using Lane = ListLane;
constexpr std::size_t kBlock = 64;  // conditions that are looked at together

// How many of the rows without the label are unset: as counted, or as many or as few as there can be.
enum class Unset { counted, maximum, minimum };

// Plain loops: the compiler turns them into vectors of every clone's own width.
template <Unset unset, bool both, class Counter>
POLYRULE_INLINE std::size_t bound_all(const LiteralLanes& lanes, const Counter* sizes, const Counter* present,
                                      const Counter* present_set, const Counter* absent, std::size_t counters,
                                      std::uint32_t* passing, Lane& below) {
  const LiteralLanes all = lanes;
  Lane highest = below;
  std::size_t count = 0;
  for (std::size_t k = 0; k < counters; k += kBlock) {
    Lane bounds[kBlock], top = kNever;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const Lane size = Lane(sizes[k + i]), with = Lane(present[k + i]), with_set = Lane(present_set[k + i]);
      const Lane absent_rows = size - with - with_set;
      const Lane open = unset == Unset::counted   ? Lane(absent[k + i])
                        : unset == Unset::maximum ? std::min(absent_rows, all.all_absent)
                                                  : std::max(absent_rows - all.all_absent_set, Lane{0});
      const auto sum = [&](const LiteralWeights& w) POLYRULE_ALWAYS {
        return w.empty + w.present * with + w.present_set * with_set + w.absent_set * absent_rows + w.absent * open;
      };
      const Lane bound = both ? std::min(sum(all.covered), sum(all.excluded)) : sum(all.covered);
      bounds[i] = size > 0 ? bound : kNever;
      top = std::max(top, bounds[i]);
    }
    if (top < 0) {
      highest = std::max(highest, top);
      continue;
    }
    for (std::size_t i = 0; i < kBlock; ++i) {
      passing[count] = static_cast<std::uint32_t>(k + i);
      count += bounds[i] >= 0;
      highest = std::max(highest, bounds[i] >= 0 ? kNever : bounds[i]);
    }
  }
  below = highest;
  return count;
}

template <bool both, class Counter>
POLYRULE_INLINE std::size_t bound_as_known(const LiteralLanes& lanes, const Counter* sizes, const Counter* present,
                                           const Counter* present_set, const Counter* absent, std::size_t counters,
                                           std::uint32_t* passing, Lane& below) {
  if (absent)
    return bound_all<Unset::counted, both>(lanes, sizes, present, present_set, absent, counters, passing, below);
  if (lanes.covered.absent > 0)
    return bound_all<Unset::maximum, both>(lanes, sizes, present, present_set, absent, counters, passing, below);
  return bound_all<Unset::minimum, both>(lanes, sizes, present, present_set, absent, counters, passing, below);
}

template <class Counter>
POLYRULE_INLINE void add_pure_as(const Counter* present, const Counter* absent, std::size_t counters,
                                 Counter present_mask, Counter absent_mask, std::int64_t* totals) {
  for (std::size_t k = 0; k < counters; ++k) {
    const Counter right = absent[k] == 0 ? Counter(present[k] & present_mask) : Counter(0);
    const Counter right_absent = present[k] == 0 ? Counter(absent[k] & absent_mask) : Counter(0);
    totals[k] += Counter(right | right_absent);  // one of them is 0
  }
}

}  // namespace

POLYRULE_VECTOR_CLONES
std::size_t bound_conditions(const LiteralLanes& lanes, const std::uint16_t* sizes, const std::uint16_t* present,
                             const std::uint16_t* present_set, const std::uint16_t* absent, std::size_t counters,
                             std::uint32_t* passing, ListLane& below) {
  if (lanes.both) return bound_as_known<true>(lanes, sizes, present, present_set, absent, counters, passing, below);
  return bound_as_known<false>(lanes, sizes, present, present_set, absent, counters, passing, below);
}

POLYRULE_VECTOR_CLONES
std::size_t bound_conditions(const LiteralLanes& lanes, const std::uint32_t* sizes, const std::uint32_t* present,
                             const std::uint32_t* present_set, const std::uint32_t* absent, std::size_t counters,
                             std::uint32_t* passing, ListLane& below) {
  if (lanes.both) return bound_as_known<true>(lanes, sizes, present, present_set, absent, counters, passing, below);
  return bound_as_known<false>(lanes, sizes, present, present_set, absent, counters, passing, below);
}

POLYRULE_VECTOR_CLONES
void add_pure(const std::uint16_t* present, const std::uint16_t* absent, std::size_t counters, bool present_counts,
              bool absent_counts, std::int64_t* totals) {
  add_pure_as<std::uint16_t>(present, absent, counters, present_counts ? UINT16_MAX : 0, absent_counts ? UINT16_MAX : 0,
                             totals);
}

POLYRULE_VECTOR_CLONES
void add_pure(const std::uint32_t* present, const std::uint32_t* absent, std::size_t counters, bool present_counts,
              bool absent_counts, std::int64_t* totals) {
  add_pure_as<std::uint32_t>(present, absent, counters, present_counts ? UINT32_MAX : 0, absent_counts ? UINT32_MAX : 0,
                             totals);
}

}  // namespace polyrule
