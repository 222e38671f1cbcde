// What rules do to rows: a list sets labels, the first writer wins; an ensemble adds weights.
#pragma once

#include "predict/bodies.hpp"

namespace polyrule {

// See FlatRules on the Python side.
struct FlatList {
  Bodies bodies;
  const std::int32_t *head_start, *head_label;
  const std::uint8_t *head_value, *stop, *defaults;
  bool full;
  std::size_t labels;
};

// See FlatWeights on the Python side.
struct FlatWeights {
  Bodies bodies;
  const std::int32_t *head_start, *head_label;
  const double *weight, *intercepts;
  std::size_t labels;
};

// labels and setter are rows x labels; setter holds the number of the rule that set a label, or -1.
void predict(const FlatList& list, BlockSource& source, std::size_t rows, std::uint8_t* labels, std::int32_t* setter);

// scores is rows x labels: the intercept, then the weights of the rules that fire, added in the order of the rules.
void add_weights(const FlatWeights& ensemble, BlockSource& source, std::size_t rows, double* scores);

// covers is rows x rules, 1 where the body holds.
void cover(const Bodies& bodies, BlockSource& source, std::size_t rows, std::uint8_t* covers);

}  // namespace polyrule
