// A quick test of candidates: can the best head of a body reach a value at all, or that of any body of a stretch? In
// singles and doubles with room for rounding, from what the literals have at most (`Reach`). "No" is always right;
// "perhaps" is for the exact search to decide.
#pragma once

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "data/node.hpp"
#include "judge/formula.hpp"
#include "search/gain_sums.hpp"
#include "search/micro_lanes.hpp"
#include "search/share_lanes.hpp"
#include "search/size_lanes.hpp"
#include "search/size_levels.hpp"
#include "search/sums.hpp"

namespace polyrule {

// What the general search asks before it looks for an exact head. A family of measures has one filter; `make_filter`
// says which.
class Filter {
 public:
  // `tie`: the level is reached, if at all, but not exceeded.
  enum class Verdict { no, tie, perhaps };

  virtual ~Filter() = default;
  // From now on heads must reach `level`.
  virtual void set_level(const Fraction& level) = 0;
  // Whether a body of this weight may reach the level: the rows that have been summed up or (`leaving`) the others. If
  // it can only tie, no head has more than `tp` true positives.
  virtual Verdict judge(bool leaving, Count weight, double& tp) = 0;
  // The same for every body on this side of the boundaries from one mark to another; `weight` is that of the smallest.
  virtual Verdict judge(std::size_t first, std::size_t last, bool leaving, Count weight, double& tp) = 0;
  // Whether no body below the node that covers so much of its weight reaches the level, or does with at least so many
  // true positives where it can only tie.
  virtual bool rules_out(Count, Count, Count) { return false; }

  bool rules_out(std::size_t first, std::size_t last, bool leaving, Count weight, Count least_tp) {
    double tp = 0;
    const Verdict verdict = judge(first, last, leaving, weight, tp);
    return verdict == Verdict::no || (verdict == Verdict::tie && tp < double(least_tp));
  }
};

// The filter of a form; none where values of a function are asked for as they come.
std::unique_ptr<Filter> make_filter(const std::vector<NodeLabel>& labels, const State& state, const Form& form,
                                    const Sums& sums);

// Ratios, lifts, correlations, the m-estimate and subset accuracy.
class CountFilter : public Filter {
 public:
  using Filter::rules_out;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  CountFilter(const std::vector<NodeLabel>& labels, const State& state, const Form& form, const Sums& sums)
      : labels_(labels), state_(state), form_(form), sums_(sums), levels_(form, state, labels.size()),
        reach_(sums.stride()), whole_(levels_.groups().front()) {
    gains_.resize(labels.size());
    prepare_labels();
    if (!form.rho.empty()) prepare_lanes();
    micro_lanes_.set_labels(barred_, labels.size());
  }

  void set_level(const Fraction& level) override;

  Verdict judge(bool leaving, Count, double& tp) override {
    if (!has_level_ || always_) return Verdict::perhaps;
    sums_.reach(leaving, reach_);
    return decide(leaving, false, tp);
  }

  Verdict judge(std::size_t first, std::size_t last, bool leaving, Count, double& tp) override {
    if (!monotone_ || always_) return Verdict::perhaps;
    sums_.reach(first, last, leaving, reach_);
    return decide(leaving, true, tp);
  }

  bool rules_out(Count weight, Count of, Count least_tp) override {
    if (!monotone_ || always_) return false;
    return rules_out(light_, weight, weight, of, least_tp) || rules_out(heavy_, of - weight, of, of - weight, least_tp);
  }

 private:
  using Group = SizeLevels::Group;

  // Weights up to `out` are ruled out, those from `open` on are not, at the level of a version.
  struct Weights {
    Count out = -1, open = 0;
    std::uint64_t version = 0;
  };

  // Whether no body below the node reaches the level that covers at most `covered`, or at least all but `left_out`. The
  // more `weight`, the more may.
  bool rules_out(Weights& known, Count weight, Count covered, Count left_out, Count least_tp);

  // What the literals have at most in such a body.
  void reach_by_weight(Count covered, Count left_out);

  // Groups with a lane for each.
  struct Block {
    std::vector<Group> groups;
    SizeLanes lanes;
    SizeLanes::Lanes thresholds[2];  // by side of the boundary
    std::uint64_t version;
  };

  Verdict decide(bool leaving, bool stretch, double& tp);

  // The level is the largest value there is: literals without an error reach it, and nothing exceeds it.
  Verdict judge_faultless(double& tp) const;

  // The least that a literal adds to the denominator, 0 if it may take something away. Of a stretch, the fewest true
  // positives of a literal are the false positives of the other.
  float least_denominator(bool stretch) const;

  void prepare_labels();

  void prepare_lanes();

  void follow_level(Block& block) const;

  // What a label adds to the sum as the better of its literals, less what it adds outside the head; that goes to
  // `outside`.
  double gain(const Group& group, std::size_t e, double& outside) const;

  // A literal without a true positive is in no head.
  bool is_usable(std::size_t e, int v) const { return labels_[e].allowed[v] && reach_.of(v, Reach::kTp)[e] > 0; }

  // What one literal of a label adds to the sum.
  double literal_gain(const Group& group, std::size_t e, int v) const;

  // The most true positives that a literal of the label has which gains as much as the better one.
  double right(const Group& group, std::size_t e) const;

  // Whether a sum of gains may reach 0, in singles.
  bool gains_reach(double constant, const double h[5], bool additive) const;

  // The m-estimate: TP - level * (TP + FP) + m * (s - level) must reach 0, with s the head's share of positives.
  bool shares_reach(bool leaving);

  Verdict judge_any_size(const Group& group, bool stretch, double& tp);

  // The most true positives of a head of literals that gain so much and are right on the same rows: then on as many
  // covered ones, and on as many others.
  double right_on_the_same_rows(const Group& group, double least);

  // With a lift: a head of k labels must reach level / rho(k) without it; then so do the k largest gains. Lanes tell
  // most bodies, first for all groups of sizes, then for the sizes of those that are left.
  Verdict judge_sizes(bool leaving, bool stretch, double& tp);

  // Shows the groups of a block that may reach the level, with their largest sums, as long as show() wants more.
  template <class Show>
  void look(Block& block, std::size_t side, Show&& show);

  // What tells the largest gains from the others.
  float threshold(const Group& group) const;

  // The gains of all labels at the level of a group, largest first, and what is added outside of the head. Their order
  // is nearly that of the last time.
  double sort_gains(const Group& group, std::size_t side);

  // The largest sum of gains over the sizes of a group.
  double largest_sum(double sum, const Group& group) const;

  // The most true positives of a head whose gains add up to as much as any of its size, from gains that were just
  // sorted: it has the labels that gain most, and any among those that gain as much as the last one.
  double most_right(const Group& size, std::size_t side);

  // Other measures of the counts, where a head is worth as much as its best literal.
  bool any_literal(bool stretch) const;

  // The largest value over a stretch. WRAcc and the m-estimate do not grow with each of the four counts.
  double most_of(double tp, double fp, double tn, double fn, std::size_t e, int v) const;

  // What counts that do not fit singles may change in a value.
  double rounding() const { return state_.working_weight < Count{1} << 24 ? 0 : 1e-5; }

  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const Form& form_;
  const Sums& sums_;
  SizeLevels levels_;
  Reach reach_;
  Group whole_;  // heads of any size, without a lift
  bool has_level_ = false, always_ = false, monotone_ = false, largest_ = false;
  std::uint64_t version_ = 0;
  double lowered_ = 0;
  Weights light_, heavy_;
  MicroLanes micro_lanes_;
  ShareLanes share_lanes_;
  std::vector<double> gains_, weights_;
  std::vector<std::pair<float, float>> rights_;
  std::vector<Block> blocks_;  // all groups, then the sizes of each
  std::vector<std::size_t> first_block_;
  std::vector<std::uint32_t> order_[4];  // of labels by their gains, by side of the boundary
  std::vector<float> barred_;            // by literal (`= 1`, then `= 0`): 0, or far more than anything gains
  std::vector<float> outside_;           // by label, TN and FN outside the head
  float denominator_ = 0;
};

}  // namespace polyrule
