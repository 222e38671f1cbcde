// Sums over the rows that bodies cover.
#pragma once

#include <cstddef>

#include "core/bits.hpp"

namespace polyrule {

// For each of `bodies` covers of `words` words, out[body][column] = the sum of worth[row][column] over the rows that it
// covers and that are in `rows`. What is added up are whole numbers below 2^53, so that no order matters.
void cover_sums(const Word* covers, std::size_t bodies, std::size_t words, const Word* rows, const double* row_values,
                std::size_t columns, int threads, double* out);

}  // namespace polyrule
