// The labels of every row as bits: what is unset and present, then what is unset and absent.
#pragma once

#include "core/arrays.hpp"
#include "data/state.hpp"

namespace polyrule {

class Records {
 public:
  explicit Records(const State& state) : words_(words_for(state.labels)), stride_((2 * words_ + 3) / 4 * 4) {
    records_.assign(state.rows * stride_, 0);
    for (std::size_t l = 0; l < state.labels; ++l)
      for (std::size_t i = 0; i < state.rows; ++i)
        if (const int outcome = state.outcome(l, i); outcome == kPresent || outcome == kAbsent)
          word(i, outcome == kAbsent, l) |= Word{1} << l % 64;
  }

  std::size_t words() const { return words_; }
  std::size_t stride() const { return stride_; }
  const Word* data() const { return records_.get(); }
  const Word* row(std::size_t i) const { return records_.get() + i * stride_; }

  // These of the 64 rows from w * 64 on have the label set now.
  void set_label(std::size_t label, std::size_t w, Word rows) {
    for_each_bit(rows, w * 64, [&](std::size_t i) {
      for (const bool absent : {false, true}) word(i, absent, label) &= ~(Word{1} << label % 64);
    });
  }

 private:
  Word& word(std::size_t row, bool absent, std::size_t label) {
    return records_[row * stride_ + absent * words_ + label / 64];
  }

  std::size_t words_, stride_;
  LineArray<Word> records_;
};

}  // namespace polyrule
