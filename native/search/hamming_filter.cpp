// Example-wise Hamming accuracy where labels are set on some examples.
//
// A head of one literal is worth (TP + TN) / W. A covered example is worth no more to a head of k labels than the share
// of those that are right or set, so a head is worth no more than the mean over its literals of (TP + set + TN) / W; if
// it has several, no more than that of the two best. Over a stretch of boundaries every row that joins the body is
// counted where it is worth more, inside or outside. The more is set, the less that tells; unless there are very many
// labels, heads are lanes instead (`head_lanes`).
#include <algorithm>
#include <numeric>

#include "search/filter.hpp"

namespace polyrule {

namespace {

class HammingFilter : public Filter {
 public:
  explicit HammingFilter(const Judged& judged)
      : labels_(judged.labels), state_(judged.state), sums_(judged.sums), several_(judged.form.max_head > 1),
        max_right_(labels_.size()), right_(labels_.size()) {}

  void set_level(const Fraction& level) override {
    const Count unit = sums_.heads() ? sums_.heads()->unit() : 2;  // else twice a sum of weights is compared
    const Wide sum = level.num * state_.working_weight * unit, rest = sum % level.den;
    level_ = Count((sum - rest) / level.den) + (rest > 0);
    is_whole_ = rest == 0;
  }

  double judge(const Stretch& stretch) override { return sums_.heads() ? judge_heads(stretch) : judge_labels(stretch); }

 private:
  // Heads one by one: where none speaks for larger ones, a single body passes only if it has one that reaches the
  // level.
  double judge_heads(const Stretch& stretch) {
    Count tp = Count(kNone);
    if (sums_.reach(stretch, reached_) < level_) return double(tp);
    const HeadLanes& lanes = *sums_.heads();
    std::fill(right_.begin(), right_.end(), 0);
    for (std::size_t h = 0; h < lanes.heads().size(); ++h) {
      if (reached_[h] < level_) continue;
      const HeadLanes::Head& head = lanes.heads()[h];
      const auto right = [&](std::uint32_t literal) { return sums_.ends(stretch, literal / 2).high[1 - literal % 2]; };
      // a literal without a true positive is in no head
      if (std::any_of(head.begin(), head.end(), [&](std::uint32_t literal) { return right(literal) <= 0; })) continue;
      if (reached_[h] > level_ || !is_whole_) return kAny;
      Count sum = 0;
      for (const std::uint32_t literal : head) {
        sum += right(literal);
        // a larger head ties only if all its parts do
        Count& tp_bound = right_[literal / 2];
        if (lanes.speaks_for_larger(head)) tp_bound = std::max(tp_bound, right(literal));
      }
      tp = std::max({tp, sum, std::accumulate(right_.begin(), right_.end(), Count{0})});
    }
    return double(tp);
  }

  double judge_labels(const Stretch& stretch) {
    Count best = kNever, second = kNever, tp = Count(kNone);  // of TP + set + TN, by label; of a tie
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const NodeLabel& label = labels_[e];
      const auto [low, high] = sums_.ends(stretch, e);
      const Count tn = label.absent - low[3];
      max_right_[e] = kNever;
      right_[e] = 0;
      const auto look = [&](Count right, Count alone, Count together) {
        if (right <= 0) return false;
        if (2 * alone == level_ && is_whole_) tp = std::max(tp, right);
        else if (2 * alone >= level_) return true;
        max_right_[e] = std::max(max_right_[e], together);
        right_[e] = std::max(right_[e], right);
        return false;
      };
      const Count set = (high[2] - high[0]) - (low[2] - low[0]);
      if (label.allowed[1] && look(high[0], high[0] + tn, stretch.weight + tn - low[1] + (high[2] - low[2])))
        return kAny;
      if (label.allowed[0] && look(high[1], low[1] + tn, stretch.weight + tn - low[0] + set)) return kAny;
      if (max_right_[e] > best) second = best, best = max_right_[e];
      else if (max_right_[e] > second) second = max_right_[e];
    }
    if (several_ && second > kNever && best + second >= level_) {
      if (best + second > level_ || !is_whole_) return kAny;
      // the best label with one that is second, or, if they are the same, any of these
      Count first = 0, other = 0, sum = 0;
      for (std::size_t e = 0; e < labels_.size(); ++e) {
        if (max_right_[e] == best) first = std::max(first, right_[e]), sum += right_[e];
        else if (max_right_[e] == second) other = std::max(other, right_[e]);
      }
      if (best != second) sum = first + other;
      tp = std::max(tp, sum);
    }
    return double(tp);
  }

  static constexpr Count kNever = -(Count{1} << 60);
  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const Sums& sums_;
  const bool several_;
  Count level_ = kNever;
  bool is_whole_ = false;
  std::vector<Count> max_right_, right_;  // by label
  std::vector<std::int32_t> reached_;     // by head
};

}  // namespace

std::unique_ptr<Filter> make_hamming_filter(const Judged& judged) { return std::make_unique<HammingFilter>(judged); }

}  // namespace polyrule
