// Sets of rows as bits. All label states and covers are bitsets, so that counting is popcount.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/machine.hpp"

namespace polyrule {

extern const bool counts_vectors;

using Word = std::uint64_t;
using Row = std::uint32_t;
using Count = std::int64_t;

inline std::size_t words_for(std::size_t bits) { return (bits + 63) / 64; }

class Bits {
 public:
  Bits() = default;
  explicit Bits(std::size_t bits) : words_(words_for(bits), 0) {}

  bool test(std::size_t i) const { return (words_[i >> 6] >> (i & 63)) & 1; }
  void set(std::size_t i) { words_[i >> 6] |= Word{1} << (i & 63); }
  void reset(std::size_t i) { words_[i >> 6] &= ~(Word{1} << (i & 63)); }
  void clear() { words_.assign(words_.size(), 0); }
  const Word* data() const { return words_.data(); }
  Word* data() { return words_.data(); }
  std::size_t words() const { return words_.size(); }
  bool operator==(const Bits&) const = default;

 private:
  std::vector<Word> words_;
};

// One bitset per label, contiguous.
class BitMatrix {
 public:
  BitMatrix() = default;
  BitMatrix(std::size_t sets, std::size_t bits) : stride_(words_for(bits)), words_(sets * stride_, 0) {}

  const Word* operator[](std::size_t set) const { return words_.data() + set * stride_; }
  Word* operator[](std::size_t set) { return words_.data() + set * stride_; }
  bool test(std::size_t set, std::size_t i) const { return ((*this)[set][i >> 6] >> (i & 63)) & 1; }
  void put(std::size_t set, std::size_t i) { (*this)[set][i >> 6] |= Word{1} << (i & 63); }
  std::size_t stride() const { return stride_; }

 private:
  std::size_t stride_ = 0;
  std::vector<Word> words_;
};

template <class Visit>
inline void for_each_bit(Word word, std::size_t base, Visit&& visit) {
  while (word) {
    visit(base + static_cast<std::size_t>(std::countr_zero(word)));
    word &= word - 1;
  }
}

template <class Visit>
inline void for_each_bit(const Bits& bits, Visit&& visit) {
  for (std::size_t w = 0; w < bits.words(); ++w) for_each_bit(bits.data()[w], w * 64, visit);
}

// The rows of a set, ascending.
std::vector<Row> list_rows(const Word* rows, std::size_t words);
inline std::vector<Row> list_rows(const std::vector<Word>& rows) { return list_rows(rows.data(), rows.size()); }
inline std::vector<Row> list_rows(const Bits& rows) { return list_rows(rows.data(), rows.words()); }

// How many rows of `cover` are in `a`, in `b`, and in both.
void count_three(const Word* cover, const Word* a, const Word* b, std::size_t words, Count out[3]);
Count count_bits(const Word* a, std::size_t words);
// How many rows are in `a` and in `b`; with three sets, in `a`, in `b`, and in `c` or (`outside`) not in it.
Count count_common(const Word* a, const Word* b, std::size_t words);
Count count_common(const Word* a, const Word* b, const Word* c, bool outside, std::size_t words);
// out[i] = number of bits in a[0..i), for i = 0..words
void running_counts(const Word* a, std::size_t words, std::uint32_t* out);

}  // namespace polyrule
