// Counts of all labels at once over a short list of rows, by adding bits instead of numbers.
//
// Every row has a record of bits: for each label whether it is unset and present, unset and absent, or set and present. Adding
// up the records of a list column by column (each bit has its own counter, kept in bit planes and carried over like in
// binary addition) costs a few instructions per row and 256 counters. From the counts, the gains (singles.hpp) of every
// literal follow, both for the rows of the list and for the rest of the node.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "bits.hpp"

namespace polyrule {

inline constexpr std::size_t kLanes = 8;

// An array that starts at a cache line.
template <class T>
class LineArray {
 public:
  void resize(std::size_t size) {
    if (size <= size_) return;
    data_.reset(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64})));
    size_ = size;
  }
  T* get() { return data_.get(); }
  const T* get() const { return data_.get(); }

 private:
  struct Release {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Release> data_;
  std::size_t size_ = 0;
};

// Per row: the words of unset present labels, then of unset absent ones, then of set present ones.
class RowRecords {
 public:
  static constexpr std::size_t kMostRows = 65535;  // counters have 16 bits

  bool built() const { return stride_ != 0; }
  std::size_t words() const { return words_; }
  std::size_t stride() const { return stride_; }
  const Word* data() const { return records_.get(); }

  void build(const BitMatrix& truth, const BitMatrix& set, std::size_t rows, std::size_t labels) {
    words_ = words_for(labels);
    stride_ = (3 * words_ + 3) / 4 * 4;
    records_.resize(rows * stride_);
    std::fill(records_.get(), records_.get() + rows * stride_, 0);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t l = 0; l < labels; ++l) {
        const bool present = truth.test(l, i), is_set = set.test(l, i);
        if (!is_set || present) records_.get()[i * stride_ + part(present, is_set) * words_ + l / 64] |= Word{1} << l % 64;
      }
  }

  // An unset label of a row becomes set.
  void set(std::size_t row, std::size_t label, bool present) {
    Word* record = records_.get() + row * stride_;
    const Word bit = Word{1} << label % 64;
    record[part(present, false) * words_ + label / 64] &= ~bit;
    if (present) record[part(true, true) * words_ + label / 64] |= bit;
  }

 private:
  static std::size_t part(bool present, bool is_set) { return is_set ? 2 : present ? 0 : 1; }

  std::size_t words_ = 0, stride_ = 0;
  LineArray<Word> records_;
};

// How many of the listed rows have each bit of their records, for the first `vectors` groups of 256 bits. A row's record
// starts at a multiple of `stride`, itself a multiple of four words.
void tally(const Word* records, std::size_t stride, const std::uint32_t* rows, std::size_t size, std::size_t vectors,
           std::uint16_t* counts);
void tally(const RowRecords& records, const std::uint32_t* rows, std::size_t size, std::size_t vectors,
           std::uint16_t* counts);

// What the gains of all literals are made of at one value (lanes.hpp); by literal value, then by label.
struct TallyGains {
  using Lane = std::int32_t;
  std::size_t size = 0;  // labels, rounded up to whole vectors
  bool exact = true;
  Lane present[2], absent[2], present_set[2], any[2];  // what a row of the list adds
  LineArray<Lane> empty[2], full[2], true_positives[2], reach[2];
};

// What one side of a list offers: whether a literal gains (or, with inexact gains, may gain or tie), and the true positives
// of all labels that tie.
struct TallySide {
  bool gains = false;
  Count ties = 0;
};

// Counts of a list as `tally` gives them, part by part.
struct ListCounts {
  const std::uint16_t *present, *absent, *present_set;
  std::size_t rows;
};

void judge_counts(const ListCounts& list, TallyGains& gains, TallySide* join, TallySide* leave);

}  // namespace polyrule
