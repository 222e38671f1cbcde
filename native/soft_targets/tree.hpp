// An extremely randomised tree of a teacher's forest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polyrule {

constexpr std::size_t kCodeWidth = 8;

// What a tree is grown from. `polyrule.soft_targets.forest` holds the same in NumPy, and says what the numbers mean.
struct Ground {
  const float *design, *columns;  // the same twice: [examples][features], [features][examples]
  // Of columns that are mostly one value, that value, and which rows have another; a column without such is looked at
  // row by row.
  const float* modes;
  const std::int64_t* starts;
  const std::int32_t* listed;
  std::size_t features, examples;
  const std::int32_t* rows;     // in the bag, ascending
  const std::int32_t* codes;    // [bag][kCodeWidth]
  const std::int32_t* weights;  // [bag], positive; no sum of codes times weights leaves 32 bits
  std::size_t bag, tried, smallest;
  std::uint64_t seed;
};

// Nodes in the order in which they are made: a left child follows its parent.
struct Nodes {
  std::int32_t* feature;  // -1 for a leaf
  float* cut;             // a value at most as large goes to the left
  std::int32_t* right;    // of a leaf, its number
};

// Returns the number of nodes, less than two for each row of the bag, and sets the leaf of every example.
std::size_t grow_tree(const Ground& ground, const Nodes& nodes, std::int32_t* leaves);

// Sets the leaves of other examples, [examples][features].
void find_leaves(const std::int32_t* feature, const float* cut, const std::int32_t* right, const float* design,
                 std::size_t examples, std::size_t features, std::int32_t* leaves);

}  // namespace polyrule
