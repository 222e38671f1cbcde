// What a head is judged by, as integers: the FastForm of the Python side.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "core/bits.hpp"
#include "core/fraction.hpp"
#include "data/outcomes.hpp"

namespace polyrule {

// Counts of one literal, or of a head.
struct Counts {
  Count tp = 0, fp = 0, tn = 0, fn = 0;
  bool operator==(const Counts&) const = default;
  Counts operator+(const Counts& c) const { return {tp + c.tp, fp + c.fp, tn + c.tn, fn + c.fn}; }
  Counts operator-(const Counts& c) const { return {tp - c.tp, fp - c.fp, tn - c.tn, fn - c.fn}; }
};

class Valuer;
class MonotoneBounds;

// `counted`: any measure of the counts where a head is worth as much as its best literal. `micro`: such a measure of
// the counts summed over the head. `example`: a ratio of the counts of each example, averaged.
enum class HeadKind { singles, subset, ratio, counted, micro, example };
enum class Scope { head, all, full };
// What `counted` and `micro` measure; `function` asks the valuer.
enum class Formula {
  none,
  wracc,
  rate_difference,
  m_estimate,
  matthews,
  klosgen,
  added_value,
  cosine,
  kappa,
  yule_q,
  lift,
  certainty,
  function
};

struct Form {
  HeadKind kind = HeadKind::singles;
  Scope scope = Scope::head;
  std::array<Count, 5> num{};  // constant, TP, FP, TN, FN
  std::array<Count, 5> den{};
  std::vector<Count> rho;  // in steps of 2**-30 by head size; empty without lift
  std::size_t max_head = SIZE_MAX;
  std::size_t effort = 0;  // heads of `micro` that are tried for a body, at most; 0: the best head is found
  bool negative = true;
  Formula formula = Formula::none;
  bool measured = false;       // values are only known in their order; the measure itself gives those that are shown
  Count m_num = 0, m_den = 1;  // of the m-estimate
  std::shared_ptr<Valuer> valuer;
  std::shared_ptr<MonotoneBounds> monotone_bounds;  // of a function that is monotone
};

// Whether an example that is not covered may be worth something. Of measures of single examples only Hamming accuracy
// is compiled for which that is so; for the others no condition makes a rule better.
inline bool rewards_silence(const Form& form) { return form.num[3] != 0; }

inline constexpr Count kLiftScale = Count{1} << 30;

template <class Int>
inline Int linear(const std::array<Count, 5>& row, const Counts& c, bool with_constant = true) {
  Int sum = with_constant ? Int(row[0]) : Int(0);
  sum += Int(row[1]) * c.tp;
  sum += Int(row[2]) * c.fp;
  sum += Int(row[3]) * c.tn;
  sum += Int(row[4]) * c.fn;
  return sum;
}

// The rows of coefficients that one literal is judged by; for subset accuracy, its share of rightly treated examples.
struct Coefficients {
  std::array<Count, 5> num, den;
};

inline Coefficients coefficients(const Form& form, Count working_weight) {
  if (form.kind == HeadKind::subset) return {{0, 1, 0, 1, 0}, {working_weight, 0, 0, 0, 0}};
  return {form.num, form.den};
}

}  // namespace polyrule
