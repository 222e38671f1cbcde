// Counting the rows of one block by column, bin, label and outcome, and deciding from the sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/counting.h"

namespace polyrule_count {

// Rows of a block. `truth`, `set` and `value` hold `words` words of 64 labels per row; no weights: every row counts 1.
struct BlockView {
  const void* codes = nullptr;
  bool wide_codes = false;  // two bytes per code instead of one
  std::size_t features = 0, rows = 0, words = 1, labels = 0;
  const std::uint64_t* truth = nullptr;
  const std::uint64_t* set = nullptr;
  const std::uint64_t* value = nullptr;
  const std::int64_t* weights = nullptr;
};

// Adds the `selected` rows to outcomes[bin][label][outcome] and weight[bin], but for the most common outcome of each
// label. Columns are numbered features first, then labels; `starts` says at which bin each of them begins, and the last
// one ends. False where a code is none of its column's bins.
bool count_rows(const BlockView& block, const std::uint32_t* selected, std::size_t n, const std::int32_t* columns,
                const std::int64_t* starts, std::size_t n_columns, const std::uint8_t* modes, std::int64_t* outcomes,
                std::int64_t* weight);

// The counts of a node, column after column, the missing value's bin last in each.
struct NodeView {
  const std::int64_t* outcomes = nullptr;
  const std::int64_t* weight = nullptr;
  const std::int64_t* occurs = nullptr;  // weight of each bin in the working set
  std::size_t labels = 0;
};

struct ColumnView {
  std::int64_t start = 0, end = 0;
  bool numeric = false;
  int own_label = -1;  // of a label column
};

struct Decision {
  bool any = false;
  std::size_t column = 0;  // among the columns given
  std::int64_t bin = 0;
  bool above = false;
};

// The best condition of a node: by value, true positives, and the order in which the columns are given.
Decision decide(const NodeView& node, const std::vector<ColumnView>& columns, const Measure& measure,
                const std::int64_t* total, const std::uint8_t* allowed, std::int64_t min_coverage);

}  // namespace polyrule_count
