// Which conditions every row satisfies, as bits, where all columns are kept as lists (lists.hpp).
//
// Every condition that a search may choose has a number, and a row's record has one bit per condition. Adding up the
// records of some rows (tally.hpp) counts those rows for all conditions at once: a literal with few positive rows costs
// little, however many conditions there are. Conditions that cover most rows come first, those on features that cover few
// come last, so that whole vectors of them can be left out where a condition must cover many.
#pragma once

#include <algorithm>
#include <vector>

#include "bits.hpp"
#include "columns.hpp"
#include "tally.hpp"

namespace polyrule {

class Members {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{48} << 20;

  bool built() const { return stride_ != 0; }
  std::size_t size() const { return conditions_.size(); }
  std::size_t stride() const { return stride_; }
  std::size_t vectors() const { return stride_ / 4; }  // of 256 bits
  std::size_t counters() const { return stride_ * 64; }
  const Word* data() const { return records_.get(); }
  const Word* row(std::size_t i) const { return records_.get() + i * stride_; }
  const Condition& operator[](std::size_t condition) const { return conditions_[condition]; }
  bool is_label(std::size_t condition) const {
    return condition >= first_label_ && condition < first_label_ + 2 * labels_;
  }
  // Of a condition on a label; SIZE_MAX if there are none.
  std::size_t number_of(std::size_t label, int value) const {
    return label < labels_ ? first_label_ + (value ? labels_ : 0) + label : SIZE_MAX;
  }
  // The rows of a condition on a feature.
  const Word* rows_of(std::size_t condition) const {
    return features_[condition < first_label_ ? condition : condition - 2 * labels_];
  }

  // `columns` are all kept as lists. Nothing is built where the records would take too much room.
  void build(const Columns& columns, std::size_t rows, const BitMatrix& set, const BitMatrix& ones, std::size_t labels,
             bool label_conditions) {
    std::vector<Listed> listed;  // by condition on a feature
    for (const bool large : {true, false}) {
      for (std::uint32_t j = 0; j < columns.size(); ++j)
        each_value(columns[j], rows, [&](double value, double least, bool is_large, Listed where) {
          if (is_large != large) return;
          conditions_.push_back(condition(columns[j], j, value, least));
          listed.push_back(where);
        });
      if (!large) break;
      first_label_ = conditions_.size();
      labels_ = label_conditions ? labels : 0;
      for (int value = 0; value < 2; ++value)
        for (std::uint32_t l = 0; l < labels_; ++l) conditions_.push_back({Test::label, false, l, double(value)});
    }
    std::size_t stride = (words_for(std::max<std::size_t>(1, conditions_.size())) + 3) / 4 * 4;
    if (stride > 8) stride = (stride + 7) / 8 * 8;  // whole cache lines
    if (rows * stride * sizeof(Word) > kMostBytes) return;
    stride_ = stride;
    features_ = BitMatrix(listed.size(), rows);
    for (std::size_t f = 0; f < listed.size(); ++f)
      fill(features_[f], rows, columns[conditions_[f < first_label_ ? f : f + 2 * labels_].index], listed[f]);
    records_.resize(rows * stride_);
    std::fill(records_.get(), records_.get() + rows * stride_, 0);
    for (std::size_t k = 0; k < conditions_.size(); ++k) {
      if (is_label(k)) continue;
      for (std::size_t w = 0; w < words_for(rows); ++w)
        for_each_bit(rows_of(k)[w], w * 64, [&](std::size_t i) { put(i, k); });
    }
    for (std::size_t l = 0; l < labels_; ++l)
      for (std::size_t w = 0; w < words_for(rows); ++w)
        for_each_bit(set[l][w], w * 64, [&](std::size_t i) { set_label(i, l, ones.test(l, i)); });
  }

  // A row's label has been set.
  void set_label(std::size_t row, std::size_t label, int value) {
    if (label < labels_) put(row, number_of(label, value));
  }

 private:
  void put(std::size_t row, std::size_t condition) {
    records_.get()[row * stride_ + condition / 64] |= Word{1} << condition % 64;
  }

  // Which of a column's listed rows have a value; none of them and none of the missing ones, where it is the block's.
  struct Listed {
    std::size_t first = 0, last = 0;
    bool is_block = false;
  };

  static void fill(Word* bits, std::size_t rows, const Column& column, const Listed& where) {
    const auto flip = [&](Row row) { bits[row / 64] ^= Word{1} << row % 64; };
    if (where.is_block) {
      std::fill(bits, bits + rows / 64, ~Word{0});
      if (rows % 64 != 0) bits[rows / 64] = (Word{1} << rows % 64) - 1;
      for (const Row row : column.missing) flip(row);
    }
    for (std::size_t p = where.first; p < where.last; ++p) flip(column.row_at(p));
  }

  static Condition condition(const Column& column, std::uint32_t index, double value, double least) {
    if (column.nominal) return {Test::category, false, index, value};
    return {value == least ? Test::at_most : Test::above, false, index, least};
  }

  // Visits the values of a column that a condition can ask for: visit(value, least value, whether most rows have it,
  // where they are listed).
  template <class Visit>
  static void each_value(const Column& column, std::size_t rows, Visit&& visit) {
    if (column.rows.empty() && column.missing.empty()) return;  // one value only
    const std::size_t listed = column.rows.size();
    double least = listed > 0 ? column.value_at(0) : column.block;
    if (column.blocked) least = std::min(least, column.block);
    const std::size_t others = listed + column.missing.size();
    if (column.blocked) visit(column.block, least, 2 * others <= rows, Listed{0, listed, true});
    for (std::size_t p = 0, end = 0; p < listed; p = end) {
      while (end < listed && column.value_at(end) == column.value_at(p)) ++end;
      visit(column.value_at(p), least, 2 * (end - p) >= rows, Listed{p, end, false});
    }
  }

  std::size_t first_label_ = 0, labels_ = 0, stride_ = 0;
  std::vector<Condition> conditions_;
  BitMatrix features_;
  LineArray<Word> records_;
};

}  // namespace polyrule
