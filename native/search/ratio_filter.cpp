// Ratios, with or without a lift, and subset accuracy: the order of their values is that of a sum of gains, one per
// label.
//
// With a lift, a head of k literals reaches the level if a sum of gains, one per literal at the level divided by its
// lift, is not below 0 (docs/theory.md, lifted values). Sizes are lanes of a vector. The k largest of n numbers g add
// up to no more than k*t + sum of max(0, g - t), whatever t is, and to just that where t lies between the k-th and the
// next. So nothing is sorted at first: t comes from earlier bodies.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "core/lanes.hpp"
#include "search/reach_filter.hpp"
#include "search/size_levels.hpp"

namespace polyrule {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kLanes = SizeLevels::kGroups;
using Vector = Lanes<float, kLanes>;
using Group = SizeLevels::Group;

// The labels of a body: what their literals have at most, and what keeps one out of a head; TN and FN outside a head.
struct Labels {
  const float *rates, *barred, *outside;
  std::size_t stride, count;
  Scope scope;
};

// By lane, the group of sizes that is judged there: see `Group`.
struct alignas(64) SizeLanes {
  float h[5][kLanes], min_sizes[kLanes], max_sizes[kLanes], slack[kLanes];
  float error;

  // `weight`: no label's four counts add up to more.
  void set(const std::vector<Group>& groups, double weight, double labels, Scope scope) {
    constexpr double kRounding = 0x1p-24;
    constexpr float kUnreached = -1e30f;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Group& from = lane < groups.size() ? groups[lane] : groups.front();
      double largest = 0;
      for (std::size_t i = 0; i < 5; ++i) {
        h[i][lane] = static_cast<float>(from.h[i]);
        if (i > 0) largest = std::max(largest, std::abs(from.h[i]));
      }
      if (lane >= groups.size()) h[0][lane] = kUnreached;
      min_sizes[lane] = static_cast<float>(from.min_size);
      max_sizes[lane] = static_cast<float>(from.max_size);
      // Every gain is a sum of a few products of rounded numbers, which over a stretch add up to no more than twice the
      // weight; what is outside the head is one such sum more.
      const double gains = 2 * largest * weight * labels * (scope == Scope::head ? 1 : 3);
      const double constants = scope == Scope::head ? 0 : gains * labels;
      slack[lane] = static_cast<float>((8 * gains + constants + std::abs(from.h[0])) * kRounding);
    }
    error = static_cast<float>((labels / 4 + 8) * kRounding);
  }
};

// Whether some lane may reach 0; `out`: by lane, a number that is not below its largest sum of gains. All in one
// function, so that it is compiled for wide vectors as a whole.
POLYRULE_VECTOR_CLONES
bool judge_lanes(const Labels& q, const SizeLanes& level, const float* t_lanes, float* out) {
  const Vector h0 = load<Vector>(level.h[0]), h1 = load<Vector>(level.h[1]), h2 = load<Vector>(level.h[2]),
               h3 = load<Vector>(level.h[3]);
  const Vector h4 = load<Vector>(level.h[4]), t = load<Vector>(t_lanes), zero = {};
  Vector sum[4] = {zero, zero, zero, zero}, constant = h0;
  const std::size_t n = q.stride;
  for (std::size_t e = 0; e < q.count; ++e) {
    const float *one = q.rates + e, *none = one + 4 * n;
    // a literal without a true positive is in no head
    const float bars[] = {one[0] > 0 ? q.barred[e] : kBarred, none[0] > 0 ? q.barred[n + e] : kBarred};
    const Vector present = h1 * one[0] + h2 * one[n] + h3 * one[2 * n] + h4 * one[3 * n] - bars[0];
    const Vector absent = h1 * none[0] + h2 * none[n] + h3 * none[2 * n] + h4 * none[3 * n];
    const Vector other = absent - bars[1];
    Vector gain = larger(present, other);
    if (q.scope == Scope::all) {
      const Vector out_of_head = h3 * q.outside[e] + h4 * q.outside[n + e];
      gain -= out_of_head;
      constant += out_of_head;
    } else if (q.scope == Scope::full) {
      gain -= absent;
      constant += absent;
    }
    gain -= t;
    sum[e % 4] += larger(gain, zero);
  }
  const Vector all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  // Between the smallest and the largest size the sum lies below a line.
  const Vector part = larger(load<Vector>(level.max_sizes) * t, load<Vector>(level.min_sizes) * t);
  const Vector sizes = all + larger(part, -part) + larger(constant, -constant);
  const Vector slack = load<Vector>(level.slack) + sizes * level.error, reach = constant + part + all + slack;
  store(out, reach);
  bool any = false;
  for (std::size_t lane = 0; lane < kLanes; ++lane) any |= out[lane] >= 0;
  return any;
}

class RatioFilter : public ReachFilter {
 public:
  explicit RatioFilter(const Judged& judged)
      : ReachFilter(judged), levels_(form_, state_, labels_.size()), whole_(levels_.groups().front()),
        gains_(labels_.size()) {
    for (auto& order : order_)
      for (std::uint32_t e = 0; e < labels_.size(); ++e) order.push_back(e);
    if (!form_.rho.empty()) prepare_lanes();
  }

 private:
  // Groups with a lane for each.
  struct Block {
    std::vector<Group> groups;
    SizeLanes lanes = {};
    std::array<float, kLanes> thresholds[2] = {};  // by side of the boundary
    std::uint64_t version = 0;
  };

  bool follow(const Fraction& level) override {
    ++version_;
    always_ = !form_.rho.empty() && level.num <= 0;
    levels_.set_level(level);
    if (form_.rho.empty()) levels_.set_group(whole_);
    return levels_.is_monotone(reach_.right_counts_more, reach_.wrong_counts_more) && !always_;
  }

  double decide(bool leaving, bool stretch) override {
    if (always_) return kAny;
    return form_.rho.empty() ? judge_any_size(whole_) : judge_sizes(leaving, stretch);
  }

  // A literal without a true positive is in no head.
  bool is_usable(std::size_t e, int v) const { return labels_[e].allowed[v] && reach_.of(v, Reach::kTp)[e] > 0; }

  void prepare_lanes() {
    const std::vector<Group>&groups = levels_.groups(), &sizes = levels_.sizes();
    blocks_.push_back({groups});
    for (const Group& group : groups) {
      first_block_.push_back(blocks_.size());
      for (std::size_t size = group.min_size; size <= group.max_size; size += kLanes) {
        const std::size_t end = std::min(group.max_size + 1, size + kLanes);
        blocks_.push_back({{sizes.begin() + std::ptrdiff_t(size - 1), sizes.begin() + std::ptrdiff_t(end - 1)}});
      }
    }
    first_block_.push_back(blocks_.size());
  }

  void follow_level(Block& block) const {
    if (block.version == version_) return;
    block.version = version_;
    for (Group& group : block.groups) levels_.set_group(group);
    block.lanes.set(block.groups, double(state_.working_weight), double(labels_.size()), form_.scope);
  }

  // What a label adds to the sum as the better of its literals, less what it adds outside the head; that goes to
  // `outside`.
  double gain(const Group& group, std::size_t e, double& outside) const {
    const double* h = group.h;
    const NodeLabel& label = labels_[e];
    const double absent = literal_gain(group, e, 0);
    double best = is_usable(e, 0) ? absent : -kInfinity;
    if (is_usable(e, 1)) best = std::max(best, literal_gain(group, e, 1));
    if (form_.scope == Scope::head) return best;
    const double silent = h[3] * double(label.absent) + h[4] * double(label.present);
    const double other = form_.scope == Scope::all ? silent : absent;
    outside += other;
    return best - other;
  }

  // What one literal of a label adds to the sum.
  double literal_gain(const Group& group, std::size_t e, int v) const {
    const double* h = group.h;
    return h[1] * double(reach_.of(v, Reach::kTp)[e]) + h[2] * double(reach_.of(v, Reach::kFp)[e]) +
           h[3] * double(reach_.of(v, Reach::kTn)[e]) + h[4] * double(reach_.of(v, Reach::kFn)[e]);
  }

  // The most true positives that a literal of the label has which gains as much as the better one.
  double right(const Group& group, std::size_t e) const {
    double max_tp = 0, gained = -kInfinity;
    for (int v = 0; v < 2; ++v) {
      if (!is_usable(e, v)) continue;
      const double gain = literal_gain(group, e, v), tp = double(reach_.of(v, Reach::kTp)[e]);
      if (gain > gained + group.slack) max_tp = tp;
      else if (gain > gained - group.slack) max_tp = std::max(max_tp, tp);
      gained = std::max(gained, gain);
    }
    return max_tp;
  }

  double judge_any_size(const Group& group) {
    const bool additive = form_.kind == HeadKind::ratio;
    if (!gains_reach(group.h[0], group.h, additive)) return kNone;
    double best = -kInfinity, sum = 0, constant = group.h[0];
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const double g = gain(group, e, constant);
      gains_[e] = g;
      best = std::max(best, g);
      sum += std::max(g, 0.0);
    }
    const double reached = constant + (additive && best > 0 ? sum : best);
    if (reached < -group.slack) return kNone;
    if (reached > group.slack || !levels_.decides(group)) return kAny;
    const double floor = (additive ? std::min(best, 0.0) : -constant) - group.slack;
    double tp = 0;
    for (std::size_t e = 0; e < labels_.size(); ++e)
      if (gains_[e] >= floor) tp += right(group, e);
    return tp;
  }

  // With a lift: a head of k labels must reach level / rho(k) without it; then so do the k largest gains. Lanes decide
  // about most bodies, first for all groups of sizes, then for the sizes of those that are left.
  double judge_sizes(bool leaving, bool stretch) {
    const std::size_t side = std::size_t(leaving) + 2 * std::size_t(stretch);
    double tp = kNone;
    const auto judge_size = [&](std::size_t, const Group& size, double bound) {
      tp = bound > size.slack || !levels_.decides(size) ? kAny : std::max(tp, most_right(size, side));
      return tp < kAny;
    };
    look(blocks_.front(), side, [&](std::size_t g, const Group& group, double bound) {
      if (group.min_size == group.max_size) return judge_size(g, group, bound);
      for (std::size_t b = first_block_[g]; b < first_block_[g + 1] && tp < kAny; ++b)
        look(blocks_[b], side, judge_size);
      return tp < kAny;
    });
    return tp;
  }

  // Shows the groups of a block that may reach the level, with their largest sums, as long as show() wants more.
  template <class Show>
  void look(Block& block, std::size_t side, Show&& show) {
    follow_level(block);
    alignas(64) float reached[kLanes];
    auto& thresholds = block.thresholds[side % 2];
    const Labels labels{reach_.numbers.data(), barred_.data(), outside_.data(),
                        reach_.stride,         labels_.size(), form_.scope};
    if (!judge_lanes(labels, block.lanes, thresholds.data(), reached)) return;
    for (std::size_t g = 0; g < block.groups.size(); ++g) {
      if (reached[g] < 0) continue;
      const Group& group = block.groups[g];
      // Perhaps only because the threshold comes from another body; the sizes of a group tell that better.
      double bound = kInfinity;
      if (side >= 2 || group.min_size == group.max_size) {
        bound = largest_sum(sort_gains(group, side), group);
        thresholds[g] = threshold(group);
      }
      if (bound >= -group.slack && !show(g, group, bound)) return;
    }
  }

  // What tells the largest gains from the others.
  float threshold(const Group& group) const {
    const double last = gains_[group.max_size - 1], first = gains_[group.min_size - 1];
    double t = 0;
    if (last > 0) t = (last + (group.max_size < gains_.size() ? std::max(0.0, gains_[group.max_size]) : 0)) / 2;
    else if (first < 0) t = (first + (group.min_size > 1 ? std::min(0.0, gains_[group.min_size - 2]) : 0)) / 2;
    return std::isfinite(t) ? static_cast<float>(t) : 0;
  }

  // The gains of all labels at the level of a group, largest first, and what is added outside of the head. Their order
  // is nearly that of the last time.
  double sort_gains(const Group& group, std::size_t side) {
    std::vector<std::uint32_t>& order = order_[side];
    double outside = group.h[0];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t e = order[i];
      const double g = gain(group, e, outside);
      std::size_t j = i;
      for (; j > 0 && gains_[j - 1] < g; --j) gains_[j] = gains_[j - 1], order[j] = order[j - 1];
      gains_[j] = g;
      order[j] = e;
    }
    return outside;
  }

  // The largest sum of gains over the sizes of a group.
  double largest_sum(double sum, const Group& group) const {
    double best_sum = -kInfinity;
    for (std::size_t k = 1; k <= group.max_size; ++k) {
      sum += gains_[k - 1];
      if (k >= group.min_size) best_sum = std::max(best_sum, sum);
    }
    return best_sum;
  }

  // The most true positives of a head whose gains add up to as much as any of its size, from gains that were just
  // sorted: it has the labels that gain most, and any among those that gain as much as the last one.
  double most_right(const Group& size, std::size_t side) {
    const double last = gains_[size.max_size - 1];
    std::size_t open = size.max_size;
    double right_of_first = 0;
    weights_.clear();
    for (std::size_t i = 0; i < gains_.size() && gains_[i] >= last - size.slack; ++i) {
      const double tp = right(size, order_[side][i]);
      if (gains_[i] > last + size.slack) right_of_first += tp, --open;
      else weights_.push_back(tp);
    }
    std::sort(weights_.begin(), weights_.end(), std::greater<>());
    for (std::size_t i = 0; i < open; ++i) right_of_first += weights_[i];
    return right_of_first;
  }

  std::uint64_t version_ = 0;  // of the level
  SizeLevels levels_;
  Group whole_;  // heads of any size, without a lift
  bool always_ = false;
  std::vector<double> gains_, weights_;
  std::vector<Block> blocks_;  // all groups, then the sizes of each
  std::vector<std::size_t> first_block_;
  std::vector<std::uint32_t> order_[4];  // of labels by their gains, by side of the boundary
};

}  // namespace

std::unique_ptr<Filter> make_ratio_filter(const Judged& judged) { return std::make_unique<RatioFilter>(judged); }

}  // namespace polyrule
