// Which conditions every row satisfies, as bits, where all columns are kept as lists (lists.hpp).
//
// Every condition that a search may choose has a number, in canonical order: so between equally good ones the smaller number
// wins. A row's record has one bit per condition. Adding up the records of some rows (tally.hpp) counts those rows for
// all conditions at once: a literal with few positive rows costs little, however many conditions there are.
#pragma once

#include <algorithm>
#include <vector>

#include "bits.hpp"
#include "columns.hpp"
#include "tally.hpp"

namespace polyrule {

class Members {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  bool built() const { return stride_ != 0; }
  std::size_t size() const { return conditions_.size(); }
  std::size_t stride() const { return stride_; }
  std::size_t vectors() const { return stride_ / 4; }  // of 256 bits
  std::size_t counters() const { return stride_ * 64; }
  const Word* data() const { return records_.get(); }
  const Word* row(std::size_t i) const { return records_.get() + i * stride_; }
  const Condition& operator[](std::size_t condition) const { return conditions_[condition]; }
  bool is_label(std::size_t condition) const { return condition >= first_label_; }
  // The rows of a condition on a feature.
  const Word* rows_of(std::size_t condition) const { return features_[condition]; }

  // `columns` are all kept as lists. Nothing is built where the records would take too much room.
  void build(const Columns& columns, std::size_t rows, const BitMatrix& set, const BitMatrix& ones, std::size_t labels,
             bool label_conditions) {
    for (std::uint32_t j = 0; j < columns.size(); ++j) number_conditions(columns[j], j);
    first_label_ = conditions_.size();
    labels_ = label_conditions ? labels : 0;
    for (std::uint32_t l = 0; l < labels_; ++l)
      for (int value = 0; value < 2; ++value) conditions_.push_back({Test::label, false, l, double(value)});
    const std::size_t stride = (words_for(std::max<std::size_t>(1, conditions_.size())) + 3) / 4 * 4;
    if (rows * stride * sizeof(Word) > kMostBytes) return;
    stride_ = stride;
    features_ = BitMatrix(first_label_, rows);
    std::size_t next = 0;
    for (std::uint32_t j = 0; j < columns.size(); ++j) next += fill_rows(columns[j], rows, next);
    records_.resize(rows * stride_);
    std::fill(records_.get(), records_.get() + rows * stride_, 0);
    const auto each = [&](const Word* bits, auto&& visit) {
      for (std::size_t w = 0; w < words_for(rows); ++w) for_each_bit(bits[w], w * 64, visit);
    };
    for (std::size_t k = 0; k < first_label_; ++k) each(features_[k], [&](std::size_t i) { put(i, k); });
    for (std::size_t l = 0; l < labels_; ++l)
      each(set[l], [&](std::size_t i) { set_label(i, l, ones.test(l, i)); });
  }

  // A row's label has been set.
  void set_label(std::size_t row, std::size_t label, int value) {
    if (label < labels_) put(row, first_label_ + label * 2 + std::size_t(value));
  }

 private:
  void put(std::size_t row, std::size_t condition) {
    records_.get()[row * stride_ + condition / 64] |= Word{1} << condition % 64;
  }

  // The values of a column that a condition can ask for, ascending.
  static std::vector<double> values_of(const Column& column) {
    std::vector<double> values;
    if (column.rows.empty() && column.missing.empty()) return values;  // one value only
    for (std::size_t p = 0; p < column.rows.size(); ++p)
      if (values.empty() || values.back() != column.value_at(p)) values.push_back(column.value_at(p));
    if (column.blocked) values.insert(std::upper_bound(values.begin(), values.end(), column.block), column.block);
    return values;
  }

  void number_conditions(const Column& column, std::uint32_t index) {
    const std::vector<double> values = values_of(column);
    for (const double value : values) {
      if (column.nominal) conditions_.push_back({Test::category, false, index, value});
      else conditions_.push_back({value == values[0] ? Test::at_most : Test::above, false, index, values[0]});
    }
  }

  std::size_t fill_rows(const Column& column, std::size_t rows, std::size_t first) {
    const std::vector<double> values = values_of(column);
    if (values.empty()) return 0;
    std::size_t place = 0;
    for (std::size_t p = 0; p < column.rows.size(); ++p) {
      while (values[place] != column.value_at(p)) ++place;
      features_.put(first + place, column.row_at(p));
    }
    if (column.blocked) {
      Bits others(rows);
      for (std::size_t p = 0; p < column.rows.size(); ++p) others.set(column.row_at(p));
      for (const Row row : column.missing) others.set(row);
      while (place > 0 && values[place] > column.block) --place;
      while (values[place] != column.block) ++place;
      for (std::size_t i = 0; i < rows; ++i)
        if (!others.test(i)) features_.put(first + place, i);
    }
    return values.size();
  }

  std::size_t first_label_ = 0, labels_ = 0, stride_ = 0;
  std::vector<Condition> conditions_;
  BitMatrix features_;
  LineArray<Word> records_;
};

}  // namespace polyrule
