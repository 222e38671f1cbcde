// Example-wise Hamming accuracy where labels are set on some examples.
//
// A head of one literal is worth (TP + TN) / W. A covered example is worth no more to a head of k labels than the share
// of those that are right or set, so a head is worth no more than the mean over its literals of (TP + set + TN) / W; if
// it has several, no more than that of the two best. Over a stretch of boundaries every row that joins the body is
// counted where it is worth more, inside or outside.
#include <algorithm>

#include "search/filter.hpp"

namespace polyrule {

namespace {

class HammingFilter : public Filter {
 public:
  explicit HammingFilter(const Judged& judged)
      : labels_(judged.labels), state_(judged.state), sums_(judged.sums), several_(judged.form.max_head > 1),
        most_(labels_.size()), right_(labels_.size()) {}

  void set_level(const Fraction& level) override {
    const Wide twice = level.num * state_.working_weight * 2, rest = twice % level.den;
    level_ = Count((twice - rest) / level.den) + (rest > 0);  // of twice a sum of weights
    is_whole_ = rest == 0;
  }

  double judge(const Stretch& stretch) override {
    Count best = kNever, second = kNever, tp = Count(kNone);  // of TP + set + TN, by label; of a tie
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const NodeLabel& label = labels_[e];
      const auto [least, most] = sums_.ends(stretch, e);
      const Count tn = label.absent - least[3];
      most_[e] = kNever;
      right_[e] = 0;
      const auto look = [&](Count right, Count alone, Count together) {
        if (right <= 0) return false;
        if (2 * alone == level_ && is_whole_) tp = std::max(tp, right);
        else if (2 * alone >= level_) return true;
        most_[e] = std::max(most_[e], together);
        right_[e] = std::max(right_[e], right);
        return false;
      };
      const Count set = (most[2] - most[0]) - (least[2] - least[0]);
      if (label.allowed[1] && look(most[0], most[0] + tn, stretch.weight + tn - least[1] + (most[2] - least[2])))
        return kAny;
      if (label.allowed[0] && look(most[1], least[1] + tn, stretch.weight + tn - least[0] + set)) return kAny;
      if (most_[e] > best) second = best, best = most_[e];
      else if (most_[e] > second) second = most_[e];
    }
    if (several_ && second > kNever && best + second >= level_) {
      if (best + second > level_ || !is_whole_) return kAny;
      // the best label with one that is second, or, if they are the same, any of these
      Count first = 0, other = 0, sum = 0;
      for (std::size_t e = 0; e < labels_.size(); ++e) {
        if (most_[e] == best) first = std::max(first, right_[e]), sum += right_[e];
        else if (most_[e] == second) other = std::max(other, right_[e]);
      }
      if (best != second) sum = first + other;
      tp = std::max(tp, sum);
    }
    return double(tp);
  }

 private:
  static constexpr Count kNever = -(Count{1} << 60);
  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const Sums& sums_;
  const bool several_;
  Count level_ = kNever;
  bool is_whole_ = false;
  std::vector<Count> most_, right_;  // by label
};

}  // namespace

std::unique_ptr<Filter> make_hamming_filter(const Judged& judged) { return std::make_unique<HammingFilter>(judged); }

}  // namespace polyrule
