// Measures that are no ratio, where a head is worth as much as its best literal.
#include <algorithm>
#include <cmath>

#include "search/reach_filter.hpp"

namespace polyrule {

namespace {

class LiteralFilter : public ReachFilter {
 public:
  using ReachFilter::ReachFilter;

 private:
  bool follow(const Fraction& level) override {
    const double value = as_double(level);
    lowered_ = value - 1e-13 * std::max(1.0, std::abs(value));
    return is_bounded_by_reach(form_.formula, level);
  }

  double decide(bool, bool stretch) override {
    const double min_value = lowered_ - rounding() * std::max(1.0, std::abs(lowered_));
    for (std::size_t e = 0; e < labels_.size(); ++e)
      for (int v = 0; v < 2; ++v) {
        const auto of = [&](Reach::Number number) { return double(reach_.of(v, number)[e]); };
        const double tp = of(Reach::kTp), fp = of(Reach::kFp), tn = of(Reach::kTn), fn = of(Reach::kFn);
        if (!labels_[e].allowed[v] || tp <= 0) continue;
        const double value = stretch ? most_of(tp, fp, tn, fn, e, v) : formula_estimate(form_, tp, fp, tn, fn);
        if (value >= min_value) return kAny;
      }
    return kNone;
  }

  // The largest value over a stretch. WRAcc and the m-estimate do not grow with each of the four counts.
  double most_of(double tp, double fp, double tn, double fn, std::size_t e, int v) const {
    const double total = std::max(1.0, double(reach_.least_total()[e]));
    const double excess = std::max(0.0, tp * tn - fp * fn) / (total * total);
    if (form_.formula == Formula::wracc) return excess;
    if (form_.formula == Formula::klosgen || form_.formula == Formula::added_value) {
      const double covered = std::max(1e-300, double(reach_.least_covered(e)) / double(state_.working_weight));
      const double share = std::min(1.0, reach_.most_covered(e) / total), precision = tp / (tp + fp);
      if (form_.formula == Formula::added_value) return std::min(excess / covered, precision);
      return std::min(excess * excess / covered, precision * precision * share);
    }
    if (form_.formula == Formula::lift)  // in doubles: a quotient of singles is rounded too far
      return tp / (tp + fp) * double(reach_.most_total(e)) / double(reach_.least_positives(v, e));
    if (form_.formula != Formula::m_estimate) return formula_estimate(form_, tp, fp, tn, fn);
    const double m = double(form_.m_num) / double(form_.m_den);
    const double share = std::min(1.0, double(reach_.most_positives(v)[e]) / total);
    return (tp + m * share) / std::max(tp + fp + m, 1e-300);
  }

  double lowered_ = 0;  // the level
};

}  // namespace

std::unique_ptr<Filter> make_literal_filter(const Judged& judged) { return std::make_unique<LiteralFilter>(judged); }

}  // namespace polyrule
