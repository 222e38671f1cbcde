// A quick test of candidates: can the best head of a body reach a value at all, or that of any body of a stretch? "No"
// is always right; "perhaps" is for the exact search to decide.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "data/node.hpp"
#include "scoring/form.hpp"
#include "search/sums.hpp"

namespace polyrule {

// What the general search asks before it looks for an exact head. Each family of measures has one filter, in a file of
// its own; `make_filter` says which.
class Filter {
 public:
  static constexpr double kNone = -1, kAny = std::numeric_limits<double>::infinity();

  virtual ~Filter() = default;
  // From now on heads must reach `level`. Nothing is judged before.
  virtual void set_level(const Fraction& level) = 0;
  // The most true positives of a head that reaches the level, whichever body of the stretch has it: kAny if one may
  // exceed the level, kNone if none reaches it.
  virtual double judge(const Stretch& stretch) = 0;
};

// What a filter is made for: the bodies of one node.
struct Judged {
  const std::vector<NodeLabel>& labels;
  const State& state;
  const Form& form;
  const Sums& sums;
};

// The filter of a form; none where values of a function are asked for as they come.
std::unique_ptr<Filter> make_filter(const Judged& judged);

// The families.
std::unique_ptr<Filter> make_ratio_filter(const Judged& judged);  // ratios, with or without a lift, and subset accuracy
std::unique_ptr<Filter> make_association_filter(const Judged& judged);  // correlations of counts summed over a head
std::unique_ptr<Filter> make_m_estimate_filter(const Judged& judged);   // the m-estimate of such counts
std::unique_ptr<Filter> make_literal_filter(const Judged& judged);      // all these by a head's best literal
std::unique_ptr<Filter> make_function_filter(const Judged& judged);     // monotone functions
std::unique_ptr<Filter> make_hamming_filter(const Judged& judged);      // example-wise Hamming accuracy

}  // namespace polyrule
