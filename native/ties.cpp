#include "ties.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kAhead = 16;  // records are asked for so many rows ahead, because they come in no order

// With the number of words known, all of them stay in registers.
template <std::size_t Words>
inline __attribute__((always_inline)) std::size_t join_some(const RowRecords& records, const RaceRows& rows,
                                                            std::size_t from, RaceWord* words, Count& total) {
  constexpr std::size_t kKept = Words ? Words : 1;
  const std::size_t count = Words ? Words : records.words(), stride = records.stride();
  const Word* base = records.data();
  RaceWord kept[kKept];
  RaceWord* here = words;
  if (Words) {
    here = kept;
    for (std::size_t w = 0; w < Words; ++w) kept[w] = words[w];
  }
  Count sum = total;
  std::size_t i = from;
  for (; i < rows.size; ++i) {
    const Word* record = base + std::size_t(rows.row(i)) * stride;
    if (i + kAhead < rows.size) __builtin_prefetch(base + std::size_t(rows.row(i + kAhead)) * stride);
    Word out = 0;
    for (std::size_t w = 0; w < count; ++w) {
      here[w].seen[1] |= record[w];
      here[w].seen[0] |= record[count + w];
      out |= here[w].seen[0] & here[w].seen[1] & here[w].racing;
    }
    if (out) break;
    for (std::size_t w = 0; w < count; ++w) {
      const Word unset = record[w] | record[count + w];
      rows.history[w * rows.size + i] = unset;
      sum += std::popcount(unset & here[w].racing);
    }
  }
  if (Words)
    for (std::size_t w = 0; w < Words; ++w) words[w] = kept[w];
  total = sum;
  return i;
}

}  // namespace

POLYRULE_CLONES
std::size_t join_until_drop(const RowRecords& records, const RaceRows& rows, std::size_t from, RaceWord* words,
                            Count& total) {
  if (records.words() == 1) return join_some<1>(records, rows, from, words, total);
  if (records.words() == 2) return join_some<2>(records, rows, from, words, total);
  return join_some<0>(records, rows, from, words, total);
}

POLYRULE_VECTOR_CLONES
Count count_bit(const Word* words, std::size_t size, std::size_t bit) {
  Count total = 0;
  for (std::size_t i = 0; i < size; ++i) total += static_cast<Count>(words[i] >> bit & 1);
  return total;
}

}  // namespace polyrule
