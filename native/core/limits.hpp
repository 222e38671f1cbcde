// Up to which weights everything is exact, and from which sizes on a search takes another way. The sizes are arguments,
// so that tests can send small data down the ways of large data; every way gives the same rules.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polyrule {

// All weights together. What is summed up of them stays below
//   2**31  for one label or condition: counters of 32 bits, with or without a sign (`ConditionRows`, `Sums`);
//   2**51  for all labels, in a `Count`;
//   2**60  as numerator or denominator of a measure, which Python's `fast_form` asks for: products of two fit a `Wide`.
// Lanes ask `LaneLevel::fits`. Python checks weights at its door (`data/examples.py`, LARGEST_TOTAL), the bindings
// again.
inline constexpr std::int64_t kMostWeight = (std::int64_t{1} << 31) - 1;

struct Limits {
  double lane_capacity = 2147483648.0 / 3.1;  // what sums in 32-bit lanes may reach; kernels add up to three of them
  std::size_t sorted_rows = 65536;            // tables of at most so many rows keep their columns sorted
  std::size_t binned_rows = 8192;             // in larger tables, covers of more rows are counted bin by bin
  std::size_t kept_rows = 1000;               // from so many rows on counts of the empty body are kept between rules
  std::size_t record_bytes = std::size_t{64} << 20;  // of member records as bits; larger tables keep lists
  std::size_t table_bytes = std::size_t{4} << 20;  // of what rows add to literals; more literals are searched in parts
  std::size_t threaded_work = 400'000;             // rows to visit from which on a second thread pays for its start
  std::size_t first_labels = 32;  // from so many labels on the best first conditions are kept between rules
  std::size_t stretch_rows = 16;  // between marks, from which stretches of boundaries are judged
  // 0 switches a way off, to see what it is worth (benchmarks/paths.py).
  std::size_t bounds = 1, pure_search = 1;
  std::size_t plain = 1;  // the three searchers of plain measures; without them the general one does everything
};

}  // namespace polyrule
