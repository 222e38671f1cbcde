// For each feature, the condition that extends a body with the largest gain: sums of fixed-point gradients and
// curvatures per bin, added to those of rows that are covered anyway, then one pass over the bins. All sums are whole
// numbers below 2^53, so neither threads nor the order of rows can change them; what is computed from them uses the
// same operations in the same order as the NumPy reference.
#include "ensemble/gain.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "core/arrays.hpp"
#include "core/bits.hpp"
#include "core/lanes.hpp"
#include "core/parallel.hpp"
#include "slopes.h"

namespace polyrule {
namespace {

using namespace polyrule_slopes;

using Sum = double;                               // whole numbers
using Part = std::int32_t;                        // sums of so few rows that they fit
constexpr std::size_t kEight = 8, kSixteen = 16;  // labels are added up eight at a time, each with two slopes

enum Test : std::uint8_t { at_most = 0, above = 1, category = 2 };

// The loops that take the time, compiled for several processors. Whole numbers and single operations: no version can
// come to other results. All lengths are multiples of eight, those of pairs of sums multiples of sixteen.
POLYRULE_VECTOR_CLONES void add_to(Sum* __restrict to, const Sum* __restrict from, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] += from[j];
}

// Eight at a time: where that is the widest vector there is, wider ones go through memory once more.
POLYRULE_INLINE void add_sixteen(Part* to, const Part* from) {
  using Eight = Lanes<Part, kEight>;
  store(to, load<Eight>(to) + load<Eight>(from));
  store(to + kEight, load<Eight>(to + kEight) + load<Eight>(from + kEight));
}

POLYRULE_VECTOR_CLONES void add_rows(Part* __restrict histogram, const Code* codes, const std::int32_t* row,
                                     const Part* __restrict sums, std::size_t rows, std::size_t stride) {
  for (std::size_t k = 0; k < rows; ++k) {
    Part* __restrict to = histogram + codes[row[k]] * stride;
    const Part* __restrict from = sums + k * stride;
    for (std::size_t j = 0; j < stride; j += kSixteen) add_sixteen(to + j, from + j);
  }
}

POLYRULE_VECTOR_CLONES void add_listed(Part* __restrict histogram, const Code* code, const std::int32_t* place,
                                       const Part* __restrict sums, std::size_t entries, std::size_t stride) {
  for (std::size_t e = 0; e < entries; ++e) {
    Part* __restrict to = histogram + code[e] * stride;
    const Part* __restrict from = sums + static_cast<std::size_t>(place[e]) * stride;
    for (std::size_t j = 0; j < stride; j += kSixteen) add_sixteen(to + j, from + j);
  }
}

// Moves what was added up to where there is room for more.
POLYRULE_VECTOR_CLONES void widen(Sum* __restrict to, Part* __restrict from, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] += from[j], from[j] = 0;
}

POLYRULE_VECTOR_CLONES void take_from(Sum* __restrict away, const Sum* __restrict what, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) away[j] -= what[j];
}

POLYRULE_VECTOR_CLONES void move(Sum* __restrict to, Sum* __restrict away, const Sum* __restrict what,
                                 std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] += what[j], away[j] -= what[j];
}

POLYRULE_VECTOR_CLONES void values(const Sum* __restrict g, const Sum* __restrict h, const double* __restrict inverse,
                                   std::size_t count, double ridge, double cost, double* __restrict value) {
  for (std::size_t i = 0; i < count; ++i) value[i] = gain_of(g[i], h[i], inverse[i], ridge, cost);
}

POLYRULE_VECTOR_CLONES void keep_sign(const Sum* __restrict g, std::size_t count, double sign,
                                      double* __restrict value) {
  for (std::size_t i = 0; i < count; ++i) value[i] = signed_gain(value[i], g[i], sign);
}

// Eight labels of remembered gains, `apart` from label to label, of many conditions: in the order of `sum_of_eight`.
POLYRULE_VECTOR_CLONES void add_eight(double* __restrict to, const double* __restrict from, std::size_t apart,
                                      std::size_t count) {
  const double *a = from, *b = a + apart, *c = b + apart, *d = c + apart;
  const double *e = d + apart, *f = e + apart, *g = f + apart, *h = g + apart;
  for (std::size_t j = 0; j < count; ++j) to[j] += ((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j]));
}

POLYRULE_VECTOR_CLONES void add_row(std::int64_t* __restrict to, const std::int32_t* __restrict from,
                                    std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] += from[j];
}

// What one thread works with, feature after feature. Where a row of sums begins, a cache line does.
struct Desk {
  LineArray<Part> part;
  LineArray<Sum> histogram, running;
  std::vector<Sum> weight;          // per bin, of its rows: see `Scan::add`
  std::vector<std::int32_t> place;  // of listed rows that are looked at ...
  std::vector<Code> code;           // ... and their codes
};

std::size_t in_eights(std::size_t count) { return (count + kEight - 1) / kEight * kEight; }

class Scan {
 public:
  Scan(const Bins& bins, const Slopes& slopes, const Asked& asked, Memory* memory)
      : bins_(bins), slopes_(slopes), asked_(asked), memory_(memory), count_(asked.count),
        starts_(bins.features + 1, 0), whole_(static_cast<Sum>(asked.count)) {
    bool listed = false;
    for (std::size_t f = 0; f < bins.features; ++f) {
      starts_[f + 1] = starts_[f] + 2 * static_cast<std::size_t>(bins.count[f]);
      listed = listed || bins.slot[f] < 0;
    }
    if (listed) {
      place_.assign(bins.rows, -1);
      for (std::size_t k = 0; k < count_; ++k)
        place_[static_cast<std::size_t>(asked.rows[k])] = static_cast<std::int32_t>(k);
    }
    gains_.assign(starts_.back(), 0.0);
    weight_.assign(starts_.back() / 2 + bins.features, 0.0);
  }

  // Labels are taken a few at a time: the sums of all bins of a feature then stay in the nearest cache, and memory does
  // not grow with the number of labels. Gains are still added up eight labels after the other.
  static constexpr std::size_t kMost = 256;
  std::size_t block() const {
    std::int32_t most = 1;
    for (std::size_t f = 0; f < bins_.features; ++f) most = std::max(most, bins_.count[f]);
    const std::size_t fits = 4096 / (static_cast<std::size_t>(most) + 1);  // pairs of sums: 32 KB
    return std::clamp<std::size_t>(fits / kEight * kEight, 32, kMost);
  }

  std::size_t conditions() const { return starts_.back(); }

  // Copies the gradients and curvatures of a block of labels, example after example, each filled up to a multiple of
  // eight with labels that gain nothing.
  void turn_to(const std::int64_t* block, std::size_t wide) {
    block_ = block, wide_ = wide, half_ = in_eights(wide);
    const std::size_t stride = 2 * half_;
    offset_.assign(stride, 0.0);
    std::fill_n(inverse_, half_, 0.0);
    for (std::size_t i = 0; i < half_; ++i) {
      offset_[half_ + i] = 1;
      if (i >= wide) continue;
      const std::size_t label = static_cast<std::size_t>(block[i]);
      inverse_[i] = 1.0 / static_cast<double>(asked_.root[label]);
      offset_[i] = static_cast<Sum>(asked_.offset[label]);
      offset_[half_ + i] = static_cast<Sum>(asked_.offset[slopes_.labels + label]);
    }
    sums_.assign(count_ * stride, 0);
    std::uint32_t bits = 1;
    Part* to = sums_.get();
    for (std::size_t k = 0; k < count_; ++k, to += stride) {
      const std::size_t from = static_cast<std::size_t>(asked_.rows[k]) * slopes_.labels;
      for (std::size_t i = 0; i < wide; ++i) {
        const Part g = slopes_.gradient[from + static_cast<std::size_t>(block[i])];
        const Part h = slopes_.curvature[from + static_cast<std::size_t>(block[i])];
        to[i] = g, to[half_ + i] = h;
        bits |= static_cast<std::uint32_t>(g < 0 ? -g : g) | static_cast<std::uint32_t>(h);
      }
    }
    // So many rows fit into a sum of 32 bits: each is below the next power of two.
    together_ = std::size_t{1} << std::max(0, 31 - static_cast<int>(std::bit_width(bits)));
    total_.assign(stride, 0.0);
    LineArray<Part> part;
    part.assign(stride, 0);
    for (std::size_t first = 0; first < count_; first += together_) {
      const std::size_t some = std::min(together_, count_ - first);
      for (std::size_t k = first; k < first + some; ++k)
        for (std::size_t j = 0; j < stride; ++j) part[j] += sums_[k * stride + j];
      widen(total_.get(), part.get(), stride);
    }
    whole_ = total_[half_];
  }

  // Adds, or remembers, what the block of labels gains by each condition on a feature. Rows need not be counted: the
  // curvature of any label is positive in each, so that it tells as well whether there are some, and whether all.
  void add(std::size_t f, Desk& desk) {
    const std::size_t bins = static_cast<std::size_t>(bins_.count[f]);
    fill(f, bins, desk);
    for (std::size_t b = 0; b <= bins; ++b) desk.weight[b] = desk.histogram[(2 * b + 1) * half_];
    std::copy(desk.weight.begin(), desk.weight.end(), weight_.begin() + weights_at(f));
    bins_.nominal[f] != 0 ? add_categories(f, bins, desk, starts_[f]) : add_thresholds(f, bins, desk, starts_[f]);
  }

  // Only counts the rows in the bins of a feature.
  void count(std::size_t f, Desk& desk) {
    Sum* found = &weight_[static_cast<std::size_t>(weights_at(f))];
    if (bins_.slot[f] >= 0) {
      const Code* codes = codes_of(f);
      for (std::size_t k = 0; k < count_; ++k) ++found[codes[asked_.rows[k]]];
      return;
    }
    look_up(f, desk);
    for (const Code code : desk.code) ++found[code];
    found[static_cast<std::size_t>(bins_.usual[f])] += static_cast<Sum>(count_ - desk.place.size());
  }

  // Adds up the remembered gains of all labels for each condition on a feature.
  void recall(std::size_t f) {
    for (std::size_t l = 0; l < slopes_.labels; l += kEight)
      add_eight(&gains_[starts_[f]], &memory_->gains[l * conditions() + starts_[f]], conditions(),
                starts_[f + 1] - starts_[f]);
  }

  Best best(std::size_t f, Desk& desk) const {
    const std::size_t bins = static_cast<std::size_t>(bins_.count[f]);
    desk.weight.assign(weight_.begin() + weights_at(f), weight_.begin() + weights_at(f + 1));
    const double* gains = gains_.data() + starts_[f];
    return bins_.nominal[f] != 0 ? best_category(f, bins, desk, gains) : best_threshold(f, bins, desk, gains);
  }

 private:
  std::ptrdiff_t weights_at(std::size_t f) const { return static_cast<std::ptrdiff_t>(starts_[f] / 2 + f); }
  const Code* codes_of(std::size_t f) const {
    return bins_.dense + static_cast<std::size_t>(bins_.slot[f]) * bins_.rows;
  }

  // Which of the rows are listed, and in which bin they are.
  void look_up(std::size_t f, Desk& desk) const {
    desk.place.clear();
    desk.code.clear();
    for (std::int64_t e = bins_.starts[f]; e < bins_.starts[f + 1]; ++e) {
      const std::int32_t k = place_[static_cast<std::size_t>(bins_.listed_rows[e])];
      if (k < 0) continue;
      desk.place.push_back(k);
      desk.code.push_back(bins_.listed_codes[e]);
    }
  }

  void fill(std::size_t f, std::size_t bins, Desk& desk) const {
    const std::size_t stride = 2 * half_, cells = (bins + 1) * stride;
    const bool listed = bins_.slot[f] < 0;
    if (listed) look_up(f, desk);
    const std::size_t entries = listed ? desk.place.size() : count_;
    desk.histogram.assign(cells, 0.0);
    desk.weight.resize(bins + 1);
    desk.part.assign(cells, 0);
    Sum* histogram = desk.histogram.get();
    for (std::size_t first = 0; first < entries; first += together_) {
      const std::size_t some = std::min(together_, entries - first);
      Part* part = desk.part.get();
      if (listed) add_listed(part, desk.code.data() + first, desk.place.data() + first, sums_.get(), some, stride);
      else add_rows(part, codes_of(f), asked_.rows + first, sums_.get() + first * stride, some, stride);
      widen(histogram, part, cells);
    }
    if (!listed) return;
    // What is left of the total; sums are whole numbers, so that nothing is lost.
    Sum* usual = histogram + static_cast<std::size_t>(bins_.usual[f]) * stride;
    add_to(usual, total_.get(), stride);
    for (std::size_t b = 0; b <= bins; ++b)
      if (b != static_cast<std::size_t>(bins_.usual[f]) && histogram[b * stride + half_] > 0)
        take_from(usual, histogram + b * stride, stride);
  }

  void add_categories(std::size_t f, std::size_t bins, Desk& desk, std::size_t start) {
    for (std::size_t b = 0; b < bins; ++b) {
      if (!offered(f, b, desk)) continue;
      Sum* sums = &desk.histogram[b * 2 * half_];
      add_to(sums, offset_.get(), 2 * half_);
      add_gain(sums, start + 2 * b, asked_.sign);
    }
  }

  void add_thresholds(std::size_t f, std::size_t bins, Desk& desk, std::size_t start) {
    const std::size_t stride = 2 * half_;
    desk.running.resize(2 * stride);
    Sum *below = desk.running.get(), *over = below + stride;
    const Sum* missing = &desk.histogram[bins * stride];
    for (std::size_t j = 0; j < stride; ++j) below[j] = offset_[j], over[j] = offset_[j] + total_[j] - missing[j];
    const int low = sign_with(asked_.sign, -bins_.direction[f]), high = sign_with(asked_.sign, bins_.direction[f]);
    each_threshold(f, bins, desk, [&](std::size_t b, bool fresh, bool at_most_holds, bool above_holds) {
      if (!fresh) return;
      move(below, over, &desk.histogram[b * stride], stride);
      if (at_most_holds) add_gain(below, start + 2 * b, low);
      if (above_holds) add_gain(over, start + 2 * b + 1, high);
    });
  }

  // Calls visit(bin, whether it has rows of its own, whether each direction is a proper condition).
  template <class Visit>
  void each_threshold(std::size_t f, std::size_t bins, const Desk& desk, const Visit& visit) const {
    const bool low = sign_with(asked_.sign, -bins_.direction[f]) != kForbidden;
    const bool high = sign_with(asked_.sign, bins_.direction[f]) != kForbidden;
    const std::int32_t forbidden = bins_.forbidden[f];
    Sum below = 0, over = whole_ - desk.weight[bins];
    for (std::size_t b = 0; b + 1 < bins; ++b) {
      below += desk.weight[b], over -= desk.weight[b];
      const bool fresh = b == 0 || desk.weight[b] > 0;  // otherwise the same rows as the threshold before
      const bool forbidden_below = forbidden >= 0 && static_cast<std::size_t>(forbidden) <= b;
      const bool forbidden_over = forbidden >= 0 && !forbidden_below;
      visit(b, fresh, low && fresh && !forbidden_below && proper(below),
            high && fresh && !forbidden_over && proper(over));
    }
  }

  Best best_category(std::size_t f, std::size_t bins, const Desk& desk, const double* gains) const {
    Best best;
    for (std::size_t b = 0; b < bins; ++b)
      if (offered(f, b, desk)) best.offer(gains[2 * b], static_cast<std::int32_t>(b), category);
    return best;
  }

  Best best_threshold(std::size_t f, std::size_t bins, const Desk& desk, const double* gains) const {
    Best best;
    each_threshold(f, bins, desk, [&](std::size_t b, bool, bool at_most_holds, bool above_holds) {
      if (at_most_holds) best.offer(gains[2 * b], static_cast<std::int32_t>(b), at_most);
      if (above_holds) best.offer(gains[2 * b + 1], static_cast<std::int32_t>(b), above);
    });
    return best;
  }

  bool offered(std::size_t f, std::size_t category, const Desk& desk) const {
    return proper(desk.weight[category]) && bins_.forbidden[f] != static_cast<std::int32_t>(category);
  }

  bool proper(Sum weight) const { return weight > 0 && weight < whole_; }

  void add_gain(const Sum* sums, std::size_t condition, int sign) {
    alignas(64) double value[kMost];
    values(sums, sums + half_, inverse_, half_, asked_.ridge, asked_.cost, value);
    if (sign != 0) keep_sign(sums, half_, sign, value);
    if (memory_) return remember(value, condition);
    for (std::size_t i = 0; i < half_; i += kEight) gains_[condition] += sum_of_eight(value + i);
  }

  void remember(const double* value, std::size_t condition) {
    for (std::size_t i = 0; i < wide_; ++i)
      memory_->gains[static_cast<std::size_t>(block_[i]) * conditions() + condition] = value[i];
  }

  const Bins bins_;
  const Slopes slopes_;
  const Asked asked_;
  Memory* memory_;  // where gains of single labels are kept, or nullptr
  const std::size_t count_;
  std::vector<std::size_t> starts_;  // per feature: where its conditions begin, two per bin
  std::vector<std::int32_t> place_;  // per example: where it is among the chosen ones, or -1
  std::vector<double> gains_;        // per condition
  std::vector<Sum> weight_;          // per feature and bin, missing values among them: of its rows,
  Sum whole_;                        // and of all
  const std::int64_t* block_ = nullptr;
  std::size_t wide_ = 0, half_ = 0;         // the block of labels at hand, filled up to eights,
  alignas(64) double inverse_[kMost] = {};  // one over their curvature,
  LineArray<Part> sums_;                    // gradients and curvatures of every chosen example,
  LineArray<Sum> total_, offset_;           // their sum, and those of rows that are covered anyway
  std::size_t together_ = 1;                // rows whose sums fit into 32 bits
};

}  // namespace

std::vector<std::int64_t> Memory::renew(const std::int64_t* now, std::size_t labels, std::size_t conditions,
                                        double new_ridge, double new_cost) {
  const std::size_t cells = in_eights(labels) * conditions;
  if (versions.size() != labels || gains.size() != cells || ridge != new_ridge || cost != new_cost) {
    gains.assign(cells, 0.0);
    versions.assign(labels, -1);
    ridge = new_ridge, cost = new_cost;
  }
  std::vector<std::int64_t> stale;
  for (std::size_t l = 0; l < labels; ++l)
    if (versions[l] != now[l]) {
      versions[l] = now[l];
      stale.push_back(static_cast<std::int64_t>(l));
    }
  return stale;
}

std::vector<Best> best_conditions(const Bins& bins, const Slopes& slopes, const Asked& asked, Memory* memory,
                                  const std::int64_t* versions, int threads) {
  Scan scan(bins, slopes, asked, memory);
  std::vector<std::int64_t> wanted(asked.judges, asked.judges + asked.wide);
  if (memory) wanted = memory->renew(versions, slopes.labels, scan.conditions(), asked.ridge, asked.cost);
  const std::size_t features = bins.features, block = scan.block();
  const int team = static_cast<int>(std::min<std::size_t>(features, static_cast<std::size_t>(std::max(1, threads))));
  const auto each_feature = [&](const auto& work) {
    std::atomic<std::size_t> next{0};
    on_threads(team, [&](int) {
      Desk desk;
      for (std::size_t f = next++; f < features; f = next++) work(f, desk);
    });
  };
  if (wanted.empty()) each_feature([&](std::size_t f, Desk& desk) { scan.count(f, desk); });
  for (std::size_t first = 0; first < wanted.size(); first += block) {
    scan.turn_to(&wanted[first], std::min(block, wanted.size() - first));
    each_feature([&](std::size_t f, Desk& desk) { scan.add(f, desk); });
  }
  if (memory) each_feature([&](std::size_t f, Desk&) { scan.recall(f); });
  std::vector<Best> best(features);
  each_feature([&](std::size_t f, Desk& desk) { best[f] = scan.best(f, desk); });
  return best;
}

std::vector<std::int64_t> slope_sums(const Slopes& slopes, const std::int32_t* rows, std::size_t count) {
  const std::size_t labels = slopes.labels;
  std::vector<std::int64_t> sums(2 * labels, 0);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t from = static_cast<std::size_t>(rows[k]) * labels;
    add_row(sums.data(), slopes.gradient + from, labels);
    add_row(sums.data() + labels, slopes.curvature + from, labels);
  }
  return sums;
}

}  // namespace polyrule
