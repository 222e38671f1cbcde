// Bounds on what all conditions that are lists can reach with one literal, many conditions at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace polyrule {

// What bounds G of one literal, in lanes: weights of the counts, and the counts of the node.
using ListLane = std::int32_t;

struct LiteralWeights {
  ListLane empty, present, present_set, absent_set, absent;  // `absent`: what an unset row adds to a set one
};

// The same from two sides, where counts stand for more or less: from what is covered, and from what is left out. The
// smaller bound counts.
struct LiteralLanes {
  LiteralWeights covered, excluded;
  ListLane all_absent, all_absent_set;
  bool both;  // else only `covered` is used
};

constexpr ListLane kNever = std::numeric_limits<ListLane>::lowest() / 4;

// Lists the conditions whose bound is not negative in `passing` (room for `counters` numbers) and returns how many;
// `below` gets the largest bound of the others. Conditions of size 0 do not count. `absent` may be null; then G is only
// bounded.
std::size_t bound_conditions(const LiteralLanes& lanes, const std::uint16_t* sizes, const std::uint16_t* present,
                             const std::uint16_t* present_set, const std::uint16_t* absent, std::size_t counters,
                             std::uint32_t* passing, ListLane& below);
std::size_t bound_conditions(const LiteralLanes& lanes, const std::uint32_t* sizes, const std::uint32_t* present,
                             const std::uint32_t* present_set, const std::uint32_t* absent, std::size_t counters,
                             std::uint32_t* passing, ListLane& below);

// Adds the rows of a label's literals that are right on all of them: present ones where `present_counts` and there is
// no absent one, and the other way round.
void add_pure(const std::uint16_t* present, const std::uint16_t* absent, std::size_t counters, bool present_counts,
              bool absent_counts, std::int64_t* totals);
void add_pure(const std::uint32_t* present, const std::uint32_t* absent, std::size_t counters, bool present_counts,
              bool absent_counts, std::int64_t* totals);

}  // namespace polyrule
