// The counting and deciding that a processor and a GPU share: plain functions that compile as C++ and as CUDA. The
// wheel carries this text, because the GPU's compiler reads it at run time.
#pragma once

#ifdef __CUDACC__
#define POLYRULE_BOTH __host__ __device__ __forceinline__
#else
#include <bit>
#define POLYRULE_BOTH inline
#endif
#if !defined(__CUDACC__) && __has_include("core/wide.hpp")
#include "core/wide.hpp"
#define POLYRULE_WIDE polyrule::Wide
#else
#define POLYRULE_WIDE __int128  // this text stands alone
#endif

namespace polyrule_count {

using wide = POLYRULE_WIDE;

using i64 = long long;
using u64 = unsigned long long;

// Outcomes of a covered row for one label: bit 0 is the truth, bit 1 whether an earlier rule has set the label.
constexpr int kOutcomes = 4;

POLYRULE_BOTH int first_set_bit(u64 bits) {
#ifdef __CUDA_ARCH__
  return __ffsll(static_cast<i64>(bits)) - 1;
#else
  return std::countr_zero(bits);
#endif
}

POLYRULE_BOTH int outcome_at(u64 truth, u64 set, int bit) {
  return static_cast<int>(((truth >> bit) & 1) | (((set >> bit) & 1) << 1));
}

// Labels of a word whose outcome is not the most common one, which `mode_truth` and `mode_set` hold as bits.
POLYRULE_BOTH u64 off_mode(u64 truth, u64 set, u64 mode_truth, u64 mode_set, u64 labels) {
  return ((truth ^ mode_truth) | (set ^ mode_set)) & labels;
}

// Code of a label column: the value that was set, or 2 if none was.
POLYRULE_BOTH int label_code(u64 set, u64 value, int bit) {
  return (set >> bit) & 1 ? static_cast<int>((value >> bit) & 1) : 2;
}

// A value num / den with den > 0, the true positives behind it, and the candidate's place in canonical order.
struct Candidate {
  i64 num, den, tp, order;
};

// Better by value, then true positives, then canonical order; an order below 0 is no candidate.
POLYRULE_BOTH bool better(const Candidate& a, const Candidate& b) {
  if (a.order < 0) return false;
  if (b.order < 0) return true;
  const wide left = wide(a.num) * b.den, right = wide(b.num) * a.den;
  if (left != right) return left > right;
  if (a.tp != b.tp) return a.tp > b.tp;
  return a.order < b.order;
}

// True positives that a literal adds to a head to which its label has already added `joined`: of a label's two literals
// with equal values, the one with more true positives counts.
POLYRULE_BOTH i64 joins(i64 tp, i64 joined) { return tp > joined ? tp - joined : 0; }

// The measure of a literal: coefficients of (constant, TP, FP, TN, FN), and whether a head holds one label only.
struct Measure {
  i64 num[5], den[5];
  bool single;
};

POLYRULE_BOTH i64 linear(const i64* row, i64 tp, i64 fp, i64 tn, i64 fn) {
  return row[0] + row[1] * tp + row[2] * fp + row[3] * tn + row[4] * fn;
}

// The best head of a body: the literals that reach the best value of a single one. `upto[label * 4 + outcome]` counts
// the rows up to a threshold, `all` the whole node; `above` selects the difference. `total[label * 2 + truth]` is the
// working set, `allowed[label * 2 + value]` marks the literals that may be used; `own_label` is a label that may not.
POLYRULE_BOTH Candidate judge(const Measure& measure, const i64* upto, const i64* all, bool above, const i64* total,
                              const unsigned char* allowed, int labels, int own_label, i64 order) {
  Candidate best{0, 1, 0, -1};
  for (int label = 0; label < labels; ++label) {
    if (label == own_label || !(allowed[label * 2] | allowed[label * 2 + 1])) continue;
    i64 outcomes[kOutcomes];
    for (int k = 0; k < kOutcomes; ++k) {
      const i64 below = upto[label * kOutcomes + k];
      outcomes[k] = above ? all[label * kOutcomes + k] - below : below;
    }
    const i64 tn = total[label * 2] - outcomes[0] - outcomes[2], fn = total[label * 2 + 1] - outcomes[1] - outcomes[3];
    i64 joined = 0;  // true positives this label already brings to the head
    for (int value = 1; value >= 0; --value) {
      const i64 tp = outcomes[value];
      if (!allowed[label * 2 + value] || tp <= 0) continue;
      i64 num = linear(measure.num, tp, outcomes[1 - value], tn, fn);
      i64 den = linear(measure.den, tp, outcomes[1 - value], tn, fn);
      if (den == 0) num = 0, den = 1;
      if (den < 0) num = -num, den = -den;
      const wide left = wide(num) * best.den, right = wide(best.num) * den;
      if (best.order < 0 || left > right) {
        best = Candidate{num, den, tp, order};
        joined = tp;
      } else if (left == right) {
        const i64 more = joins(tp, measure.single ? best.tp : joined);
        best.tp += more;
        joined += more;
      }
    }
  }
  return best;
}

// True if the threshold after bin `b` of a numeric column is a candidate. Weights of the node: in the bin, up to it,
// known, missing; of the working set: in the bins before `b`, up to it, known.
POLYRULE_BOTH bool is_threshold(bool above, i64 weight_in_bin, i64 upto, i64 known_weight, i64 missing,
                                i64 working_before, i64 working_upto, i64 working_known) {
  if (weight_in_bin > 0 && upto < known_weight) return true;
  if (missing == 0 || known_weight == 0) return false;
  if (above) return upto == 0 && working_upto > 0 && working_before == 0;  // leaves out just the missing ones
  return weight_in_bin > 0 && upto == known_weight && working_upto < working_known;
}

}  // namespace polyrule_count
