// The second-order gain of every condition that could extend a body, for additive rules with weighted heads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polyrule {

using Code = std::uint16_t;

// Columns as `polyrule.binning.binned_table.BinnedTable` stores them.
struct Bins {
  const Code* dense;  // [slots][rows]
  const std::int32_t*
      slot;  // per feature: its row in `dense`, or -1 if the codes other than the most common are listed
  const std::int32_t* count;  // per feature: number of bins; this code itself means "missing"
  const std::uint8_t* nominal;
  const std::int32_t* most_common;  // per listed feature: the code of all rows that are not listed
  const std::int64_t* starts;
  const std::int32_t* listed_rows;
  const Code* listed_codes;
  const std::int8_t* direction;   // per feature: 1 or -1 if scores may only rise or fall with it, else 0
  const std::int32_t* forbidden;  // per feature: the code that no condition may hold for, or -1
  std::size_t rows, features;
};

// Gradients and hessians in whole units, [rows][columns]. The first column counts rows: each has gradient 1, and
// hessian 1 if it is an example of the user, 0 if it is a synthetic one. The others are labels; unknown ones have none.
struct Gradients {
  const std::int32_t *gradient, *hessian;
  std::size_t columns;
};

// A query: the rows that a condition decides about, the labels whose gains it adds, and the parameters of the gain.
struct GainQuery {
  const std::int32_t* rows;
  std::size_t count;
  const std::int64_t* labels;  // columns, ascending, the first one included
  std::size_t wide;
  std::size_t columns;           // of all gradients
  const std::int64_t* features;  // to search
  std::size_t n_features;
  const std::int64_t *root, *offset;  // per column: hessian of all rows; [2][columns] of rows covered in any case
  double ridge, cost;
  int sign;               // required of the weights of the body, 0 for any
  std::int64_t min_rows;  // that a body covers, without synthetic ones
};

// A feature's best condition; a negative gain if there is none.
struct Best {
  double gain = -1;
  std::int32_t bin = -1;
  std::uint8_t test = 0;  // at most, above, or the category
};

// The best condition of each searched feature, the first of equals.
std::vector<Best> best_conditions(const Bins& bins, const Gradients& gradients, const GainQuery& query, int threads);

}  // namespace polyrule
