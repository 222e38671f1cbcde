// The logistic loss of additive rules, label by label. Contributions of rows are rounded to whole numbers of small
// units before they are added up: sums are then exact in any order. Exponentials are computed from single operations,
// so that weights are equal on all processors and compilers. The NumPy reference in `polyrule.ensemble.logistic` does
// the same operations in the same order.
#include "boosting/logistic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/bits.hpp"
#include "core/parallel.hpp"
#include "device/gradients.h"

namespace polyrule {
namespace {

using namespace polyrule_gradients;

constexpr std::size_t kBlock = 512;             // rows at a time: their numbers stay in the nearest cache
constexpr std::size_t kEight = 8, kWays = 256;  // rules at a time, and in how many ways eight of them may cover a row
constexpr double kMinHessian = 1e-9;            // keeps the matrix of a rule without effect regular

// Notes which rows a rule covers, by its bit.
POLYRULE_VECTOR_CLONES void note_way(std::uint8_t* __restrict ways, const std::uint8_t* __restrict cover,
                                     std::uint8_t bit, std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) ways[r] = static_cast<std::uint8_t>(ways[r] | (bit & -cover[r]));
}

void add_weights(double* __restrict scores, const std::uint8_t* __restrict ways, const double* __restrict sums,
                 std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) scores[r] += sums[ways[r]];
}

// Rows take turns with two sums, or each would wait for the one before it.
void add_by_way(Whole* __restrict sums, const std::uint8_t* __restrict ways, const Whole* __restrict values,
                std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) sums[r % 2 * kWays + ways[r]] += values[r];
}

// Adds the second half of twice as many sums to the first half, and returns its sum.
POLYRULE_VECTOR_CLONES Whole fold(Whole* __restrict sums, std::size_t half) {
  Whole total = 0;
  for (std::size_t w = 0; w < half; ++w) total += sums[half + w], sums[w] += sums[half + w];
  return total;
}

// Two loops: in one, compilers would treat the largest size separately, and use no vectors.
POLYRULE_VECTOR_CLONES void write_exp_neg(const double* __restrict scores, double* __restrict decay, std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) {
    const double size = std::fabs(scores[r]);
    decay[r] = size < kFarthest ? size : kFarthest;
  }
  for (std::size_t r = 0; r < rows; ++r) decay[r] = exp_neg(decay[r]);
}

POLYRULE_VECTOR_CLONES void write_probabilities(const double* __restrict scores, const double* __restrict decay,
                                                double* __restrict probabilities, std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) probabilities[r] = sigmoid(scores[r], decay[r]);
}

POLYRULE_VECTOR_CLONES void write_gradients(const double* __restrict probabilities, const float* __restrict targets,
                                            const double* __restrict weights, double unit, Whole* __restrict out,
                                            std::size_t rows) {
  const Contribution contributed(unit);
  for (std::size_t r = 0; r < rows; ++r)
    out[r] = contributed(weights[r], gradient_of(probabilities[r], static_cast<double>(targets[r])));
}

POLYRULE_VECTOR_CLONES void write_hessians(const double* __restrict probabilities, const float* __restrict targets,
                                           const double* __restrict weights, double unit, Whole* __restrict out,
                                           std::size_t rows) {
  const Contribution contributed(unit);
  for (std::size_t r = 0; r < rows; ++r)
    out[r] = contributed(weights[r], hessian_of(probabilities[r], static_cast<double>(targets[r])));
}

// Rules that may weigh a label.
std::vector<std::size_t> rules_of(const Weights& weights, std::size_t label) {
  std::vector<std::size_t> rules;
  for (std::size_t k = 0; k < weights.size; ++k)
    if (weights.support[k * weights.count + label]) rules.push_back(k);
  return rules;
}

// Rules that may weigh a label, and the sum of weights of every subset of each eight.
struct Column {
  std::vector<std::size_t> rules;
  std::vector<double> sums;  // [eights][ways]

  Column(const Weights& weights, std::size_t label) : rules(rules_of(weights, label)), sums(eights() * kWays) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::size_t ways = std::size_t{1} << i % kEight;
      double* from = &sums[i / kEight * kWays];
      for (std::size_t w = 0; w < ways; ++w)
        from[ways + w] = from[w] + weights.coefficients[rules[i] * weights.count + label];
    }
  }
  std::size_t eights() const { return (rules.size() + kEight - 1) / kEight; }
};

// One label's numbers for a block of rows.
struct Workspace {
  explicit Workspace(const Column& column) : ways(column.eights() * kBlock) {}
  double scores[kBlock], decay[kBlock], probabilities[kBlock];
  Whole first[kBlock], second[kBlock];
  std::vector<std::uint8_t> ways;  // [eights][kBlock]: which of the rules cover each row
};

void score(const Problem& problem, const Column& column, std::size_t first, std::size_t rows, Workspace& work) {
  std::fill(work.ways.begin(), work.ways.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < column.rules.size(); ++i)
    note_way(&work.ways[i / kEight * kBlock], problem.cover(column.rules[i]) + first,
             static_cast<std::uint8_t>(1u << i % kEight), rows);
  std::fill_n(work.scores, rows, 0.0);
  for (std::size_t e = 0; e < column.eights(); ++e)
    add_weights(work.scores, &work.ways[e * kBlock], &column.sums[e * kWays], rows);
  write_exp_neg(work.scores, work.decay, rows);
}

// Calls visit(first, rows) with the scores of every block of rows.
template <class Visit>
void each_block(const Problem& problem, const Column& column, Workspace& work, const Visit& visit) {
  for (std::size_t first = 0; first < problem.rows; first += kBlock) {
    const std::size_t rows = std::min(kBlock, problem.rows - first);
    score(problem, column, first, rows, work);
    visit(first, rows);
  }
}

// The derivative of the loss by each of the column's weights, in units.
std::vector<Whole> gradient(const Problem& problem, const Column& column, const float* targets, double unit,
                            Workspace& work) {
  std::vector<Whole> sums(column.eights() * 2 * kWays, 0), derivatives(column.rules.size());
  each_block(problem, column, work, [&](std::size_t first, std::size_t rows) {
    write_probabilities(work.scores, work.decay, work.probabilities, rows);
    write_gradients(work.probabilities, targets + first, problem.weights + first, unit, work.first, rows);
    for (std::size_t e = 0; e < column.eights(); ++e)
      add_by_way(&sums[e * 2 * kWays], &work.ways[e * kBlock], work.first, rows);
  });
  for (std::size_t i = column.eights() * kEight; i-- > 0;) {  // the last of an eight first: its ways become the others'
    Whole* eight_sums = &sums[i / kEight * 2 * kWays];
    const std::size_t ways = std::size_t{1} << i % kEight;
    if (2 * ways == kWays) fold(eight_sums, kWays);
    const Whole sum = fold(eight_sums, ways);
    if (i < derivatives.size()) derivatives[i] = sum;
  }
  return derivatives;
}

// The matrix of second derivatives: most rows are covered by few rules, so row by row their pairs are counted.
void hessian(const Problem& problem, const Column& column, const float* targets, double unit, Workspace& work,
             double* matrix) {
  const std::size_t size = column.rules.size();
  std::vector<Whole> sums(size * size, 0);
  std::vector<std::size_t> covering(size);
  each_block(problem, column, work, [&](std::size_t first, std::size_t rows) {
    write_probabilities(work.scores, work.decay, work.probabilities, rows);
    write_hessians(work.probabilities, targets + first, problem.weights + first, unit, work.second, rows);
    for (std::size_t r = 0; r < rows; ++r) {
      std::size_t count = 0;
      for (std::size_t e = 0; e < column.eights(); ++e)
        for (unsigned way = work.ways[e * kBlock + r]; way != 0; way &= way - 1)
          covering[count++] = e * kEight + static_cast<std::size_t>(std::countr_zero(way));
      for (std::size_t a = 0; a < count; ++a) {
        Whole* line = &sums[covering[a] * size];
        for (std::size_t b = 0; b <= a; ++b) line[covering[b]] += work.second[r];
      }
    }
  });
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      matrix[i * size + j] = matrix[j * size + i] = static_cast<double>(sums[i * size + j]) / unit;
}

// Splits a symmetric matrix into lower triangle, diagonal and transposed triangle, in place; false where it is not
// positive definite.
bool split(double* matrix, std::size_t size, std::vector<double>& column) {
  column.resize(size);
  for (std::size_t k = 0; k < size; ++k) {
    const double pivot = matrix[k * size + k];
    if (!(pivot > 0)) return false;
    for (std::size_t i = k + 1; i < size; ++i) column[i] = matrix[i * size + k];
    for (std::size_t i = k + 1; i < size; ++i) {
      const double share = column[i] / pivot;
      for (std::size_t j = k + 1; j <= i; ++j) matrix[i * size + j] -= share * column[j];
      matrix[i * size + k] = share;
    }
  }
  return true;
}

void solve(const double* parts, std::size_t size, double* values) {
  for (std::size_t j = 0; j < size; ++j)
    for (std::size_t i = j + 1; i < size; ++i) values[i] -= parts[i * size + j] * values[j];
  for (std::size_t i = 0; i < size; ++i) values[i] /= parts[i * size + i];
  for (std::size_t j = size; j-- > 0;)
    for (std::size_t i = 0; i < j; ++i) values[i] -= parts[j * size + i] * values[j];
}

// The diagonal of the inverse.
void invert_diagonal(const double* parts, std::size_t size, double* diagonal) {
  std::vector<double> unit(size);
  for (std::size_t k = 0; k < size; ++k) {
    std::fill(unit.begin(), unit.end(), 0.0);
    unit[k] = 1;
    for (std::size_t j = k; j < size; ++j)
      for (std::size_t i = j + 1; i < size; ++i) unit[i] -= parts[i * size + j] * unit[j];
    diagonal[k] = 0;
    for (std::size_t i = k; i < size; ++i) diagonal[k] += unit[i] * unit[i] / parts[i * size + i];
  }
}

// Runs work(parts, size, values) for every label whose matrix, penalties added, can be split. Its values are the
// `gradient` for its rules, if any, and then the results.
template <class Work>
NewtonResult each_split(const double* matrix, const Weights& weights, const double* penalties, const double* gradient,
                        const Work& work) {
  NewtonResult out{std::vector<double>(weights.size * weights.count, 0.0), std::vector<std::uint8_t>(weights.count, 1)};
  std::vector<double> parts, column, values;
  for (std::size_t l = 0; l < weights.count; ++l) {
    const std::vector<std::size_t> rules = rules_of(weights, l);
    const std::size_t inside = rules.size();
    parts.assign(matrix, matrix + inside * inside);
    matrix += inside * inside;
    for (std::size_t i = 0; i < inside; ++i) parts[i * inside + i] += penalties[rules[i]] + kMinHessian;
    out.good[l] = split(parts.data(), inside, column);
    if (!out.good[l]) continue;
    values.resize(inside);
    for (std::size_t i = 0; gradient && i < inside; ++i) values[i] = gradient[rules[i] * weights.count + l];
    work(parts.data(), inside, values.data());
    for (std::size_t i = 0; i < inside; ++i) out.values[rules[i] * weights.count + l] = values[i];
  }
  return out;
}

}  // namespace

std::size_t matrix_cells(const Weights& weights) {
  std::size_t cells = 0;
  for (std::size_t l = 0; l < weights.count; ++l) {
    const std::size_t inside = rules_of(weights, l).size();
    cells += inside * inside;
  }
  return cells;
}

std::vector<double> logistic_gradients(const Problem& problem, const Weights& weights, double unit, int threads) {
  std::vector<double> gradients(weights.size * weights.count, 0.0);
  parallel_for(weights.count, std::max(1, threads), [&](std::size_t l) {
    const Column column(weights, l);
    const auto work = std::make_unique<Workspace>(column);
    const std::vector<Whole> sums = gradient(problem, column, problem.target(weights.labels[l]), unit, *work);
    for (std::size_t i = 0; i < sums.size(); ++i)
      gradients[column.rules[i] * weights.count + l] = static_cast<double>(sums[i]) / unit;
  });
  return gradients;
}

std::vector<double> logistic_hessians(const Problem& problem, const Weights& weights, double unit, int threads) {
  std::vector<Column> columns;
  std::vector<std::size_t> starts(1, 0);
  for (std::size_t l = 0; l < weights.count; ++l) {
    columns.emplace_back(weights, l);
    starts.push_back(starts.back() + columns.back().rules.size() * columns.back().rules.size());
  }
  std::vector<double> matrices(starts.back());
  parallel_for(weights.count, std::max(1, threads), [&](std::size_t l) {
    const auto work = std::make_unique<Workspace>(columns[l]);
    hessian(problem, columns[l], problem.target(weights.labels[l]), unit, *work, matrices.data() + starts[l]);
  });
  return matrices;
}

void write_gradients_hessians(const Problem& problem, const Weights& weights, double scale, int threads,
                              std::size_t columns, std::int32_t* gradient, std::int32_t* hessian) {
  parallel_for(weights.count, std::max(1, threads), [&](std::size_t l) {
    const Column column(weights, l);
    const auto work = std::make_unique<Workspace>(column);
    const std::size_t place = static_cast<std::size_t>(weights.labels[l]) + 1;  // the first column counts rows
    const float* target = problem.target(weights.labels[l]);
    each_block(problem, column, *work, [&](std::size_t first, std::size_t rows) {
      write_probabilities(work->scores, work->decay, work->probabilities, rows);
      write_gradients(work->probabilities, target + first, problem.weights + first, scale, work->first, rows);
      write_hessians(work->probabilities, target + first, problem.weights + first, scale, work->second, rows);
      for (std::size_t r = 0; r < rows; ++r) {
        const Whole min_hessian = target[first + r] == target[first + r];  // a known label has some
        gradient[(first + r) * columns + place] = static_cast<std::int32_t>(work->first[r]);
        hessian[(first + r) * columns + place] = static_cast<std::int32_t>(std::max(work->second[r], min_hessian));
      }
    });
  });
}

NewtonResult newton_steps(const double* matrices, const Weights& weights, const double* penalties,
                          const double* gradient) {
  return each_split(matrices, weights, penalties, gradient, solve);
}

NewtonResult inverse_diagonals(const double* matrices, const Weights& weights, const double* penalties) {
  return each_split(matrices, weights, penalties, nullptr, invert_diagonal);
}

}  // namespace polyrule
