// For each feature, the condition that extends a body with the largest gain: sums of fixed-point gradients and
// curvatures per bin, added to those of rows that are covered anyway, then one pass over the bins. All sums are whole
// numbers below 2^53, so neither threads nor the order of rows can change them, although they are kept as doubles,
// which saves converting them; what is computed from them uses the same operations in the same order as the NumPy
// reference.
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
#include "ensemble/arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace polyrule {
namespace {

using Sum = double;
using Code = std::uint16_t;

enum Test : std::uint8_t { at_most = 0, above = 1, category = 2 };

// Columns as `polyrule.bins.binning.BinnedTable` holds them.
struct Bins {
  const Code* dense;          // [slots][rows]
  const std::int32_t* slot;   // per feature: its row in `dense`, or -1 where only unusual codes are listed
  const std::int32_t* count;  // per feature: number of bins; this code itself means "missing"
  const std::uint8_t* nominal;
  const std::int32_t* usual;  // per listed feature: the code of all rows that are not listed
  const std::int64_t* starts;
  const std::int32_t* listed_rows;
  const Code* listed_codes;
  const std::int8_t* direction;  // per feature: 1 or -1 if scores may only rise or fall with it, else 0
  const std::int32_t* shunned;   // per feature: the code that no condition may hold for, or -1
  std::size_t rows, features;
};

// Which sign the weights of a body must have once it tests a threshold of a feature: 1, -1, or 0 for any.
constexpr int kForbidden = 2;
inline int sign_with(int sign, int wanted) {
  return wanted == 0 || wanted == sign ? sign : sign == 0 ? wanted : kForbidden;
}

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

POLYRULE_VECTOR_CLONES void add_listed(Sum* __restrict histogram, const Code* code, const std::int32_t* place,
                                       const Sum* __restrict sums, std::size_t entries, std::size_t stride) {
  for (std::size_t e = 0; e < entries; ++e) {
    Sum* to = histogram + code[e] * stride;
    const Sum* from = sums + static_cast<std::size_t>(place[e]) * stride;
    for (std::size_t j = 0; j < stride; ++j) to[j] += from[j];
  }
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
  for (std::size_t i = 0; i < count; ++i) {
    const double free = h[i] - h[i] * h[i] * inverse[i];  // what an intercept cannot take over
    value[i] = std::max(g[i] * g[i] / (free + ridge) * 0.5 - cost, 0.0);
  }
}

// Only weights of one sign: a label whose gradient asks for the other gains nothing.
POLYRULE_VECTOR_CLONES void keep_sign(const Sum* __restrict g, std::size_t count, double sign,
                                      double* __restrict value) {
  for (std::size_t i = 0; i < count; ++i) value[i] = g[i] * sign < 0 ? value[i] : 0.0;
}

// What one thread works with, feature after feature.
struct Desk {
  std::vector<Sum> histogram, running;
  std::vector<std::int32_t> rows_in;  // per bin
  std::vector<std::int32_t> place;    // of the rows that are looked at ...
  std::vector<Code> code;             // ... and their codes
};

// What each label gained by every condition when all rows were looked at last. After a rule only the labels of its head
// have other gradients than before; the gains of the others are still right.
struct Memory {
  std::vector<double> gains;           // [labels][conditions]
  std::vector<std::int64_t> versions;  // per label, of the gradients that the gains were made from; -1 for none
  double ridge = 0, cost = 0;

  // Returns the labels whose gains have to be made afresh.
  std::vector<std::size_t> renew(const std::int64_t* now, std::size_t labels, std::size_t conditions, double new_ridge,
                                 double new_cost) {
    if (versions.size() != labels || gains.size() != labels * conditions || ridge != new_ridge || cost != new_cost) {
      gains.assign(labels * conditions, 0.0);
      versions.assign(labels, -1);
      ridge = new_ridge, cost = new_cost;
    }
    std::vector<std::size_t> stale;
    for (std::size_t l = 0; l < labels; ++l)
      if (versions[l] != now[l]) {
        versions[l] = now[l];
        stale.push_back(l);
      }
    return stale;
  }
};

class Scan {
 public:
  Scan(const Bins& bins, const std::int32_t* chosen, std::size_t count, const std::int64_t* root, std::size_t labels,
       const std::int64_t* offset, double ridge, double cost, int sign, Memory* memory)
      : bins_(bins), chosen_(chosen), count_(count), labels_(labels), ridge_(ridge), cost_(cost), sign_(sign),
        memory_(memory), root_(root), all_offsets_(offset), place_(bins.rows, -1), starts_(bins.features + 1, 0) {
    for (std::size_t k = 0; k < count; ++k) place_[static_cast<std::size_t>(chosen[k])] = static_cast<std::int32_t>(k);
    for (std::size_t f = 0; f < bins.features; ++f)
      starts_[f + 1] = starts_[f] + 2 * static_cast<std::size_t>(bins.count[f]);
    gains_.assign(starts_.back(), 0.0);
    rows_in_.assign(starts_.back() / 2 + bins.features, 0);
  }

  // Labels are taken a few at a time: the sums of all bins of a feature then stay in the nearest cache, and memory does
  // not grow with the number of labels. Gains are still added up label after label.
  static constexpr std::size_t kMost = 256;
  std::size_t block() const {
    std::int32_t most = 1;
    for (std::size_t f = 0; f < bins_.features; ++f) most = std::max(most, bins_.count[f]);
    const std::size_t fits = 2048 / (static_cast<std::size_t>(most) + 1);  // pairs of sums: 32 KB
    return std::clamp<std::size_t>(fits, 32, kMost);
  }

  std::size_t conditions() const { return starts_.back(); }

  // Copies the gradients and curvatures of a block of labels, example after example.
  void turn_to(const std::size_t* block, std::size_t wide, const std::int32_t* gradient,
               const std::int32_t* curvature) {
    block_ = block, wide_ = wide;
    offset_.resize(2 * wide_);
    for (std::size_t i = 0; i < wide; ++i) {
      inverse_[i] = 1.0 / static_cast<double>(root_[block[i]]);
      offset_[i] = static_cast<Sum>(all_offsets_[block[i]]);
      offset_[wide + i] = static_cast<Sum>(all_offsets_[labels_ + block[i]]);
    }
    sums_.resize(count_ * 2 * wide_);
    total_.assign(2 * wide_, 0);
    Sum* to = sums_.data();
    for (std::size_t k = 0; k < count_; ++k, to += 2 * wide_) {
      const std::size_t from = static_cast<std::size_t>(chosen_[k]) * labels_;
      for (std::size_t i = 0; i < wide; ++i) {
        to[i] = gradient[from + block[i]];
        to[wide + i] = curvature[from + block[i]];
      }
      add_to(total_.data(), to, 2 * wide_);
    }
  }

  // Adds, or remembers, what the block of labels gains by each condition on a feature.
  void add(std::size_t f, Desk& desk) {
    const std::size_t bins = static_cast<std::size_t>(bins_.count[f]);
    look_up(f, bins, desk);
    std::copy(desk.rows_in.begin(), desk.rows_in.end(), rows_in_.begin() + counts_at(f));
    fill(f, bins, desk);
    bins_.nominal[f] != 0 ? add_categories(f, bins, desk, starts_[f]) : add_thresholds(f, bins, desk, starts_[f]);
  }

  // Only counts the rows in the bins of a feature.
  void count(std::size_t f, Desk& desk) {
    look_up(f, static_cast<std::size_t>(bins_.count[f]), desk);
    std::copy(desk.rows_in.begin(), desk.rows_in.end(), rows_in_.begin() + counts_at(f));
  }

  // Adds up the remembered gains of all labels for each condition on a feature.
  void recall(std::size_t f) {
    for (std::size_t l = 0; l < labels_; ++l)
      add_to(&gains_[starts_[f]], &memory_->gains[l * conditions() + starts_[f]], starts_[f + 1] - starts_[f]);
  }

  Best best(std::size_t f, Desk& desk) const {
    const std::size_t bins = static_cast<std::size_t>(bins_.count[f]);
    desk.rows_in.assign(rows_in_.begin() + counts_at(f), rows_in_.begin() + counts_at(f + 1));
    const double* gains = gains_.data() + starts_[f];
    return bins_.nominal[f] != 0 ? best_category(f, bins, desk, gains) : best_threshold(f, bins, desk, gains);
  }

 private:
  std::ptrdiff_t counts_at(std::size_t f) const { return static_cast<std::ptrdiff_t>(starts_[f] / 2 + f); }

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
    add_listed(histogram, desk.code.data(), desk.place.data(), sums, desk.place.size(), stride);
    // What is left of the total; sums are whole numbers, so that nothing is lost.
    Sum* usual = histogram + static_cast<std::size_t>(bins_.usual[f]) * stride;
    add_to(usual, total_.data(), stride);
    for (std::size_t b = 0; b <= bins; ++b)
      if (b != static_cast<std::size_t>(bins_.usual[f]) && desk.rows_in[b])
        take_from(usual, histogram + b * stride, stride);
  }

  void add_categories(std::size_t f, std::size_t bins, Desk& desk, std::size_t start) {
    for (std::size_t b = 0; b < bins; ++b) {
      if (!offered(f, b, desk)) continue;
      Sum* sums = &desk.histogram[b * 2 * wide_];
      add_to(sums, offset_.data(), 2 * wide_);
      add_gain(sums, start + 2 * b, sign_);
    }
  }

  void add_thresholds(std::size_t f, std::size_t bins, Desk& desk, std::size_t start) {
    const std::size_t stride = 2 * wide_;
    desk.running.resize(2 * stride);
    Sum *below = desk.running.data(), *over = below + stride;
    const Sum* missing = &desk.histogram[bins * stride];
    for (std::size_t j = 0; j < stride; ++j) below[j] = offset_[j], over[j] = offset_[j] + total_[j] - missing[j];
    const int low = sign_with(sign_, -bins_.direction[f]), high = sign_with(sign_, bins_.direction[f]);
    each_threshold(f, bins, desk, [&](std::size_t b, bool fresh, bool at_most_holds, bool above_holds) {
      if (!fresh) return;
      move(below, over, &desk.histogram[b * stride], stride);
      if (at_most_holds && above_holds && low == 0) return add_gains(below, over, start + 2 * b);
      if (at_most_holds) add_gain(below, start + 2 * b, low);
      if (above_holds) add_gain(over, start + 2 * b + 1, high);
    });
  }

  // Calls visit(bin, whether it has rows of its own, whether each direction is a proper condition).
  template <class Visit>
  void each_threshold(std::size_t f, std::size_t bins, const Desk& desk, const Visit& visit) const {
    const bool low = sign_with(sign_, -bins_.direction[f]) != kForbidden;
    const bool high = sign_with(sign_, bins_.direction[f]) != kForbidden;
    const std::int32_t shunned = bins_.shunned[f];
    std::int32_t below = 0, over = static_cast<std::int32_t>(count_) - desk.rows_in[bins];
    for (std::size_t b = 0; b + 1 < bins; ++b) {
      below += desk.rows_in[b], over -= desk.rows_in[b];
      const bool fresh = b == 0 || desk.rows_in[b] != 0;  // otherwise the same rows as the threshold before
      const bool shunned_below = shunned >= 0 && static_cast<std::size_t>(shunned) <= b;
      const bool shunned_over = shunned >= 0 && !shunned_below;
      visit(b, fresh, low && fresh && !shunned_below && proper(below), high && fresh && !shunned_over && proper(over));
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
    return proper(desk.rows_in[category]) && bins_.shunned[f] != static_cast<std::int32_t>(category);
  }

  bool proper(std::int32_t rows) const { return rows > 0 && static_cast<std::size_t>(rows) < count_; }

  void add_gain(const Sum* sums, std::size_t condition, int sign) {
    double value[kMost];
    values(sums, sums + wide_, inverse_, wide_, ridge_, cost_, value);
    if (sign != 0) keep_sign(sums, wide_, sign, value);
    if (memory_) return remember(value, condition);
    for (std::size_t i = 0; i < wide_; ++i) gains_[condition] += value[i];
  }

  // Both directions of a threshold side by side: each sum waits for its own last addition only.
  void add_gains(const Sum* below, const Sum* over, std::size_t condition) {
    double low[kMost], high[kMost], a = gains_[condition], b = gains_[condition + 1];
    values(below, below + wide_, inverse_, wide_, ridge_, cost_, low);
    values(over, over + wide_, inverse_, wide_, ridge_, cost_, high);
    if (memory_) {
      remember(low, condition);
      return remember(high, condition + 1);
    }
    for (std::size_t i = 0; i < wide_; ++i) a += low[i], b += high[i];
    gains_[condition] = a, gains_[condition + 1] = b;
  }

  void remember(const double* value, std::size_t condition) {
    for (std::size_t i = 0; i < wide_; ++i) memory_->gains[block_[i] * conditions() + condition] = value[i];
  }

  const Bins bins_;
  const std::int32_t* chosen_;
  const std::size_t count_, labels_;
  const double ridge_, cost_;
  const int sign_;                     // that the weights of the body must have, 0 for any
  Memory* memory_;                     // where gains of single labels are kept, or nullptr
  const std::int64_t* root_;           // curvature of all examples, per label
  const std::int64_t* all_offsets_;    // gradient and curvature of what is covered anyway, per label
  std::vector<std::int32_t> place_;    // per example: where it is among the chosen ones, or -1
  std::vector<std::size_t> starts_;    // per feature: where its conditions begin, two per bin
  std::vector<double> gains_;          // per condition
  std::vector<std::int32_t> rows_in_;  // per feature and bin, missing values among them
  const std::size_t* block_ = nullptr;
  std::size_t wide_ = 0;                    // the block of labels at hand,
  double inverse_[kMost] = {};              // one over their curvature,
  std::vector<Sum> sums_, total_, offset_;  // and gradients and curvatures: per chosen example, their sum, and outside
};

auto best_conditions(const Array<Code, 2>& dense, const Array<std::int32_t, 1>& slot,
                     const Array<std::int32_t, 1>& count, const Array<std::uint8_t, 1>& nominal,
                     const Array<std::int32_t, 1>& usual, const Array<std::int64_t, 1>& starts,
                     const Array<std::int32_t, 1>& listed_rows, const Array<Code, 1>& listed_codes,
                     const Array<std::int32_t, 1>& rows, const Array<std::int32_t, 2>& gradient,
                     const Array<std::int32_t, 2>& curvature, const Array<std::int64_t, 1>& root,
                     const Array<std::int64_t, 2>& offset, double ridge, double cost, int threads, Memory* memory,
                     const Array<std::int64_t, 1>& versions, const Array<std::int8_t, 1>& direction,
                     const Array<std::int32_t, 1>& shunned, int sign) {
  const std::size_t features = slot.shape(0), labels = root.shape(0), examples = gradient.shape(0);
  if (count.shape(0) != features || nominal.shape(0) != features || usual.shape(0) != features ||
      direction.shape(0) != features || shunned.shape(0) != features || starts.shape(0) != features + 1)
    throw nb::value_error("bins: one entry per feature is needed");
  if (gradient.shape(1) != labels || curvature.shape(0) != examples || curvature.shape(1) != labels)
    throw nb::value_error("gradient and curvature need one column per label");
  if (offset.shape(0) != 2 || offset.shape(1) != labels)
    throw nb::value_error("offset needs a gradient and a curvature per label");
  for (std::size_t k = 0; k < rows.shape(0); ++k)
    if (rows.data()[k] < 0 || static_cast<std::size_t>(rows.data()[k]) >= examples)
      throw nb::index_error("no such row");
  if (memory && (rows.shape(0) != examples || versions.shape(0) != labels))
    throw nb::value_error("only gains of all rows are remembered, with a version per label");
  const Bins bins{dense.data(),     slot.data(),    count.data(),       nominal.data(),
                  usual.data(),     starts.data(),  listed_rows.data(), listed_codes.data(),
                  direction.data(), shunned.data(), examples,           features};
  std::vector<Best> best(features);
  {
    const nb::gil_scoped_release release;
    Scan scan(bins, rows.data(), rows.shape(0), root.data(), labels, offset.data(), ridge, cost, sign, memory);
    std::vector<std::size_t> wanted;
    if (memory) {
      wanted = memory->renew(versions.data(), labels, scan.conditions(), ridge, cost);
    } else {
      for (std::size_t l = 0; l < labels; ++l) wanted.push_back(l);
    }
    const int team = static_cast<int>(std::min<std::size_t>(features, static_cast<std::size_t>(std::max(1, threads))));
    const auto each_feature = [&](const auto& work) {
      std::atomic<std::size_t> next{0};
      on_threads(team, [&](int) {
        Desk desk;
        for (std::size_t f = next++; f < features; f = next++) work(f, desk);
      });
    };
    const std::size_t block = scan.block();
    if (wanted.empty()) each_feature([&](std::size_t f, Desk& desk) { scan.count(f, desk); });
    for (std::size_t first = 0; first < wanted.size(); first += block) {
      scan.turn_to(&wanted[first], std::min(block, wanted.size() - first), gradient.data(), curvature.data());
      each_feature([&](std::size_t f, Desk& desk) { scan.add(f, desk); });
    }
    if (memory) each_feature([&](std::size_t f, Desk&) { scan.recall(f); });
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
  nb::class_<Memory>(m, "GainMemory").def(nb::init<>());
  m.def("best_conditions", &best_conditions, "dense"_a, "slot"_a, "count"_a, "nominal"_a, "usual"_a, "starts"_a,
        "listed_rows"_a, "listed_codes"_a, "rows"_a, "gradient"_a, "curvature"_a, "root"_a, "offset"_a, "ridge"_a,
        "cost"_a, "threads"_a, "memory"_a.none(), "versions"_a, "direction"_a, "shunned"_a, "sign"_a);
}

}  // namespace polyrule
