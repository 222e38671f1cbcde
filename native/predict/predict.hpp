// Running a rule list over rows: 64 at a time, one bit per row, first writer wins.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bits.hpp"

namespace polyrule {

// A rule list as flat arrays; see FlatRules on the Python side.
struct FlatList {
  const std::uint8_t* kind;
  const std::int32_t* index;  // a place among the used columns, or a label
  const double* value;        // of a set, where it begins in `sets`
  const std::int32_t *body_start, *head_start, *head_label;
  const std::uint8_t *head_value, *stop, *defaults;
  bool full;
  std::size_t rules, labels;
  const std::int32_t* sets;  // per set: the number of categories, and for each whether it belongs to the set
};

// Where the values of the tested columns come from: 64 rows of every used column at a time, as one dense block.
class BlockSource {
 public:
  // Dense, with any distance between rows and columns.
  BlockSource(const double* values, std::int64_t row_step, std::int64_t column_step, std::vector<std::int32_t> used);
  // Sparse by columns, row numbers ascending within a column.
  BlockSource(const double* data, const std::int32_t* indices, const std::int64_t* starts,
              std::vector<std::int32_t> used);

  // Fill block[slot * 64 + i] with the value of row first + i; rows must be asked for in ascending order.
  void load(std::size_t first, std::size_t count, double* block);
  const std::vector<std::int32_t>& used() const { return used_; }

 private:
  const double* values_ = nullptr;
  std::int64_t row_step_ = 0, column_step_ = 0;
  const double* data_ = nullptr;
  const std::int32_t* indices_ = nullptr;
  const std::int64_t* starts_ = nullptr;
  std::vector<std::int64_t> at_;
  std::vector<std::int32_t> used_;
};

// labels and setter are rows x labels; setter holds the number of the rule that set a label, or -1.
void predict(const FlatList& list, BlockSource& source, std::size_t rows, std::uint8_t* labels, std::int32_t* setter);

}  // namespace polyrule
