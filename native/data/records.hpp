// The labels of every row as bits: what is unset and present, then what is unset and absent, then what is set and
// present.
#pragma once

#include "core/arrays.hpp"
#include "data/state.hpp"

namespace polyrule {

class Records {
 public:
  explicit Records(const State& state) : words_(words_for(state.labels)), stride_((3 * words_ + 3) / 4 * 4) {
    records_.assign(state.rows * stride_, 0);
    for (std::size_t l = 0; l < state.labels; ++l)
      for (std::size_t w = 0; w < words_for(state.rows); ++w) {
        const Word truth = state.truth[l][w], set = state.set[l][w], known = state.known_word(l, w);
        for (const auto& [part, rows] :
             {std::pair(0, truth & ~set), std::pair(1, ~truth & ~set & known), std::pair(2, truth & set)})
          for_each_bit(rows, w * 64, [&](std::size_t i) {
            if (i < state.rows) word(i, static_cast<std::size_t>(part), l) |= Word{1} << l % 64;
          });
      }
  }

  std::size_t words() const { return words_; }
  std::size_t stride() const { return stride_; }
  const Word* data() const { return records_.get(); }
  const Word* row(std::size_t i) const { return records_.get() + i * stride_; }

  // These of the 64 rows from w * 64 on have the label set now.
  void set_label(const State& state, std::size_t label, std::size_t w, Word rows) {
    const Word bit = Word{1} << label % 64;
    for_each_bit(rows, w * 64, [&](std::size_t i) {
      word(i, 0, label) &= ~bit;
      word(i, 1, label) &= ~bit;
      if (state.truth.test(label, i)) word(i, 2, label) |= bit;
    });
  }

 private:
  Word& word(std::size_t row, std::size_t part, std::size_t label) {
    return records_[row * stride_ + part * words_ + label / 64];
  }

  std::size_t words_, stride_;
  LineArray<Word> records_;
};

}  // namespace polyrule
