// The logistic loss of additive rules, label by label. What each row contributes is rounded to a whole number of small
// units before it is added up: sums are then exact in any order, and since exponentials and logarithms are computed
// here from single operations, every processor, compiler and library comes to the same weights. The NumPy reference in
// `polyrule.ensemble.logistic` does the same operations in the same order.
#include "ensemble/logistic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/bits.hpp"
#include "core/parallel.hpp"

namespace polyrule {
namespace {

using Whole = std::int64_t;

constexpr std::size_t kBlock = 512;            // rows at a time: their numbers stay in the nearest cache
constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
constexpr double kLeastCurvature = 1e-9;       // keeps the matrix of a rule without effect regular
constexpr double kFarthest = 690;              // beyond it exp(-x) counts as exp(-690)
constexpr double kFinest = 0x1p44;             // units that a number is rounded to before it is weighed
constexpr double kMostLoss = 60;  // nats of one row: more fits into no sum, and nobody needs to know how bad it is

POLYRULE_INLINE Whole rounded(double value) {
  return std::bit_cast<Whole>(value + kMagic) - std::bit_cast<Whole>(kMagic);
}

// What a row of a weight contributes, in units: rounded before it is multiplied, so that a weight of two is two rows.
class Contribution {
 public:
  explicit Contribution(double unit) : fine_(std::min(unit, kFinest)), coarse_(unit / fine_) {}
  POLYRULE_INLINE Whole operator()(double weight, double value) const {
    return rounded(weight * coarse_ * ((fine_ * value + kMagic) - kMagic));
  }

 private:
  double fine_, coarse_;
};

// exp(-x) for x >= 0 by a power of two and a Taylor series of degree 13: a unit in the last place at most.
POLYRULE_INLINE double falling(double x) {
  const double turned = x * -1.4426950408889634 + kMagic, twos = turned - kMagic;
  const double rest = (-x - twos * 0.6931471803691238) - twos * 1.9082149292705877e-10;
  double sum = 1.6059043836821613e-10;
  sum = sum * rest + 2.08767569878681e-09;
  sum = sum * rest + 2.505210838544172e-08;
  sum = sum * rest + 2.755731922398589e-07;
  sum = sum * rest + 2.7557319223985893e-06;
  sum = sum * rest + 2.48015873015873e-05;
  sum = sum * rest + 0.0001984126984126984;
  sum = sum * rest + 0.001388888888888889;
  sum = sum * rest + 0.008333333333333333;
  sum = sum * rest + 0.041666666666666664;
  sum = sum * rest + 0.16666666666666666;
  sum = sum * rest + 0.5;
  sum = sum * rest + 1.0;
  sum = sum * rest + 1.0;
  const Whole power = std::bit_cast<Whole>(turned) - std::bit_cast<Whole>(kMagic) + 1023;
  return sum * std::bit_cast<double>(power << 52);
}

// log(1 + x) for 0 <= x <= 1, by the series of the inverse hyperbolic tangent.
POLYRULE_INLINE double log_of_one_and(double x) {
  const double z = x / (2.0 + x), square = z * z;
  double sum = 1.0 / 33;
  sum = sum * square + 1.0 / 31;
  sum = sum * square + 1.0 / 29;
  sum = sum * square + 1.0 / 27;
  sum = sum * square + 1.0 / 25;
  sum = sum * square + 1.0 / 23;
  sum = sum * square + 1.0 / 21;
  sum = sum * square + 1.0 / 19;
  sum = sum * square + 1.0 / 17;
  sum = sum * square + 1.0 / 15;
  sum = sum * square + 1.0 / 13;
  sum = sum * square + 1.0 / 11;
  sum = sum * square + 1.0 / 9;
  sum = sum * square + 1.0 / 7;
  sum = sum * square + 1.0 / 5;
  sum = sum * square + 1.0 / 3;
  sum = sum * square + 1.0;
  return 2.0 * z * sum;
}

POLYRULE_VECTOR_CLONES void add_weight(double* __restrict scores, const std::uint8_t* __restrict cover, double weight,
                                       std::size_t rows) {
  const Whole bits = std::bit_cast<Whole>(weight);
  for (std::size_t r = 0; r < rows; ++r) scores[r] += std::bit_cast<double>(bits & -static_cast<Whole>(cover[r]));
}

POLYRULE_VECTOR_CLONES Whole covered_sum(const Whole* __restrict values, const std::uint8_t* __restrict cover,
                                         std::size_t rows) {
  Whole sum = 0;
  for (std::size_t r = 0; r < rows; ++r) sum += values[r] & -static_cast<Whole>(cover[r]);
  return sum;
}

// Two loops: where one knows that a size is the farthest, compilers compute it in advance and give up vectors.
POLYRULE_VECTOR_CLONES void fall(const double* __restrict scores, double* __restrict away, std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) {
    const double size = std::fabs(scores[r]);
    away[r] = size < kFarthest ? size : kFarthest;
  }
  for (std::size_t r = 0; r < rows; ++r) away[r] = falling(away[r]);
}

POLYRULE_VECTOR_CLONES void become_chances(const double* __restrict scores, const double* __restrict away,
                                           double* __restrict chances, std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) chances[r] = (scores[r] >= 0 ? 1.0 : away[r]) / (1.0 + away[r]);
}

POLYRULE_VECTOR_CLONES Whole losses(const double* __restrict scores, const double* __restrict away,
                                    const float* __restrict targets, const double* __restrict weights, double unit,
                                    std::size_t rows) {
  const Contribution contributed(unit);
  Whole sum = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const double score = scores[r], high = score > 0 ? score : 0.0;
    const double loss = high + log_of_one_and(away[r]) - static_cast<double>(targets[r]) * score;
    sum += contributed(weights[r], loss < kMostLoss ? loss : kMostLoss);
  }
  return sum;
}

POLYRULE_VECTOR_CLONES void surpluses(const double* __restrict chances, const float* __restrict targets,
                                      const double* __restrict weights, double unit, Whole* __restrict found,
                                      std::size_t rows) {
  const Contribution contributed(unit);
  for (std::size_t r = 0; r < rows; ++r)
    found[r] = contributed(weights[r], chances[r] - static_cast<double>(targets[r]));
}

POLYRULE_VECTOR_CLONES void bends(const double* __restrict chances, const double* __restrict weights, double unit,
                                  Whole* __restrict found, std::size_t rows) {
  const Contribution contributed(unit);
  for (std::size_t r = 0; r < rows; ++r) found[r] = contributed(weights[r], chances[r] * (1.0 - chances[r]));
}

// One label's numbers for a block of rows.
struct Desk {
  double scores[kBlock], away[kBlock], chances[kBlock];
  Whole first[kBlock], second[kBlock];
};

// Rules that may weigh a label, and their weights.
struct Column {
  std::vector<std::size_t> rules;
  std::vector<double> weights;

  Column(const Weights& given, std::size_t place) {
    for (std::size_t k = 0; k < given.size; ++k)
      if (given.support[k * given.count + place]) {
        rules.push_back(k);
        weights.push_back(given.coefficients[k * given.count + place]);
      }
  }
};

void score(const Problem& problem, const Column& column, std::size_t first, std::size_t rows, Desk& desk) {
  std::fill_n(desk.scores, rows, 0.0);
  for (std::size_t i = 0; i < column.rules.size(); ++i)
    add_weight(desk.scores, problem.cover(column.rules[i]) + first, column.weights[i], rows);
  fall(desk.scores, desk.away, rows);
  become_chances(desk.scores, desk.away, desk.chances, rows);
}

template <class Visit>
void each_block(const Problem& problem, const Column& column, Desk& desk, const Visit& visit) {
  for (std::size_t first = 0; first < problem.rows; first += kBlock) {
    const std::size_t rows = std::min(kBlock, problem.rows - first);
    score(problem, column, first, rows, desk);
    visit(first, rows);
  }
}

// The loss in units, and its derivative by each of the column's weights.
Whole evaluate(const Problem& problem, const Column& column, const float* targets, double unit, Desk& desk,
               std::vector<Whole>& slopes) {
  Whole value = 0;
  slopes.assign(column.rules.size(), 0);
  each_block(problem, column, desk, [&](std::size_t first, std::size_t rows) {
    value += losses(desk.scores, desk.away, targets + first, problem.weights + first, unit / 64, rows);
    surpluses(desk.chances, targets + first, problem.weights + first, unit, desk.first, rows);
    for (std::size_t i = 0; i < slopes.size(); ++i)
      slopes[i] += covered_sum(desk.first, problem.cover(column.rules[i]) + first, rows);
  });
  return value;
}

// The matrix of second derivatives: most rows are covered by few rules, so row by row their pairs are counted.
void bend(const Problem& problem, const Column& column, double unit, Desk& desk, double* matrix) {
  const std::size_t size = column.rules.size();
  std::vector<Whole> sums(size * size, 0);
  std::vector<std::size_t> here(size);
  each_block(problem, column, desk, [&](std::size_t first, std::size_t rows) {
    bends(desk.chances, problem.weights + first, unit, desk.second, rows);
    for (std::size_t r = 0; r < rows; ++r) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < size; ++i) {
        here[count] = i;
        count += problem.cover(column.rules[i])[first + r];
      }
      for (std::size_t a = 0; a < count; ++a) {
        Whole* line = &sums[here[a] * size];
        for (std::size_t b = 0; b <= a; ++b) line[here[b]] += desk.second[r];
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
void invert_diagonal(const double* parts, std::size_t size, double* found) {
  std::vector<double> unit(size);
  for (std::size_t k = 0; k < size; ++k) {
    std::fill(unit.begin(), unit.end(), 0.0);
    unit[k] = 1;
    for (std::size_t j = k; j < size; ++j)
      for (std::size_t i = j + 1; i < size; ++i) unit[i] -= parts[i * size + j] * unit[j];
    found[k] = 0;
    for (std::size_t i = k; i < size; ++i) found[k] += unit[i] * unit[i] / parts[i * size + i];
  }
}

// Runs work(place, parts, rules) for every label whose matrix, penalties added, can be split; tells which could not.
template <class Work>
std::vector<std::uint8_t> each_split(const double* matrix, const Weights& given, const double* penalties,
                                     const Work& work) {
  std::vector<std::uint8_t> good(given.count, 1);
  std::vector<double> parts, column;
  for (std::size_t l = 0; l < given.count; ++l) {
    std::vector<std::size_t> rules;
    for (std::size_t k = 0; k < given.size; ++k)
      if (given.support[k * given.count + l]) rules.push_back(k);
    const std::size_t inside = rules.size();
    parts.assign(matrix, matrix + inside * inside);
    matrix += inside * inside;
    for (std::size_t i = 0; i < inside; ++i) parts[i * inside + i] += penalties[rules[i]] + kLeastCurvature;
    good[l] = split(parts.data(), inside, column);
    if (good[l]) work(l, parts.data(), rules);
  }
  return good;
}

}  // namespace

std::size_t matrix_cells(const Weights& given) {
  std::size_t cells = 0;
  for (std::size_t l = 0; l < given.count; ++l) {
    std::size_t inside = 0;
    for (std::size_t k = 0; k < given.size; ++k) inside += given.support[k * given.count + l];
    cells += inside * inside;
  }
  return cells;
}

void logistic_values(const Problem& problem, const Weights& given, double unit, int threads, double* values,
                     double* slopes) {
  parallel_for(given.count, std::max(1, threads), [&](std::size_t l) {
    const auto desk = std::make_unique<Desk>();
    std::vector<Whole> sums;
    const Column column(given, l);
    values[l] = static_cast<double>(evaluate(problem, column, problem.wanted(given.labels[l]), unit, *desk, sums)) /
                (unit / 64);
    for (std::size_t i = 0; i < sums.size(); ++i)
      slopes[column.rules[i] * given.count + l] = static_cast<double>(sums[i]) / unit;
  });
}

std::vector<double> logistic_curvatures(const Problem& problem, const Weights& given, double unit, int threads) {
  std::vector<Column> columns;
  std::vector<std::size_t> starts(1, 0);
  for (std::size_t l = 0; l < given.count; ++l) {
    columns.emplace_back(given, l);
    starts.push_back(starts.back() + columns.back().rules.size() * columns.back().rules.size());
  }
  std::vector<double> matrices(starts.back());
  parallel_for(given.count, std::max(1, threads), [&](std::size_t l) {
    const auto desk = std::make_unique<Desk>();
    bend(problem, columns[l], unit, *desk, matrices.data() + starts[l]);
  });
  return matrices;
}

void logistic_slopes(const Problem& problem, const Weights& given, double scale, int threads, std::size_t every,
                     std::int32_t* gradient, std::int32_t* curvature) {
  parallel_for(given.count, std::max(1, threads), [&](std::size_t l) {
    const auto desk = std::make_unique<Desk>();
    const Column column(given, l);
    const std::size_t label = static_cast<std::size_t>(given.labels[l]);
    const float* wanted = problem.wanted(given.labels[l]);
    each_block(problem, column, *desk, [&](std::size_t first, std::size_t rows) {
      surpluses(desk->chances, wanted + first, problem.weights + first, scale, desk->first, rows);
      bends(desk->chances, problem.weights + first, scale, desk->second, rows);
      for (std::size_t r = 0; r < rows; ++r) {
        gradient[(first + r) * every + label] = static_cast<std::int32_t>(desk->first[r]);
        curvature[(first + r) * every + label] = static_cast<std::int32_t>(std::max<Whole>(desk->second[r], 1));
      }
    });
  });
}

std::vector<std::uint8_t> newton_steps(const double* matrices, const Weights& given, const double* penalties,
                                       const double* gradient, double* steps) {
  std::vector<double> values;
  return each_split(matrices, given, penalties,
                    [&](std::size_t l, const double* parts, const std::vector<std::size_t>& rules) {
                      values.resize(rules.size());
                      for (std::size_t i = 0; i < rules.size(); ++i) values[i] = gradient[rules[i] * given.count + l];
                      solve(parts, rules.size(), values.data());
                      for (std::size_t i = 0; i < rules.size(); ++i) steps[rules[i] * given.count + l] = values[i];
                    });
}

std::vector<std::uint8_t> inverse_diagonals(const double* matrices, const Weights& given, const double* penalties,
                                            double* found) {
  std::vector<double> values;
  return each_split(matrices, given, penalties,
                    [&](std::size_t l, const double* parts, const std::vector<std::size_t>& rules) {
                      values.resize(rules.size());
                      invert_diagonal(parts, rules.size(), values.data());
                      for (std::size_t i = 0; i < rules.size(); ++i) found[rules[i] * given.count + l] = values[i];
                    });
}

}  // namespace polyrule
