#include "count/covers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/lanes.hpp"
#include "core/parallel.hpp"

namespace polyrule {
namespace {

constexpr std::size_t kChunk = 1024, kSmallest = 128;        // bodies that a thread takes at a time, at most and least
constexpr std::size_t kLanes = 16;                           // columns that are added at a time
constexpr double kSomeRows = 1;                              // of a word, from which on tables of sums pay
constexpr std::size_t kFewBodies = 32;                       // for which no tables of sums are made
constexpr double kByteSums = 511, kWider = 2047;             // 64 and 16 such numbers fit into 16 bits,
constexpr std::size_t kMaxShortRows = std::size_t{1} << 20;  // and so many into 32

using Short = Lanes<std::int16_t, kLanes>;

// Covers of some bodies; only words that hold a row that counts are looked at, for the rows of one rule are few.
struct Bodies {
  const Word* covers;
  std::size_t words;
  const Word* rows;
  std::vector<std::size_t> used;  // places of these words
  std::size_t first, last;        // which bodies
};

// For each four rows of a word, the sums of all sixteen choices among them.
struct FourRows {
  Short choice[256];

  void make(const double* row_values, std::size_t columns, std::size_t lanes, Word rows) {
    for (std::size_t four = 0; four < 16; ++four) {
      Short* sums = choice + 16 * four;
      sums[0] = Short{};
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t row = 4 * four + k, half = std::size_t{1} << k;
        Short values{};
        if (rows >> row & 1)
          for (std::size_t lane = 0; lane < lanes; ++lane)
            values[lane] = static_cast<std::int16_t>(row_values[row * columns + lane]);
        for (std::size_t i = 0; i < half; ++i) sums[half + i] = sums[i] + values;
      }
    }
  }
};

// `together`: how many times four rows fit into 16 bits.
template <std::size_t together>
POLYRULE_INLINE void add_fours(const Bodies& bodies, std::size_t word, const FourRows& table, std::int32_t* sums) {
  for (std::size_t body = bodies.first; body < bodies.last; ++body, sums += kLanes) {
    const Word bits = bodies.covers[body * bodies.words + word] & bodies.rows[word];
    if (!bits) continue;
    for (std::size_t first = 0; first < 16; first += together) {
      // Whether any of four rows is covered is not asked: nobody could guess the answer.
      Short sum{};
      for (std::size_t four = first; four < first + together; ++four)
        sum += table.choice[16 * four + (bits >> 4 * four & 15)];
      std::int16_t lane_sums[kLanes];
      store(lane_sums, sum);
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += lane_sums[lane];
    }
  }
}

POLYRULE_VECTOR_CLONES void add_word(const Bodies& bodies, std::size_t word, const FourRows& table, bool is_short,
                                     std::int32_t* sums) {
  is_short ? add_fours<16>(bodies, word, table, sums) : add_fours<4>(bodies, word, table, sums);
}

void sum_shorts(const Bodies& bodies, const double* row_values, std::size_t columns, double largest, double* out) {
  FourRows table;
  for (std::size_t column = 0; column < columns; column += kLanes) {
    const std::size_t lanes = std::min(kLanes, columns - column);
    std::vector<std::int32_t> sums((bodies.last - bodies.first) * kLanes);
    for (const std::size_t word : bodies.used) {
      table.make(row_values + word * 64 * columns + column, columns, lanes, bodies.rows[word]);
      add_word(bodies, word, table, largest <= kByteSums, sums.data());
    }
    for (std::size_t body = bodies.first; body < bodies.last; ++body)
      std::copy_n(sums.data() + (body - bodies.first) * kLanes, lanes, out + body * columns + column);
  }
}

// Four rows at a time, so that the sums are read and written less often.
POLYRULE_VECTOR_CLONES void add_rows(const double* row_values, std::size_t columns, const std::size_t* rows,
                                     std::size_t count, double* out) {
  std::size_t r = 0;
  for (; r + 4 <= count; r += 4) {
    const double *a = row_values + rows[r] * columns, *b = row_values + rows[r + 1] * columns;
    const double *c = row_values + rows[r + 2] * columns, *d = row_values + rows[r + 3] * columns;
    for (std::size_t k = 0; k < columns; ++k) out[k] += (a[k] + b[k]) + (c[k] + d[k]);
  }
  for (; r < count; ++r) {
    const double* a = row_values + rows[r] * columns;
    for (std::size_t k = 0; k < columns; ++k) out[k] += a[k];
  }
}

// Row by row: for numbers of any size, and where bodies cover few rows.
void sum_rows(const Bodies& bodies, const double* row_values, std::size_t columns, double* out) {
  std::size_t listed[64];
  for (std::size_t body = bodies.first; body < bodies.last; ++body) {
    double *sums = out + body * columns, only = 0;
    std::fill(sums, sums + columns, 0.0);
    for (const std::size_t word : bodies.used) {
      const Word bits = bodies.covers[body * bodies.words + word] & bodies.rows[word];
      if (columns == 1) {
        for_each_bit(bits, word * 64, [&](std::size_t row) { only += row_values[row]; });
      } else if (bits) {
        std::size_t count = 0;
        for_each_bit(bits, word * 64, [&](std::size_t row) { listed[count++] = row; });
        add_rows(row_values, columns, listed, count, sums);
      }
    }
    if (columns == 1) *sums = only;
  }
}

// How many rows of a word some of the bodies cover, on average.
double rows_of_a_word(const Bodies& bodies) {
  std::size_t looked_at = 0, covered = 0;
  for (std::size_t body = bodies.first; body < bodies.last; body += 16)
    for (const std::size_t word : bodies.used) {
      covered += static_cast<std::size_t>(std::popcount(bodies.covers[body * bodies.words + word] & bodies.rows[word]));
      ++looked_at;
    }
  return looked_at ? static_cast<double>(covered) / static_cast<double>(looked_at) : 0;
}

// The largest number of the rows that count.
double largest_of(const Bodies& bodies, const double* row_values, std::size_t columns) {
  double largest = 0;
  for (const std::size_t word : bodies.used)
    for_each_bit(bodies.rows[word], word * 64, [&](std::size_t row) {
      for (std::size_t k = 0; k < columns; ++k) largest = std::max(largest, std::abs(row_values[row * columns + k]));
    });
  return largest;
}

}  // namespace

void cover_sums(const Word* covers, std::size_t bodies, std::size_t words, const Word* rows, const double* row_values,
                std::size_t columns, int threads, double* out) {
  Bodies all{covers, words, rows, {}, 0, bodies};
  for (std::size_t word = 0; word < words; ++word)
    if (rows[word]) all.used.push_back(word);
  const double rows_each = bodies >= kFewBodies ? rows_of_a_word(all) : 0;
  const bool table = rows_each >= kSomeRows && words * 64 <= kMaxShortRows;
  const double largest = table ? largest_of(all, row_values, columns) : 0;
  const bool is_short = table && largest <= kWider;
  const std::size_t share = std::clamp(bodies / static_cast<std::size_t>(std::max(1, threads)) + 1, kSmallest, kChunk);
  parallel_for((bodies + share - 1) / share, threads, [&](std::size_t chunk) {
    Bodies part = all;
    part.first = chunk * share;
    part.last = std::min(bodies, part.first + share);
    if (is_short) sum_shorts(part, row_values, columns, largest, out);
    else sum_rows(part, row_values, columns, out);
  });
}

}  // namespace polyrule
