#include "search/list_bounds.hpp"

#include <algorithm>

#include "core/bits.hpp"
#include "core/lanes.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kEach = 8;   // conditions in a vector of bounds
constexpr std::size_t kBlock = 4;  // vectors that are looked at together

template <class Counter, class Lane>
POLYRULE_INLINE std::size_t bound_all(const LiteralWeights<Lane>& weights, const Counter* sizes, const Counter* present,
                                      const Counter* present_set, const Counter* absent, std::size_t counters,
                                      std::uint32_t* found, Lane& below) {
  using Eight = Lanes<Lane, kEach>;
  const auto counts = [](const Counter* from)
                          POLYRULE_ALWAYS { return convert<Eight>(load<Lanes<Counter, kEach>>(from)); };
  const Eight zero = {}, never = fill<Eight>(kNever<Lane>);
  const Eight empty = fill<Eight>(weights.empty), per_present = fill<Eight>(weights.present),
              per_present_set = fill<Eight>(weights.present_set), per_absent_set = fill<Eight>(weights.absent_set),
              per_absent = fill<Eight>(weights.absent);
  const Eight most = fill<Eight>(weights.all_absent), set = fill<Eight>(weights.all_absent_set);
  const bool unset_helps = weights.absent > 0;
  Eight highest = never;
  std::size_t count = 0;
  for (std::size_t k = 0; k < counters; k += kBlock * kEach) {
    Eight bounds[kBlock], any = {};
    for (std::size_t b = 0; b < kBlock; ++b) {
      const std::size_t at = k + b * kEach;
      const Eight size = counts(sizes + at), with = counts(present + at), with_set = counts(present_set + at);
      const Eight others = size - with - with_set, beyond = others - set;
      const Eight low = select(beyond > zero, beyond, zero), high = select(others < most, others, most);
      const Eight unset = absent ? counts(absent + at) : unset_helps ? high : low;
      const Eight bound =
          empty + per_present * with + per_present_set * with_set + per_absent_set * others + per_absent * unset;
      bounds[b] = select(size > zero, bound, never);
      const Eight reaches = bounds[b] >= zero;
      any |= reaches;
      const Eight rest = select(reaches, never, bounds[b]);
      highest = select(rest > highest, rest, highest);
    }
    bool one = false;
    for (std::size_t i = 0; i < kEach; ++i) one |= any[i] != 0;
    if (!one) continue;
    for (std::size_t b = 0; b < kBlock; ++b)
      for (std::size_t i = 0; i < kEach; ++i)
        if (bounds[b][i] >= 0) found[count++] = static_cast<std::uint32_t>(k + b * kEach + i);
  }
  for (std::size_t i = 0; i < kEach; ++i) below = std::max(below, highest[i]);
  return count;
}

}  // namespace

POLYRULE_VECTOR_CLONES
std::size_t bound_conditions(const LiteralWeights<std::int32_t>& weights, const std::uint16_t* sizes,
                             const std::uint16_t* present, const std::uint16_t* present_set,
                             const std::uint16_t* absent, std::size_t counters, std::uint32_t* found,
                             std::int32_t& below) {
  return bound_all(weights, sizes, present, present_set, absent, counters, found, below);
}

POLYRULE_VECTOR_CLONES
std::size_t bound_conditions(const LiteralWeights<std::int32_t>& weights, const std::uint32_t* sizes,
                             const std::uint32_t* present, const std::uint32_t* present_set,
                             const std::uint32_t* absent, std::size_t counters, std::uint32_t* found,
                             std::int32_t& below) {
  return bound_all(weights, sizes, present, present_set, absent, counters, found, below);
}

POLYRULE_VECTOR_CLONES
std::size_t bound_conditions(const LiteralWeights<std::int64_t>& weights, const std::uint32_t* sizes,
                             const std::uint32_t* present, const std::uint32_t* present_set,
                             const std::uint32_t* absent, std::size_t counters, std::uint32_t* found,
                             std::int64_t& below) {
  return bound_all(weights, sizes, present, present_set, absent, counters, found, below);
}

}  // namespace polyrule
