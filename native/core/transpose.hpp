// From the records of some rows to the rows of a condition.
#pragma once

#include <vector>

#include "core/bits.hpp"

namespace polyrule {

// Bit i of word k and bit k of word i change places.
void transpose(Word* words);

// The rows of each condition, as bits by place among the given records. They are made for 64 conditions at a time, when
// one of them is asked for.
class CoveredRows {
 public:
  // Record i starts at records + i * stride, or with `rows` at records + rows[i] * stride.
  CoveredRows(std::size_t size, const Word* records, std::size_t stride, const Row* rows = nullptr)
      : size_(size), records_(records), stride_(stride), rows_(rows), words_(words_for(size)),
        place_(stride, SIZE_MAX) {}

  std::size_t words() const { return words_; }
  // Valid until conditions of another 64 are asked for.
  const Word* operator[](std::size_t condition) {
    std::size_t& place = place_[condition / 64];
    if (place == SIZE_MAX) {
      place = bits_.size();
      bits_.resize(bits_.size() + 64 * words_);
      add(condition / 64, bits_.data() + place);
    }
    return bits_.data() + place + condition % 64 * words_;
  }

 private:
  void add(std::size_t word, Word* out) const {
    Word block[64];
    for (std::size_t w = 0; w < words_; ++w) {
      for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t at = w * 64 + i;
        block[i] = at < size_ ? records_[(rows_ ? rows_[at] : at) * stride_ + word] : 0;
      }
      transpose(block);
      for (std::size_t i = 0; i < 64; ++i) out[i * words_ + w] = block[i];
    }
  }

  std::size_t size_;
  const Word* records_;
  std::size_t stride_;
  const Row* rows_;
  std::size_t words_;
  std::vector<std::size_t> place_;  // by word of the records, where its 64 conditions are
  std::vector<Word> bits_;
};

}  // namespace polyrule
