#include "count/covers.hpp"

#include <algorithm>

#include "core/parallel.hpp"

namespace polyrule {
namespace {

constexpr std::size_t kChunk = 64;  // bodies that a thread takes at a time

// Four rows at a time, so that the sums are read and written less often.
POLYRULE_VECTOR_CLONES void add_rows(const double* worth, std::size_t columns, const std::size_t* rows,
                                     std::size_t count, double* out) {
  std::size_t r = 0;
  for (; r + 4 <= count; r += 4) {
    const double *a = worth + rows[r] * columns, *b = worth + rows[r + 1] * columns;
    const double *c = worth + rows[r + 2] * columns, *d = worth + rows[r + 3] * columns;
    for (std::size_t k = 0; k < columns; ++k) out[k] += (a[k] + b[k]) + (c[k] + d[k]);
  }
  for (; r < count; ++r) {
    const double* a = worth + rows[r] * columns;
    for (std::size_t k = 0; k < columns; ++k) out[k] += a[k];
  }
}

void sum_one(const Word* cover, std::size_t words, const Word* rows, const double* worth, std::size_t columns,
             double* out) {
  if (columns == 1) {
    double sum = 0;
    for (std::size_t w = 0; w < words; ++w)
      for_each_bit(cover[w] & rows[w], w * 64, [&](std::size_t row) { sum += worth[row]; });
    *out = sum;
    return;
  }
  std::fill(out, out + columns, 0.0);
  std::size_t found[64];
  for (std::size_t w = 0; w < words; ++w) {
    std::size_t count = 0;
    for_each_bit(cover[w] & rows[w], w * 64, [&](std::size_t row) { found[count++] = row; });
    if (count) add_rows(worth, columns, found, count, out);
  }
}

}  // namespace

void cover_sums(const Word* covers, std::size_t bodies, std::size_t words, const Word* rows, const double* worth,
                std::size_t columns, int threads, double* out) {
  // Only words in which there is a row are looked at: the rows of one rule are few.
  std::size_t first = 0, last = words;
  while (first < last && !rows[first]) ++first;
  while (last > first && !rows[last - 1]) --last;
  parallel_for((bodies + kChunk - 1) / kChunk, threads, [&](std::size_t chunk) {
    for (std::size_t body = chunk * kChunk; body < std::min(bodies, (chunk + 1) * kChunk); ++body)
      sum_one(covers + body * words + first, last - first, rows + first, worth + first * 64 * columns, columns,
              out + body * columns);
  });
}

}  // namespace polyrule
