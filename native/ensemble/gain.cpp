// For each feature, the condition that extends a body with the largest gain: sums of fixed-point gradients and
// curvatures per bin, added to those of rows that are covered anyway, then one pass over the bins. What is computed
// from these whole numbers uses the same operations in the same order as the NumPy reference.
#include "ensemble/gain.hpp"

#include <algorithm>
#include <atomic>

#include "core/lanes.hpp"
#include "core/parallel.hpp"
#include "ensemble/sums.hpp"
#include "slopes.h"

namespace polyrule {
namespace {

using namespace polyrule_slopes;

enum Test : std::uint8_t { at_most = 0, above = 1, category = 2 };

// What eight labels are judged by: one over their curvature in all rows, the penalties, and the sign of weights, 0 for
// any.
using Eight = Lanes<double, kEight>;
struct Judges {
  const double* inverse;
  double ridge, cost;
};

// What eight labels gain together.
POLYRULE_INLINE double gain_of(const Eight& g, const Eight& h, const Eight& inverse, const Judges& by, double sign) {
  const Eight none = fill<Eight>(0.0), free = h - h * h * inverse;  // what an intercept cannot take over
  Eight value = g * g / (free + by.ridge) * 0.5 - by.cost;
  value = select(value < none, none, value);
  // Only weights of one sign: a label whose gradient asks for the other gains nothing.
  if (sign != 0) value = select(g * sign < none, value, none);
  alignas(64) double v[kEight];
  store(v, value);
  return sum_of_eight(v);
}

POLYRULE_VECTOR_CLONES void add_categories(const Sum* sums, std::size_t half, const Sum* weight, std::size_t bins,
                                           const Sum* offset, const Judges& by, double sign, double* gains) {
  for (std::size_t i = 0; i < half; i += kEight) {
    const Eight inverse = load<Eight>(by.inverse + i), g = load<Eight>(offset + i), h = load<Eight>(offset + half + i);
    for (std::size_t b = 0; b < bins; ++b) {
      if (!(weight[b] > 0)) continue;
      const Sum* own = sums + b * 2 * half + i;
      gains[2 * b] += gain_of(g + load<Eight>(own), h + load<Eight>(own + half), inverse, by, sign);
    }
  }
}

// Bins without rows are left out: a threshold after them covers the same rows as the one before. Beside `offset`, rows
// up to a threshold are covered, or those above it, which are `known` at first.
POLYRULE_VECTOR_CLONES void add_thresholds(const Sum* sums, std::size_t half, const Sum* weight, std::size_t thresholds,
                                           const Sum* offset, const Sum* known, const Judges& by, double low,
                                           double high, double* gains) {
  for (std::size_t i = 0; i < half; i += kEight) {
    const Eight inverse = load<Eight>(by.inverse + i);
    Eight g = load<Eight>(offset + i), h = load<Eight>(offset + half + i);
    Eight over_g = g + load<Eight>(known + i), over_h = h + load<Eight>(known + half + i);
    for (std::size_t b = 0; b < thresholds; ++b) {
      if (b > 0 && !(weight[b] > 0)) continue;
      const Sum* own = sums + b * 2 * half + i;
      const Eight own_g = load<Eight>(own), own_h = load<Eight>(own + half);
      g += own_g, h += own_h, over_g -= own_g, over_h -= own_h;
      gains[2 * b] += gain_of(g, h, inverse, by, low);
      gains[2 * b + 1] += gain_of(over_g, over_h, inverse, by, high);
    }
  }
}

class Scan {
 public:
  Scan(const Bins& bins, const Asked& asked, std::size_t labels)
      : bins_(bins), asked_(asked), labels_(labels), starts_(1, 0) {
    for (std::size_t i = 0; i < asked.chosen; ++i)
      starts_.push_back(starts_.back() + 2 * static_cast<std::size_t>(bins.count[asked.features[i]]));
    gains_.assign(starts_.back(), 0.0);
    weight_.assign(starts_.back() / 2 + asked.chosen, 0.0);
  }

  // Labels are taken a few at a time: the sums of all bins of a feature then stay in the nearest cache, and memory does
  // not grow with the number of labels. Gains are still added up eight labels after the other.
  static constexpr std::size_t kMost = 256;
  std::size_t block() const {
    std::int32_t most = 1;
    for (std::size_t f = 0; f < bins_.features; ++f) most = std::max(most, bins_.count[f]);
    const std::size_t fits = 4096 / (static_cast<std::size_t>(most) + 1);  // pairs of sums: 32 KB
    return std::clamp<std::size_t>(fits / kEight * kEight, kOneBlock, kMost);
  }

  // Turns to a block of labels, whose sums over all rows that conditions decide about are `total`.
  void turn_to(const Labels& block, const Sum* total) {
    half_ = block.half(), total_ = total, whole_ = total[half_];
    offset_.assign(block.line(), 0.0);
    std::fill_n(inverse_, half_, 0.0);
    for (std::size_t i = 0; i < half_; ++i) {
      offset_[half_ + i] = 1;
      if (i >= block.wide) continue;
      const std::size_t label = static_cast<std::size_t>(block.labels[i]);
      inverse_[i] = 1.0 / static_cast<double>(asked_.root[label]);
      offset_[i] = static_cast<Sum>(asked_.offset[label]);
      offset_[half_ + i] = static_cast<Sum>(asked_.offset[labels_ + label]);
    }
  }

  std::size_t feature(std::size_t i) const { return static_cast<std::size_t>(asked_.features[i]); }

  // Adds what the block of labels gains by each condition on a feature. Rows need not be counted: the curvature of any
  // label is positive in each, so that it tells as well whether there are some, and whether all.
  void add(std::size_t i, const Sum* sums, Desk& desk) {
    const std::size_t f = feature(i), bins = static_cast<std::size_t>(bins_.count[f]);
    for (std::size_t b = 0; b <= bins; ++b) weights(i)[b] = sums[(2 * b + 1) * half_];
    const Judges by{inverse_, asked_.ridge, asked_.cost};
    double* gains = &gains_[starts_[i]];
    if (bins_.nominal[f] != 0)
      return add_categories(sums, half_, weights(i), bins, offset_.get(), by, asked_.sign, gains);
    desk.known.resize(2 * half_);
    Sum* known = desk.known.get();
    for (std::size_t j = 0; j < 2 * half_; ++j) known[j] = total_[j] - sums[bins * 2 * half_ + j];
    const int low = sign_with(asked_.sign, -bins_.direction[f]), high = sign_with(asked_.sign, bins_.direction[f]);
    add_thresholds(sums, half_, weights(i), std::max<std::size_t>(bins, 1) - 1, offset_.get(), known, by, low, high,
                   gains);
  }

  Best best(std::size_t i) const {
    const std::size_t bins = static_cast<std::size_t>(bins_.count[feature(i)]);
    return bins_.nominal[feature(i)] != 0 ? best_category(i, bins) : best_threshold(i, bins);
  }

 private:
  // Curvature of the rows in the bins of a feature.
  Sum* weights(std::size_t i) { return &weight_[starts_[i] / 2 + i]; }
  const Sum* weights(std::size_t i) const { return &weight_[starts_[i] / 2 + i]; }

  Best best_category(std::size_t i, std::size_t bins) const {
    Best best;
    const double* gains = gains_.data() + starts_[i];
    for (std::size_t b = 0; b < bins; ++b) {
      const std::int32_t bin = static_cast<std::int32_t>(b);
      if (gains[2 * b] > best.gain && proper(weights(i)[b]) && bins_.forbidden[feature(i)] != bin)
        best = {gains[2 * b], bin, category};
    }
    return best;
  }

  // Gains are looked at first: whether a condition is a proper one need not be known of those that gain too little.
  Best best_threshold(std::size_t i, std::size_t bins) const {
    Best best;
    const std::size_t f = feature(i);
    const double* gains = gains_.data() + starts_[i];
    const Sum* weight = weights(i);
    const bool low = sign_with(asked_.sign, -bins_.direction[f]) != kForbidden;
    const bool high = sign_with(asked_.sign, bins_.direction[f]) != kForbidden;
    const std::int32_t forbidden = bins_.forbidden[f];
    const Sum known = whole_ - weight[bins];
    Sum below = 0;
    for (std::size_t b = 0; b + 1 < bins; ++b) {
      if (b > 0 && !(weight[b] > 0)) continue;  // the same rows as the threshold before
      below += weight[b];
      const std::int32_t bin = static_cast<std::int32_t>(b);
      if (gains[2 * b] > best.gain && low && (forbidden < 0 || forbidden > bin) && proper(below))
        best = {gains[2 * b], bin, at_most};
      if (gains[2 * b + 1] > best.gain && high && forbidden <= bin && proper(known - below))
        best = {gains[2 * b + 1], bin, above};
    }
    return best;
  }

  bool proper(Sum weight) const { return weight > 0 && weight < whole_; }

  const Bins& bins_;
  const Asked& asked_;
  const std::size_t labels_;
  std::vector<std::size_t> starts_;         // per chosen feature: where its conditions begin, two per bin
  std::vector<double> gains_;               // per condition
  std::vector<Sum> weight_;                 // per feature and bin, missing values among them: of its rows,
  Sum whole_ = 0;                           // and of all
  std::size_t half_ = 0;                    // of the block of labels at hand,
  alignas(64) double inverse_[kMost] = {};  // one over their curvature,
  const Sum* total_ = nullptr;              // the sum of all rows,
  LineArray<Sum> offset_;                   // and of those that are covered anyway
};

}  // namespace

std::vector<Best> best_conditions(const Bins& bins, const Slopes& slopes, const Asked& asked, int threads) {
  Counter counter(bins, slopes, asked.rows, asked.count);
  Scan scan(bins, asked, slopes.labels);
  const std::size_t widest = scan.block();
  const int team = static_cast<int>(std::min(asked.chosen, static_cast<std::size_t>(std::max(1, threads))));
  for (std::size_t label = 0; label < asked.wide; label += widest) {
    const Labels block{asked.judges + label, std::min(widest, asked.wide - label)};
    counter.turn_to(block);
    scan.turn_to(block, counter.total());
    std::atomic<std::size_t> next{0};
    on_threads(team, [&](int) {
      Desk desk;
      for (std::size_t i = next.fetch_add(kFew); i < asked.chosen; i = next.fetch_add(kFew)) {
        desk.features.assign(asked.features + i, asked.features + std::min(i + kFew, asked.chosen));
        counter.count(desk);
        for (std::size_t n = 0; n < desk.features.size(); ++n) scan.add(i + n, desk.sums[n].get(), desk);
      }
    });
  }
  std::vector<Best> best;
  for (std::size_t i = 0; i < asked.chosen; ++i) best.push_back(scan.best(i));
  return best;
}

}  // namespace polyrule
