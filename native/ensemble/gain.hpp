// The second-order gain of every condition that could extend a body, for additive rules with weighted heads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polyrule {

using Code = std::uint16_t;

// Columns as `polyrule.binning.binned_table.BinnedTable` holds them.
struct Bins {
  const Code* dense;          // [slots][rows]
  const std::int32_t* slot;   // per feature: its row in `dense`, or -1 where only unusual codes are listed
  const std::int32_t* count;  // per feature: number of bins; this code itself means "missing"
  const std::uint8_t* nominal;
  const std::int32_t* usual;  // per listed feature: the code of all rows that are not listed
  const std::int64_t* starts;
  const std::int32_t* listed_rows;
  const Code* listed_codes;
  const std::int8_t* direction;   // per feature: 1 or -1 if scores may only rise or fall with it, else 0
  const std::int32_t* forbidden;  // per feature: the code that no condition may hold for, or -1
  std::size_t rows, features;
};

// Gradients and curvatures in whole units, [rows][labels].
struct Slopes {
  const std::int32_t *gradient, *curvature;  // curvatures are positive
  std::size_t labels;
};

// What is asked: the rows that a condition decides about, the labels that judge it, and how.
struct Asked {
  const std::int32_t* rows;
  std::size_t count;
  const std::int64_t* judges;  // ascending
  std::size_t wide;
  const std::int64_t* features;  // that are searched
  std::size_t chosen;
  const std::int64_t *root, *offset;  // per label: curvature of all rows; [2][labels] of rows that are covered anyway
  double ridge, cost;
  int sign;  // that the weights of the body must have, 0 for any
};

// A feature's best condition; a negative gain where there is none.
struct Best {
  double gain = -1;
  std::int32_t bin = -1;
  std::uint8_t test = 0;  // at most, above, or the category
};

// Per chosen feature the best condition, the first of equals.
std::vector<Best> best_conditions(const Bins& bins, const Slopes& slopes, const Asked& asked, int threads);

}  // namespace polyrule
