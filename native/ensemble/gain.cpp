// For each feature, the condition that extends a body with the largest gain: sums of fixed-point gradients and
// curvatures per bin, then one pass over the bins. All sums are whole numbers below 2^53, so neither threads nor the
// order of rows can change them, although they are kept as doubles, which saves converting them; what is computed from
// them uses the same operations in the same order as the NumPy reference.
#include "ensemble/gain.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "core/bits.hpp"
#include "core/parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace polyrule {
namespace {

using Sum = double;
using Code = std::uint16_t;

template <class T, int Dims>
using Array = nb::ndarray<const T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;

enum Test : std::uint8_t { at_most = 0, above = 1, category = 2 };

// Columns as `polyrule.ensemble.bins.BinnedTable` holds them.
struct Bins {
  const Code* dense;          // [slots][rows]
  const std::int32_t* slot;   // per feature: its row in `dense`, or -1 where only unusual codes are listed
  const std::int32_t* count;  // per feature: number of bins; this code itself means "missing"
  const std::uint8_t* nominal;
  const std::int32_t* usual;  // per listed feature: the code of all rows that are not listed
  const std::int64_t* starts;
  const std::int32_t* listed_rows;
  const Code* listed_codes;
  std::size_t rows, features;
};

struct Best {
  double gain = -1;
  std::int32_t bin = -1;
  std::uint8_t test = at_most;

  void offer(double value, std::int32_t at, std::uint8_t kind) {
    if (value > gain) *this = {value, at, kind};
  }
};

// The loops that take the time, compiled for several processors. Whole numbers and single operations: no version can
// come to other results.
POLYRULE_VECTOR_CLONES void add_to(Sum* __restrict to, const Sum* __restrict from, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] += from[j];
}

POLYRULE_VECTOR_CLONES void add_rows(Sum* __restrict histogram, const Code* code, const Sum* __restrict sums,
                                     std::size_t rows, std::size_t stride) {
  for (std::size_t k = 0; k < rows; ++k) {
    Sum* to = histogram + code[k] * stride;
    const Sum* from = sums + k * stride;
    for (std::size_t j = 0; j < stride; ++j) to[j] += from[j];
  }
}

POLYRULE_VECTOR_CLONES void move(Sum* __restrict to, Sum* __restrict away, const Sum* __restrict what,
                                 std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] += what[j], away[j] -= what[j];
}

POLYRULE_VECTOR_CLONES void values(const Sum* __restrict g, const Sum* __restrict h, const double* __restrict inverse,
                                   std::size_t count, double ridge, double cost, double* __restrict value) {
  for (std::size_t i = 0; i < count; ++i) {
    const double free = h[i] - h[i] * h[i] * inverse[i];  // what an intercept cannot take over
    value[i] = std::max(g[i] * g[i] / (free + ridge) * 0.5 - cost, 0.0);
  }
}

// What one thread works with, feature after feature.
struct Desk {
  std::vector<Sum> histogram, running;
  std::vector<std::int32_t> rows_in;  // per bin
  std::vector<std::int32_t> place;    // of the rows that are looked at ...
  std::vector<Code> code;             // ... and their codes
};

class Scan {
 public:
  Scan(const Bins& bins, const std::int32_t* chosen, std::size_t count, const std::int64_t* root, std::size_t labels,
       double ridge, double cost)
      : bins_(bins), chosen_(chosen), count_(count), labels_(labels), ridge_(ridge), cost_(cost), inverse_(labels),
        place_(bins.rows, -1), gains_(bins.features) {
    for (std::size_t l = 0; l < labels; ++l) inverse_[l] = 1.0 / static_cast<double>(root[l]);
    for (std::size_t k = 0; k < count; ++k) place_[static_cast<std::size_t>(chosen[k])] = static_cast<std::int32_t>(k);
    for (std::size_t f = 0; f < bins.features; ++f) gains_[f].assign(2 * static_cast<std::size_t>(bins.count[f]), 0);
  }

  // Labels are taken a few at a time: the sums of all bins of a feature then stay in the nearest cache, and memory does
  // not grow with the number of labels. Gains are still added up label after label.
  static constexpr std::size_t kBlock = 32;

  // Copies the gradients and curvatures of a block of labels, example after example.
  void turn_to(std::size_t first, const std::int32_t* gradient, const std::int32_t* curvature) {
    first_ = first, wide_ = std::min(kBlock, labels_ - first);
    sums_.resize(count_ * 2 * wide_);
    total_.assign(2 * wide_, 0);
    Sum* to = sums_.data();
    for (std::size_t k = 0; k < count_; ++k, to += 2 * wide_) {
      const std::size_t from = static_cast<std::size_t>(chosen_[k]) * labels_ + first;
      std::copy_n(gradient + from, wide_, to);
      std::copy_n(curvature + from, wide_, to + wide_);
      add_to(total_.data(), to, 2 * wide_);
    }
  }

  // Adds what the block of labels gains by each condition on a feature.
  void add(std::size_t f, Desk& desk) {
    const std::size_t bins = static_cast<std::size_t>(bins_.count[f]);
    look_up(f, bins, desk);
    fill(f, bins, desk);
    bins_.nominal[f] != 0 ? add_categories(bins, desk, gains_[f]) : add_thresholds(bins, desk, gains_[f]);
  }

  Best best(std::size_t f, Desk& desk) const {
    const std::size_t bins = static_cast<std::size_t>(bins_.count[f]);
    look_up(f, bins, desk);
    return bins_.nominal[f] != 0 ? best_category(bins, desk, gains_[f]) : best_threshold(bins, desk, gains_[f]);
  }

 private:
  // Which rows are not in the usual bin, in which bin they are, and how many rows each bin has.
  void look_up(std::size_t f, std::size_t bins, Desk& desk) const {
    desk.rows_in.assign(bins + 1, 0);
    desk.place.clear();
    desk.code.clear();
    if (bins_.slot[f] >= 0) {
      const Code* codes = bins_.dense + static_cast<std::size_t>(bins_.slot[f]) * bins_.rows;
      desk.code.resize(count_);
      for (std::size_t k = 0; k < count_; ++k) {
        desk.code[k] = codes[static_cast<std::size_t>(chosen_[k])];
        ++desk.rows_in[desk.code[k]];
      }
      return;
    }
    for (std::int64_t e = bins_.starts[f]; e < bins_.starts[f + 1]; ++e) {
      const std::int32_t k = place_[static_cast<std::size_t>(bins_.listed_rows[e])];
      if (k < 0) continue;
      desk.place.push_back(k);
      desk.code.push_back(bins_.listed_codes[e]);
      ++desk.rows_in[bins_.listed_codes[e]];
    }
    desk.rows_in[static_cast<std::size_t>(bins_.usual[f])] += static_cast<std::int32_t>(count_ - desk.place.size());
  }

  void fill(std::size_t f, std::size_t bins, Desk& desk) const {
    const std::size_t stride = 2 * wide_;
    const Sum* sums = sums_.data();
    desk.histogram.assign((bins + 1) * stride, 0);
    Sum* histogram = desk.histogram.data();
    if (bins_.slot[f] >= 0) {
      add_rows(histogram, desk.code.data(), sums, count_, stride);
      return;
    }
    Sum* usual = histogram + static_cast<std::size_t>(bins_.usual[f]) * stride;
    add_to(usual, total_.data(), stride);
    for (std::size_t e = 0; e < desk.place.size(); ++e)
      move(histogram + desk.code[e] * stride, usual, sums + static_cast<std::size_t>(desk.place[e]) * stride, stride);
  }

  void add_categories(std::size_t bins, Desk& desk, std::vector<double>& gains) const {
    for (std::size_t b = 0; b < bins; ++b)
      if (proper(desk.rows_in[b])) add_gain(&desk.histogram[b * 2 * wide_], gains[2 * b]);
  }

  void add_thresholds(std::size_t bins, Desk& desk, std::vector<double>& gains) const {
    const std::size_t stride = 2 * wide_;
    desk.running.assign(2 * stride, 0);
    Sum *below = desk.running.data(), *over = below + stride;
    const Sum* missing = &desk.histogram[bins * stride];
    for (std::size_t j = 0; j < stride; ++j) over[j] = total_[j] - missing[j];
    each_threshold(bins, desk, [&](std::size_t b, bool fresh, bool at_most_holds, bool above_holds) {
      if (!fresh) return;
      move(below, over, &desk.histogram[b * stride], stride);
      if (at_most_holds && above_holds) return add_gains(below, over, &gains[2 * b]);
      if (at_most_holds) add_gain(below, gains[2 * b]);
      if (above_holds) add_gain(over, gains[2 * b + 1]);
    });
  }

  // Calls visit(bin, whether it has rows of its own, whether each direction is a proper condition).
  template <class Visit>
  void each_threshold(std::size_t bins, const Desk& desk, const Visit& visit) const {
    std::int32_t below = 0, over = static_cast<std::int32_t>(count_) - desk.rows_in[bins];
    for (std::size_t b = 0; b + 1 < bins; ++b) {
      below += desk.rows_in[b], over -= desk.rows_in[b];
      const bool fresh = b == 0 || desk.rows_in[b] != 0;  // otherwise the same rows as the threshold before
      visit(b, fresh, fresh && proper(below), fresh && proper(over));
    }
  }

  Best best_category(std::size_t bins, const Desk& desk, const std::vector<double>& gains) const {
    Best best;
    for (std::size_t b = 0; b < bins; ++b)
      if (proper(desk.rows_in[b])) best.offer(gains[2 * b], static_cast<std::int32_t>(b), category);
    return best;
  }

  Best best_threshold(std::size_t bins, const Desk& desk, const std::vector<double>& gains) const {
    Best best;
    each_threshold(bins, desk, [&](std::size_t b, bool, bool at_most_holds, bool above_holds) {
      if (at_most_holds) best.offer(gains[2 * b], static_cast<std::int32_t>(b), at_most);
      if (above_holds) best.offer(gains[2 * b + 1], static_cast<std::int32_t>(b), above);
    });
    return best;
  }

  bool proper(std::int32_t rows) const { return rows > 0 && static_cast<std::size_t>(rows) < count_; }

  void add_gain(const Sum* sums, double& total) const {
    double value[kBlock];
    values(sums, sums + wide_, &inverse_[first_], wide_, ridge_, cost_, value);
    for (std::size_t i = 0; i < wide_; ++i) total += value[i];
  }

  // Both directions of a threshold side by side: each sum waits for its own last addition only.
  void add_gains(const Sum* below, const Sum* over, double* totals) const {
    double low[kBlock], high[kBlock], a = totals[0], b = totals[1];
    values(below, below + wide_, &inverse_[first_], wide_, ridge_, cost_, low);
    values(over, over + wide_, &inverse_[first_], wide_, ridge_, cost_, high);
    for (std::size_t i = 0; i < wide_; ++i) a += low[i], b += high[i];
    totals[0] = a, totals[1] = b;
  }

  const Bins bins_;
  const std::int32_t* chosen_;
  const std::size_t count_, labels_;
  const double ridge_, cost_;
  std::vector<double> inverse_;             // of the curvature of all examples, per label
  std::vector<std::int32_t> place_;         // per example: where it is among the chosen ones, or -1
  std::vector<std::vector<double>> gains_;  // per feature and bin, of both directions
  std::size_t first_ = 0, wide_ = 0;        // the block of labels at hand,
  std::vector<Sum> sums_, total_;           // and its gradients and curvatures per chosen example
};

template <class T>
nb::ndarray<nb::numpy, T> give(std::vector<T> values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  std::vector<T>* kept = owned.release();
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner);
}

auto best_conditions(const Array<Code, 2>& dense, const Array<std::int32_t, 1>& slot,
                     const Array<std::int32_t, 1>& count, const Array<std::uint8_t, 1>& nominal,
                     const Array<std::int32_t, 1>& usual, const Array<std::int64_t, 1>& starts,
                     const Array<std::int32_t, 1>& listed_rows, const Array<Code, 1>& listed_codes,
                     const Array<std::int32_t, 1>& rows, const Array<std::int32_t, 2>& gradient,
                     const Array<std::int32_t, 2>& curvature, const Array<std::int64_t, 1>& root, double ridge,
                     double cost, int threads) {
  const std::size_t features = slot.shape(0), labels = root.shape(0), examples = gradient.shape(0);
  if (count.shape(0) != features || nominal.shape(0) != features || usual.shape(0) != features ||
      starts.shape(0) != features + 1)
    throw nb::value_error("bins: one entry per feature is needed");
  if (gradient.shape(1) != labels || curvature.shape(0) != examples || curvature.shape(1) != labels)
    throw nb::value_error("gradient and curvature need one column per label");
  for (std::size_t k = 0; k < rows.shape(0); ++k)
    if (rows.data()[k] < 0 || static_cast<std::size_t>(rows.data()[k]) >= examples)
      throw nb::index_error("no such row");
  const Bins bins{dense.data(),  slot.data(),        count.data(),        nominal.data(), usual.data(),
                  starts.data(), listed_rows.data(), listed_codes.data(), examples,       features};
  std::vector<Best> best(features);
  {
    const nb::gil_scoped_release release;
    Scan scan(bins, rows.data(), rows.shape(0), root.data(), labels, ridge, cost);
    const int team = static_cast<int>(std::min<std::size_t>(features, static_cast<std::size_t>(std::max(1, threads))));
    const auto each_feature = [&](const auto& work) {
      std::atomic<std::size_t> next{0};
      on_threads(team, [&](int) {
        Desk desk;
        for (std::size_t f = next++; f < features; f = next++) work(f, desk);
      });
    };
    for (std::size_t first = 0; first < labels; first += Scan::kBlock) {
      scan.turn_to(first, gradient.data(), curvature.data());
      each_feature([&](std::size_t f, Desk& desk) { scan.add(f, desk); });
    }
    each_feature([&](std::size_t f, Desk& desk) { best[f] = scan.best(f, desk); });
  }
  std::vector<double> gains(features);
  std::vector<std::int32_t> cuts(features);
  std::vector<std::uint8_t> tests(features);
  for (std::size_t f = 0; f < features; ++f) gains[f] = best[f].gain, cuts[f] = best[f].bin, tests[f] = best[f].test;
  return std::make_tuple(give(std::move(gains)), give(std::move(cuts)), give(std::move(tests)));
}

}  // namespace

void register_gain(nb::module_& m) {
  m.def("best_conditions", &best_conditions, "dense"_a, "slot"_a, "count"_a, "nominal"_a, "usual"_a, "starts"_a,
        "listed_rows"_a, "listed_codes"_a, "rows"_a, "gradient"_a, "curvature"_a, "root"_a, "ridge"_a, "cost"_a,
        "threads"_a);
}

}  // namespace polyrule
