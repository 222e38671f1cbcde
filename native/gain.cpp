// For each feature, the condition that extends a body with the largest gain: sums of fixed-point gradients and curvatures
// per bin, then one pass over the bins. All sums are whole numbers below 2^53, so neither threads nor the order of rows can
// change them, although they are kept as doubles, which saves converting them; what is computed from them uses the same
// operations in the same order as the NumPy reference.
#include "gain.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "parallel.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && !defined(POLYRULE_SANITIZE)
#define POLYRULE_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define POLYRULE_VECTOR_CLONES
#endif

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

POLYRULE_VECTOR_CLONES void move(Sum* __restrict to, Sum* __restrict away, const Sum* __restrict what, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] += what[j], away[j] -= what[j];
}

POLYRULE_VECTOR_CLONES void values(const Sum* __restrict g, const Sum* __restrict h, const double* __restrict inverse,
                                   std::size_t count, double ridge, double cost, double* __restrict value) {
  for (std::size_t i = 0; i < count; ++i) {
    const double free = h[i] - h[i] * h[i] * inverse[i];  // what an intercept cannot take over
    value[i] = std::max(g[i] * g[i] / (free + ridge) * 0.5 - cost, 0.0);
  }
}

class Scan {
 public:
  Scan(const Bins& bins, const std::int32_t* chosen, std::size_t count, const std::int32_t* gradient,
       const std::int32_t* curvature, const std::int64_t* root, std::size_t labels, double ridge, double cost)
      : bins_(bins), chosen_(chosen), count_(count), labels_(labels), stride_(2 * labels + 1),
        ridge_(ridge), cost_(cost), inverse_(labels), place_(bins.rows, -1), sums_(count * stride_), total_(stride_, 0) {
    for (std::size_t l = 0; l < labels; ++l) inverse_[l] = 1.0 / static_cast<double>(root[l]);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t row = static_cast<std::size_t>(chosen[k]);
      place_[row] = static_cast<std::int32_t>(k);
      Sum* to = &sums_[k * stride_];
      std::copy_n(gradient + row * labels, labels, to);
      std::copy_n(curvature + row * labels, labels, to + labels);
      to[2 * labels] = 1;
      add(total_.data(), to);
    }
  }

  Best feature(std::size_t f, std::vector<Sum>& histogram, std::vector<Sum>& running) const {
    const std::size_t bins = static_cast<std::size_t>(bins_.count[f]);
    histogram.assign((bins + 1) * stride_, 0);
    fill(f, histogram);
    return bins_.nominal[f] ? best_category(bins, histogram) : best_threshold(bins, histogram, running);
  }

 private:
  void add(Sum* to, const Sum* from) const { add_to(to, from, stride_); }

  void fill(std::size_t f, std::vector<Sum>& histogram) const {
    if (bins_.slot[f] >= 0) {
      const Code* codes = bins_.dense + static_cast<std::size_t>(bins_.slot[f]) * bins_.rows;
      for (std::size_t k = 0; k < count_; ++k)
        add(&histogram[codes[static_cast<std::size_t>(chosen_[k])] * stride_], &sums_[k * stride_]);
      return;
    }
    Sum* usual = &histogram[static_cast<std::size_t>(bins_.usual[f]) * stride_];
    add(usual, total_.data());
    for (std::int64_t e = bins_.starts[f]; e < bins_.starts[f + 1]; ++e) {
      const std::int32_t k = place_[static_cast<std::size_t>(bins_.listed_rows[e])];
      if (k < 0) continue;
      const Sum* from = &sums_[static_cast<std::size_t>(k) * stride_];
      Sum* to = &histogram[bins_.listed_codes[e] * stride_];
      if (to != usual) move(to, usual, from, stride_);
    }
  }

  Best best_category(std::size_t bins, const std::vector<Sum>& histogram) const {
    Best best;
    for (std::size_t b = 0; b < bins; ++b) {
      const Sum* here = &histogram[b * stride_];
      if (proper(here[2 * labels_])) best.offer(gain(here), static_cast<std::int32_t>(b), category);
    }
    return best;
  }

  Best best_threshold(std::size_t bins, const std::vector<Sum>& histogram, std::vector<Sum>& running) const {
    Best best;
    const Sum* missing = &histogram[bins * stride_];
    running.assign(2 * stride_, 0);
    Sum *below = running.data(), *over = below + stride_;
    for (std::size_t j = 0; j < stride_; ++j) over[j] = total_[j] - missing[j];
    for (std::size_t b = 0; b + 1 < bins; ++b) {
      const Sum* here = &histogram[b * stride_];
      if (b > 0 && here[2 * labels_] == 0) continue;  // the same rows as the threshold before
      move(below, over, here, stride_);
      if (proper(below[2 * labels_])) best.offer(gain(below), static_cast<std::int32_t>(b), at_most);
      if (proper(over[2 * labels_])) best.offer(gain(over), static_cast<std::int32_t>(b), above);
    }
    return best;
  }

  bool proper(Sum rows) const { return rows > 0 && rows < static_cast<Sum>(count_); }

  // Values are computed a block at a time, several at once, and added one after the other.
  double gain(const Sum* sums) const {
    constexpr std::size_t kBlock = 64;
    double value[kBlock], total = 0;
    for (std::size_t start = 0; start < labels_; start += kBlock) {
      const std::size_t count = std::min(kBlock, labels_ - start);
      values(sums + start, sums + labels_ + start, &inverse_[start], count, ridge_, cost_, value);
      for (std::size_t i = 0; i < count; ++i) total += value[i];
    }
    return total;
  }

  const Bins bins_;
  const std::int32_t* chosen_;
  const std::size_t count_, labels_, stride_;
  const double ridge_, cost_;
  std::vector<double> inverse_;  // of the curvature of all examples, per label
  std::vector<std::int32_t> place_;
  std::vector<Sum> sums_, total_;
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
                     const Array<std::int32_t, 2>& curvature, const Array<std::int64_t, 1>& root, double ridge, double cost,
                     int threads) {
  const std::size_t features = slot.shape(0), labels = root.shape(0), examples = gradient.shape(0);
  if (count.shape(0) != features || nominal.shape(0) != features || usual.shape(0) != features ||
      starts.shape(0) != features + 1)
    throw nb::value_error("bins: one entry per feature is needed");
  if (gradient.shape(1) != labels || curvature.shape(0) != examples || curvature.shape(1) != labels)
    throw nb::value_error("gradient and curvature need one column per label");
  for (std::size_t k = 0; k < rows.shape(0); ++k)
    if (rows.data()[k] < 0 || static_cast<std::size_t>(rows.data()[k]) >= examples) throw nb::index_error("no such row");
  const Bins bins{dense.data(), slot.data(),        count.data(),        nominal.data(), usual.data(),
                  starts.data(), listed_rows.data(), listed_codes.data(), examples,       features};
  std::vector<Best> best(features);
  {
    const nb::gil_scoped_release release;
    const Scan scan(bins, rows.data(), rows.shape(0), gradient.data(), curvature.data(), root.data(), labels, ridge, cost);
    std::atomic<std::size_t> next{0};
    on_threads(static_cast<int>(std::min<std::size_t>(features, static_cast<std::size_t>(std::max(1, threads)))), [&](int) {
      std::vector<Sum> histogram, running;
      for (std::size_t f = next++; f < features; f = next++) best[f] = scan.feature(f, histogram, running);
    });
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
