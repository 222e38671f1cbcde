// The derivatives of the loss of additive rules with weighted heads, and Newton's steps, label by label.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polyrule {

// Training data of additive rules. Covers: one row of 0 and 1 per rule, the intercept first. Unknown targets are NaN.
struct Problem {
  const std::uint8_t* covers;
  const float* targets;  // [labels][rows]
  const double* weights;
  std::size_t rows;

  const std::uint8_t* cover(std::size_t rule) const { return covers + rule * rows; }
  const float* target(std::int64_t label) const { return targets + static_cast<std::size_t>(label) * rows; }
};

// Weights of some labels, [rules][labels], and their support.
struct Weights {
  const std::int64_t* labels;
  std::size_t size, count;  // rules, labels
  const double* coefficients;
  const bool* support;
};

// Cells of all matrices: per label, one row and column for every rule that may weigh it.
std::size_t matrix_cells(const Weights& weights);

// Derivatives of each label's loss by the weights, [rules][labels].
std::vector<double> logistic_gradients(const Problem& problem, const Weights& weights, double unit, int threads);

// Second derivatives, one matrix after the other.
std::vector<double> logistic_hessians(const Problem& problem, const Weights& weights, double unit, int threads);

// First and second derivatives by every score, in whole units, into [rows][columns]: label k is column k + 1.
void write_gradients_hessians(const Problem& problem, const Weights& weights, double scale, int threads,
                              std::size_t columns, std::int32_t* gradient, std::int32_t* hessian);

// Numbers by rule and label, and which labels' matrices were positive definite.
struct NewtonResult {
  std::vector<double> values;
  std::vector<std::uint8_t> good;
};

// Solve (matrix + penalties) step = gradient for every label, or compute the diagonals of the inverses. Coefficients
// are not used.
NewtonResult newton_steps(const double* matrices, const Weights& weights, const double* penalties,
                          const double* gradient);
NewtonResult inverse_diagonals(const double* matrices, const Weights& weights, const double* penalties);

}  // namespace polyrule
