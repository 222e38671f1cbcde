// Counts of many bits at once over a list of records.
//
// Adding up records column by column (each bit has its own counter, kept in bit planes and carried over like in binary
// addition) costs a few instructions per record and 256 counters.
#pragma once

#include "core/bits.hpp"

namespace polyrule {

// How many of the listed records have each bit, for the first `vectors` groups of 256 bits. Record i starts at i *
// stride, itself a multiple of four words; at most 65,535 of them are listed.
void popcount_records(const Word* records, std::size_t stride, const std::uint32_t* listed, std::size_t size,
                      std::size_t vectors, std::uint16_t* counts);

// sums[i] += factor * counts[i]
void add_times(const std::uint16_t* counts, std::uint32_t factor, std::size_t size, std::uint32_t* sums);
void add_times(const std::uint16_t* counts, std::uint16_t factor, std::size_t size, std::uint16_t* sums);

}  // namespace polyrule
