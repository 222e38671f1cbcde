// For each feature, the condition that extends a body with the largest gain: sums of fixed-point gradients and hessians
// per bin, added to those of rows that are covered in any case, then one pass over the bins. Real numbers are computed
// from these whole numbers by the same operations in the same order as in the NumPy reference.
#include "boosting/gain.hpp"

#include <algorithm>
#include <atomic>

#include "boosting/sums.hpp"
#include "core/lanes.hpp"
#include "core/parallel.hpp"
#include "device/gradients.h"

namespace polyrule {
namespace {

using namespace polyrule_gradients;

enum Test : std::uint8_t { at_most = 0, above = 1, category = 2 };

using Eight = Lanes<double, kEight>;

// Parameters of the gain of eight labels: one over their hessian in all rows, and the penalties.
struct GainParameters {
  const double* inverse;
  double ridge, cost;
};

// Gain of eight labels.
POLYRULE_INLINE double gain_of(const Eight& g, const Eight& h, const Eight& inverse, const GainParameters& by,
                               double sign) {
  const Eight none = fill<Eight>(0.0), free = h - h * h * inverse;  // without the share of the intercept
  Eight value = g * g / (free + by.ridge) * 0.5 - by.cost;
  value = select(value < none, none, value);
  // Only weights of one sign: a label whose weight would have the other gains nothing.
  if (sign != 0) value = select(g * sign < none, value, none);
  alignas(64) double v[kEight];
  store(v, value);
  return sum_of_eight(v);
}

POLYRULE_VECTOR_CLONES void add_categories(const Sum* sums, std::size_t half, const Sum* weight, std::size_t bins,
                                           const Sum* offset, const GainParameters& by, double sign, double* gains) {
  for (std::size_t i = 0; i < half; i += kEight) {
    const Eight inverse = load<Eight>(by.inverse + i), g = load<Eight>(offset + i), h = load<Eight>(offset + half + i);
    for (std::size_t b = 0; b < bins; ++b) {
      if (!(weight[b] > 0)) continue;
      const Sum* bin_sums = sums + b * 2 * half + i;
      gains[2 * b] += gain_of(g + load<Eight>(bin_sums), h + load<Eight>(bin_sums + half), inverse, by, sign);
    }
  }
}

// Bins without rows are skipped: a threshold after them covers the same rows as the one before. Rows up to a threshold
// are covered beside `offset`, or those above it, which are `known_sums` at first.
POLYRULE_VECTOR_CLONES void add_thresholds(const Sum* sums, std::size_t half, const Sum* weight, std::size_t thresholds,
                                           const Sum* offset, const Sum* known_sums, const GainParameters& by,
                                           double low, double high, double* gains) {
  for (std::size_t i = 0; i < half; i += kEight) {
    const Eight inverse = load<Eight>(by.inverse + i);
    Eight g = load<Eight>(offset + i), h = load<Eight>(offset + half + i);
    Eight over_g = g + load<Eight>(known_sums + i), over_h = h + load<Eight>(known_sums + half + i);
    for (std::size_t b = 0; b < thresholds; ++b) {
      if (b > 0 && !(weight[b] > 0)) continue;
      const Sum* bin_sums = sums + b * 2 * half + i;
      const Eight bin_g = load<Eight>(bin_sums), bin_h = load<Eight>(bin_sums + half);
      g += bin_g, h += bin_h, over_g -= bin_g, over_h -= bin_h;
      gains[2 * b] += gain_of(g, h, inverse, by, low);
      gains[2 * b + 1] += gain_of(over_g, over_h, inverse, by, high);
    }
  }
}

class Scan {
 public:
  Scan(const Bins& bins, const GainQuery& query) : bins_(bins), query_(query), starts_(1, 0) {
    for (std::size_t i = 0; i < query.n_features; ++i)
      starts_.push_back(starts_.back() + 2 * static_cast<std::size_t>(bins.count[query.features[i]]));
    gains_.assign(starts_.back(), 0.0);
    rows_.assign(starts_.back() / 2 + query.n_features, 0.0);
    examples_ = rows_;
  }

  // Few labels at a time: the sums of all bins of a feature then stay in the nearest cache, and memory does not grow
  // with the number of labels. Gains are still added up eight labels after the other.
  static constexpr std::size_t kMost = 256;
  std::size_t block() const {
    std::int32_t max_bins = 1;
    for (std::size_t f = 0; f < bins_.features; ++f) max_bins = std::max(max_bins, bins_.count[f]);
    const std::size_t fits = 4096 / (static_cast<std::size_t>(max_bins) + 1);  // pairs of sums: 32 KB
    return std::clamp<std::size_t>(fits / kEight * kEight, kOneBlock, kMost);
  }

  // Turns to a block of labels; `total` is their sum over all rows that conditions decide about. The first column of
  // the first block counts rows, and gains nothing.
  void turn_to(const Labels& block, const Sum* total) {
    half_ = block.half(), total_ = total, counts_ = block.labels == query_.labels;
    if (counts_) whole_ = total[0], covered_ = static_cast<Sum>(query_.offset[query_.columns]);
    offset_.assign(block.line(), 0.0);
    std::fill_n(inverse_, half_, 0.0);
    for (std::size_t i = 0; i < half_; ++i) {
      offset_[half_ + i] = 1;
      if (i >= block.wide || (counts_ && i == 0)) continue;
      const std::size_t label = static_cast<std::size_t>(block.labels[i]);
      if (query_.root[label] > 0) inverse_[i] = 1.0 / static_cast<double>(query_.root[label]);
      offset_[i] = static_cast<Sum>(query_.offset[label]);
      offset_[half_ + i] = static_cast<Sum>(query_.offset[query_.columns + label]);
    }
  }

  std::size_t feature(std::size_t i) const { return static_cast<std::size_t>(query_.features[i]); }

  // Adds the gain of the block of labels by each condition on a feature.
  void add(std::size_t i, Sum* sums, Workspace& work) {
    const std::size_t f = feature(i), bins = static_cast<std::size_t>(bins_.count[f]);
    if (counts_)
      for (std::size_t b = 0; b <= bins; ++b) {
        Sum* line = sums + 2 * b * half_;
        rows(i)[b] = line[0], examples(i)[b] = line[half_];
        line[0] = line[half_] = 0;
      }
    const GainParameters by{inverse_, query_.ridge, query_.cost};
    double* gains = &gains_[starts_[i]];
    if (bins_.nominal[f] != 0) return add_categories(sums, half_, rows(i), bins, offset_.get(), by, query_.sign, gains);
    work.known_sums.resize(2 * half_);
    Sum* known_sums = work.known_sums.get();
    for (std::size_t j = 0; j < 2 * half_; ++j) known_sums[j] = total_[j] - sums[bins * 2 * half_ + j];
    if (counts_) known_sums[0] = known_sums[half_] = 0;
    const int low = sign_with(query_.sign, -bins_.direction[f]), high = sign_with(query_.sign, bins_.direction[f]);
    add_thresholds(sums, half_, rows(i), std::max<std::size_t>(bins, 1) - 1, offset_.get(), known_sums, by, low, high,
                   gains);
  }

  Best best(std::size_t i) const {
    const std::size_t bins = static_cast<std::size_t>(bins_.count[feature(i)]);
    return bins_.nominal[feature(i)] != 0 ? best_category(i, bins) : best_threshold(i, bins);
  }

 private:
  // Rows, and examples among them, in the bins of a feature.
  Sum* rows(std::size_t i) { return &rows_[starts_[i] / 2 + i]; }
  Sum* examples(std::size_t i) { return &examples_[starts_[i] / 2 + i]; }
  const Sum* rows(std::size_t i) const { return &rows_[starts_[i] / 2 + i]; }
  const Sum* examples(std::size_t i) const { return &examples_[starts_[i] / 2 + i]; }

  Best best_category(std::size_t i, std::size_t bins) const {
    Best best;
    const double* gains = gains_.data() + starts_[i];
    for (std::size_t b = 0; b < bins; ++b) {
      const std::int32_t bin = static_cast<std::int32_t>(b);
      if (gains[2 * b] > best.gain && proper(rows(i)[b], examples(i)[b]) && bins_.forbidden[feature(i)] != bin)
        best = {gains[2 * b], bin, category};
    }
    return best;
  }

  // Gains are compared first: they exclude most conditions.
  Best best_threshold(std::size_t i, std::size_t bins) const {
    Best best;
    const std::size_t f = feature(i);
    const double* gains = gains_.data() + starts_[i];
    const Sum *rows = this->rows(i), *examples = this->examples(i);
    const bool low = sign_with(query_.sign, -bins_.direction[f]) != kForbidden;
    const bool high = sign_with(query_.sign, bins_.direction[f]) != kForbidden;
    const std::int32_t forbidden = bins_.forbidden[f];
    Sum known_rows = 0, known_examples = 0, below = 0, below_examples = 0;
    for (std::size_t b = 0; b < bins; ++b) known_rows += rows[b], known_examples += examples[b];
    for (std::size_t b = 0; b + 1 < bins; ++b) {
      if (b > 0 && !(rows[b] > 0)) continue;  // the same rows as the threshold before
      below += rows[b], below_examples += examples[b];
      const std::int32_t bin = static_cast<std::int32_t>(b);
      if (gains[2 * b] > best.gain && low && (forbidden < 0 || forbidden > bin) && proper(below, below_examples))
        best = {gains[2 * b], bin, at_most};
      if (gains[2 * b + 1] > best.gain && high && forbidden <= bin &&
          proper(known_rows - below, known_examples - below_examples))
        best = {gains[2 * b + 1], bin, above};
    }
    return best;
  }

  bool proper(Sum rows, Sum examples) const {
    return rows > 0 && rows < whole_ && examples + covered_ >= static_cast<Sum>(query_.min_rows);
  }

  const Bins& bins_;
  const GainQuery& query_;
  std::vector<std::size_t> starts_;         // per searched feature: place of its first condition, two per bin
  std::vector<double> gains_;               // per condition
  std::vector<Sum> rows_, examples_;        // per feature and bin, missing values included
  Sum whole_ = 0, covered_ = 0;             // all rows; examples that are covered in any case
  bool counts_ = false;                     // the first column of the current block counts rows
  std::size_t half_ = 0;                    // of the current block,
  alignas(64) double inverse_[kMost] = {};  // one over the hessian of its labels,
  const Sum* total_ = nullptr;              // the sum of all rows,
  LineArray<Sum> offset_;                   // and of those that are covered in any case
};

}  // namespace

std::vector<Best> best_conditions(const Bins& bins, const Gradients& gradients, const GainQuery& query, int threads) {
  Counter counter(bins, gradients, query.rows, query.count);
  Scan scan(bins, query);
  const std::size_t widest = scan.block();
  const int team = static_cast<int>(std::min(query.n_features, static_cast<std::size_t>(std::max(1, threads))));
  for (std::size_t label = 0; label < query.wide; label += widest) {
    const Labels block{query.labels + label, std::min(widest, query.wide - label)};
    counter.turn_to(block);
    scan.turn_to(block, counter.total());
    std::atomic<std::size_t> next{0};
    on_threads(team, [&](int) {
      Workspace work;
      for (std::size_t i = next.fetch_add(kFew); i < query.n_features; i = next.fetch_add(kFew)) {
        work.features.assign(query.features + i, query.features + std::min(i + kFew, query.n_features));
        counter.count(work);
        for (std::size_t n = 0; n < work.features.size(); ++n) scan.add(i + n, work.sums[n].get(), work);
      }
    });
  }
  std::vector<Best> best;
  for (std::size_t i = 0; i < query.n_features; ++i) best.push_back(scan.best(i));
  return best;
}

}  // namespace polyrule
