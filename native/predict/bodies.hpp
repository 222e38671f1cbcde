// Bodies of rules over rows, 64 rows at a time, one bit per row: the same for rule lists and for ensembles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/bits.hpp"
#include "predict/kinds.h"

namespace polyrule {

// The bodies of rules as plain arrays; see PackedBodies on the Python side.
struct Bodies {
  const std::uint8_t* kind;
  const std::int32_t* index;  // a place among the used columns, or a label; of a group, how many members follow it
  const double* value;        // of a set, where it begins in `sets`; of a group, how many members must hold
  const std::int32_t* start;
  const std::int32_t* sets;  // per set: the number of categories, and for each whether it belongs to the set
  std::size_t rules;
};

// What the bodies are asked about: 64 rows of every used column, and the labels set so far, where there are any.
struct Block {
  const double* values;
  const Word* set = nullptr;
  const Word* ones = nullptr;
};

// Those of `rows` that satisfy one test, those on which enough members of a group hold, and those that satisfy all
// tests of a rule's body.
Word passing(const Bodies& bodies, std::size_t test, const Block& block, Word rows);
Word passing_group(const Bodies& bodies, std::size_t group, const Block& block, Word rows);
inline Word fired(const Bodies& bodies, std::size_t rule, const Block& block, Word rows) {
  const auto end = static_cast<std::size_t>(bodies.start[rule + 1]);
  for (auto test = static_cast<std::size_t>(bodies.start[rule]); test < end && rows; ++test) {
    if (bodies.kind[test] != kGroup) {
      rows = passing(bodies, test, block, rows);
    } else {
      rows = passing_group(bodies, test, block, rows);
      test += static_cast<std::size_t>(bodies.index[test]);
    }
  }
  return rows;
}

// Where the values of the tested columns come from: 64 rows of every used column at a time, as one dense block.
class BlockSource {
 public:
  // Dense, with any distance between rows and columns.
  BlockSource(const double* values, std::int64_t row_step, std::int64_t column_step, std::vector<std::int32_t> used);
  // Sparse by columns, row numbers ascending within a column.
  BlockSource(const double* data, const std::int32_t* indices, const std::int64_t* starts,
              std::vector<std::int32_t> used);

  // Call visit(first row, number of rows, their values, their bits) for every block of rows, in ascending order.
  template <class Visit>
  void for_each(std::size_t rows, Visit&& visit) {
    std::vector<double> block(std::max<std::size_t>(1, used_.size()) * 64, 0.0);
    for (std::size_t first = 0; first < rows; first += 64) {
      const std::size_t count = std::min<std::size_t>(64, rows - first);
      load(first, count, block.data());
      visit(first, count, block.data(), count == 64 ? ~Word{0} : (Word{1} << count) - 1);
    }
  }

 private:
  // Fill block[slot * 64 + i] with the value of row first + i.
  void load(std::size_t first, std::size_t count, double* block);

  const double* values_ = nullptr;
  std::int64_t row_step_ = 0, column_step_ = 0;
  const double* data_ = nullptr;
  const std::int32_t* indices_ = nullptr;
  const std::int64_t* starts_ = nullptr;
  std::vector<std::int64_t> at_;
  std::vector<std::int32_t> used_;
};

}  // namespace polyrule
