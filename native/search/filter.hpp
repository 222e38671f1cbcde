// A quick test of candidates: can the best head of a body reach a value at all? In doubles with room for rounding, from
// sums that a scan keeps per label. "No" is always right; "perhaps" is for the exact search to decide.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "data/node.hpp"
#include "judge/formula.hpp"
#include "judge/micro.hpp"
#include "search/micro_lanes.hpp"
#include "search/size_lanes.hpp"
#include "search/sums.hpp"

namespace polyrule {

class Filter {
 public:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // `tie`: the level is reached, if at all, but not exceeded.
  enum class Verdict { no, tie, perhaps };

  Filter(const std::vector<NodeLabel>& labels, const State& state, const Form& form, const Sums& sums)
      : labels_(labels), state_(state), form_(form), sums_(sums), micro_(form) {
    const Coefficients rows = coefficients(form, state.working_weight);
    num_ = rows.num;
    den_ = rows.den;
    gains_.resize(labels.size());
    weights_.resize(labels.size());
    group_sizes();
    if (!form.rho.empty()) prepare_lanes();
    rates_.resize(4 * sums.stride());
    micro_lanes_.set_labels(labels, sums.stride());
  }

  static void kinds(const Four& sums, Count out[4]) {
    out[kPresent] = Count(sums[0]);
    out[kAbsent] = Count(sums[1]);
    out[kPresentSet] = Count(sums[2]) - out[kPresent];
    out[kAbsentSet] = Count(sums[3]) - out[kAbsent];
  }

  // From now on heads must reach `level`.
  void set_level(const Fraction& level) {
    has_level_ = true;
    always_ = !form_.rho.empty() && level.num <= 0;
    level_ = level;
    ++version_;
    if (form_.rho.empty()) set_group(groups_.front());
    micro_.set_level(level);
    micro_lanes_.set_level(form_, level);
    lowered_ = as_double(level) - 1e-13;  // formulas and their parts lie between -1 and 1
  }

  // Whether a body may reach the level: the rows that have been summed up or (`leaving`) the others. If not, `wait` is
  // a weight that must first join or leave the body before it may. If it can only tie, no head has more than `tp` true
  // positives.
  Verdict judge(bool leaving, double& wait, double& tp) {
    const auto at = [&](std::size_t e) { return sums_.of(e, leaving); };
    wait = 0;
    if (!has_level_ || always_) return Verdict::perhaps;
    if (form_.kind == HeadKind::micro && MicroLanes::applies(form_)) {
      sums_.rates(leaving, rates_.data());
      if (!micro_lanes_.judge(rates_.data(), leaving, wait)) return Verdict::no;
    }
    if (form_.formula != Formula::none)
      return (form_.kind == HeadKind::micro ? any_head(at) : any_literal(at)) ? Verdict::perhaps : Verdict::no;
    if (!form_.rho.empty()) return judge_sizes(at, leaving, wait, tp);
    return judge_any_size(at, groups_.front(), leaving, wait, tp);
  }

 private:
  // Head sizes that are judged together. num / den >= level is num - level * den >= 0, a sum over the head's labels.
  struct Group {
    std::size_t least, most;
    Count rho;  // the largest factor among them
    double h[5] = {0, 0, 0, 0, 0};
    double drop = 0;             // see set_drop
    double slack = 0;            // more than what rounding adds up to
    double fastest[2] = {0, 0};  // the most that a label's sum can rise while weight 1 joins or leaves
  };

  // Groups with a lane for each.
  struct Block {
    std::vector<Group> groups;
    SizeLanes lanes;
    SizeLanes::Lanes thresholds[2];  // by side of the boundary
    std::uint64_t version;
    double soonest(const SizeLanes::Lanes& waits) const {
      return std::max(0.0, double(*std::min_element(waits.begin(), waits.begin() + std::ptrdiff_t(groups.size()))));
    }
  };

  // With a lift, sizes whose factors are about the same go together.
  void group_sizes() {
    const std::size_t most = std::min(form_.max_head, labels_.size());
    if (form_.rho.empty()) {
      groups_.push_back({1, most, kLiftScale});
      return;
    }
    for (std::size_t size = 1; size <= most; ++size) sizes_.push_back({size, size, form_.rho[size]});
    groups_ = sizes_;
    for (double spread = 1e-4; groups_.size() > SizeLanes::kLanes; spread *= 2) {
      groups_ = {sizes_.front()};
      Count low = groups_.front().rho;
      for (std::size_t i = 1; i < sizes_.size(); ++i) {
        Group& last = groups_.back();
        low = std::min(low, sizes_[i].rho);
        const Count high = std::max(last.rho, sizes_[i].rho);
        if (double(high) > double(low) * (1 + spread)) {
          groups_.push_back(sizes_[i]);
          low = sizes_[i].rho;
        } else {
          last.most = sizes_[i].most;
          last.rho = high;
        }
      }
    }
  }

  void set_group(Group& group) const {
    const double value = as_double(level_) * (double(kLiftScale) / double(group.rho));
    double num = 0, den = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      group.h[i] = double(num_[i]) - value * double(den_[i]);
      num = std::max(num, std::abs(double(num_[i])));
      den = std::max(den, std::abs(double(den_[i])));
    }
    const double cells = 4 * (double(state_.working_weight) + 1) * double(labels_.size() + 1);
    group.slack = std::ldexp((num + std::abs(value) * den) * cells, -46);
    const double* h = group.h;
    const double steps[] = {h[1] - h[4], h[1] - h[3], h[2] - h[4], h[2] - h[3], -h[3], -h[4]};
    group.fastest[0] = std::max(0.0, *std::max_element(std::begin(steps), std::end(steps)));
    group.fastest[1] = std::max(0.0, -*std::min_element(std::begin(steps), std::end(steps)));
  }

  // A group is judged at the lowest level of its sizes. Heads of k labels need (level of k - lowest level) * D more,
  // and each of their k literals adds to D. `drop`: the largest number such that this is at least drop * (1 down to 0,
  // as k goes from the smallest to the largest size) times what one literal adds.
  void set_drop(Group& group) const {
    group.drop = 0;
    if (form_.scope != Scope::head) return;
    const double value = as_double(level_) * double(kLiftScale), lowest = value / double(group.rho);
    double drop = kInfinity, highest = lowest;
    for (std::size_t size = group.least; size < group.most; ++size) {
      const double level = value / double(form_.rho[size]);
      highest = std::max(highest, level);
      drop = std::min(drop,
                      double(size) * (level - lowest) * double(group.most - group.least) / double(group.most - size));
    }
    group.drop = std::max(0.0, drop);
    // What the smallest denominator loses while a weight moves, the drop loses, too.
    const double most = double(*std::max_element(den_.begin() + 1, den_.end()));
    for (double& speed : group.fastest) speed += (highest - lowest) * std::max(0.0, most);
  }

  // The least that a literal adds to the denominator, 0 if it may take something away.
  float least_denominator() const {
    if (form_.scope != Scope::head || groups_.size() == sizes_.size()) return 0;
    const std::size_t n = sums_.stride();
    const float d[] = {float(den_[1]), float(den_[2]), float(den_[3]), float(den_[4])};
    float least = std::numeric_limits<float>::max();
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const float tp = rates_[e], fp = rates_[n + e], rest = d[2] * rates_[2 * n + e] + d[3] * rates_[3 * n + e];
      const float present = rest + d[0] * tp + d[1] * fp, absent = rest + d[0] * fp + d[1] * tp;
      const float lower = std::min(tp > 0 ? present : least, fp > 0 ? absent : least);
      least = std::min(least, lower);
    }
    return std::max(0.0f, least * (1 - 1e-5f));
  }

  // Whether sums that differ at all at the level of a group differ by more than rounding adds up to.
  bool decides(const Group& group) const {
    Fraction level = level_;
    if (form_.rho.empty()) {
      level = make_fraction(level.num, level.den);
    } else {
      if (level.num >= Wide{1} << 90 || level.den >= Wide{1} << 90) return false;
      level = make_fraction(level.num * kLiftScale, level.den * group.rho);
    }
    return double(level.den) * group.slack * 4 < 1;
  }

  void prepare_lanes() {
    std::vector<std::array<bool, 2>> allowed;
    outside_.assign(2 * sums_.stride(), 0);
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      allowed.push_back({labels_[e].allowed[0], labels_[e].allowed[1]});
      outside_[e] = static_cast<float>(labels_[e].absent);
      outside_[sums_.stride() + e] = static_cast<float>(labels_[e].present);
    }
    for (auto& order : order_)
      for (std::uint32_t e = 0; e < labels_.size(); ++e) order.push_back(e);
    blocks_.push_back({groups_, {}, {}, 0});
    for (const Group& group : groups_) {
      first_block_.push_back(blocks_.size());
      for (std::size_t size = group.least; size <= group.most; size += SizeLanes::kLanes) {
        const std::size_t end = std::min(group.most + 1, size + SizeLanes::kLanes);
        blocks_.push_back(
            {{sizes_.begin() + std::ptrdiff_t(size - 1), sizes_.begin() + std::ptrdiff_t(end - 1)}, {}, {}, 0});
      }
    }
    first_block_.push_back(blocks_.size());
    for (Block& block : blocks_) {
      block.lanes.set_labels(allowed, sums_.stride());
      for (auto& thresholds : block.thresholds) thresholds.fill(0);
    }
  }

  void follow_level(Block& block) const {
    if (block.version == version_) return;
    block.version = version_;
    std::vector<SizeLanes::Lane> lanes;
    for (Group& group : block.groups) {
      set_group(group);
      if (group.least < group.most) set_drop(group);
      lanes.push_back({group.least, group.most, {}, {group.fastest[0], group.fastest[1]}, group.drop});
      std::copy(std::begin(group.h), std::end(group.h), lanes.back().h);
    }
    block.lanes.set_level(lanes, double(state_.working_weight), form_.scope);
  }

  // What a label adds to the sum as the better of its literals, less what it adds outside the head; that goes to
  // `outside`.
  double gain(const Group& group, std::size_t e, const Four& sums, double& outside) const {
    const double* h = group.h;
    const NodeLabel& label = labels_[e];
    const double base = h[3] * double(label.absent) + h[4] * double(label.present);
    const double common = base - h[4] * sums[2] - h[3] * sums[3];
    const double present = common + h[1] * sums[0] + h[2] * sums[1];
    const double absent = common + h[1] * sums[1] + h[2] * sums[0];
    const double best = label.allowed[0] ? (label.allowed[1] ? std::max(present, absent) : absent)
                                         : (label.allowed[1] ? present : -kInfinity);
    if (form_.scope == Scope::head) return best;
    const double other = form_.scope == Scope::all ? base : absent;
    outside += other;
    return best - other;
  }

  // The most true positives a literal of the label can have.
  double right(std::size_t e, const Four& sums) const {
    return std::max(labels_[e].allowed[0] ? sums[1] : 0, labels_[e].allowed[1] ? sums[0] : 0);
  }

  // The weight that must move until so much is gained.
  static double weight_for(double missing, double speed) {
    if (!(missing > 0)) return 0;
    return speed > 0 ? missing / speed : kInfinity;
  }

  template <class At>
  Verdict judge_any_size(At&& at, const Group& group, bool leaving, double& wait, double& tp) {
    const bool additive = form_.kind == HeadKind::ratio, head = form_.scope == Scope::head;
    double best = -kInfinity, sum = 0, constant = group.h[0];
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const double g = gain(group, e, at(e), constant);
      gains_[e] = g;
      best = std::max(best, g);
      sum += std::max(g, 0.0);
    }
    const double reached = constant + (additive && best > 0 ? sum : best);
    if (reached < -group.slack) {
      if (head) {  // as long as no label gains this much, no head can reach the level
        const double needed = additive && constant < 0 ? -constant / double(labels_.size()) : -constant;
        wait = weight_for(needed - best - 2 * group.slack, group.fastest[leaving]);
      } else {
        wait = weight_for(-reached - 2 * group.slack, 2 * double(labels_.size()) * group.fastest[leaving]);
      }
      return Verdict::no;
    }
    if (reached > group.slack || !decides(group)) return Verdict::perhaps;
    const double least = (additive ? std::min(best, 0.0) : -constant) - group.slack;
    tp = 0;
    for (std::size_t e = 0; e < labels_.size(); ++e)
      if (gains_[e] >= least) tp += right(e, at(e));
    return Verdict::tie;
  }

  // With a lift: a head of k labels must reach level / rho(k) without it; then so do the k largest gains. Lanes tell
  // most bodies, first for all groups of sizes, then for the sizes of those that are left.
  template <class At>
  Verdict judge_sizes(At&& at, bool leaving, double& wait, double& tp) {
    sums_.rates(leaving, rates_.data());
    denominator_ = least_denominator();
    Verdict verdict = Verdict::no;
    double soonest = kInfinity;
    tp = 0;
    const auto judge_size = [&](std::size_t, const Group& size, double most) {
      if (most > size.slack || !decides(size)) return verdict = Verdict::perhaps, false;
      verdict = Verdict::tie;
      tp = std::max(tp, most_right(at, size.most));
      return true;
    };
    look(at, blocks_.front(), leaving, soonest, [&](std::size_t g, const Group& group, double most) {
      if (group.least == group.most) return judge_size(g, group, most);
      for (std::size_t b = first_block_[g]; b < first_block_[g + 1] && verdict != Verdict::perhaps; ++b)
        look(at, blocks_[b], leaving, soonest, judge_size);
      return verdict != Verdict::perhaps;
    });
    wait = verdict == Verdict::no ? soonest : 0;
    return verdict;
  }

  // Shows the groups of a block that may reach the level, with their largest sums, as long as show() wants more. For
  // the others, `soonest` goes down to the weight that must move before one of them may.
  template <class At, class Show>
  void look(At&& at, Block& block, bool leaving, double& soonest, Show&& show) {
    follow_level(block);
    SizeLanes::Lanes reach, waits, &thresholds = block.thresholds[leaving];
    block.lanes.judge(rates_.data(), outside_.data(), thresholds, denominator_, leaving, reach, waits);
    for (std::size_t g = 0; g < block.groups.size(); ++g) {
      const Group& group = block.groups[g];
      if (reach[g] < 0) {
        soonest = std::min(soonest, std::max(0.0, double(waits[g])));
        continue;
      }
      // perhaps only because the threshold comes from another body
      const double most = largest_sum(sort_gains(at, group, leaving), group);
      thresholds[g] = threshold(group);
      if (most < -group.slack) {
        const double labels = double(form_.scope == Scope::head ? group.most : 2 * labels_.size());
        soonest = std::min(soonest, weight_for(-most - 2 * group.slack, labels * group.fastest[leaving]));
      } else if (!show(g, group, most)) {
        return;
      }
    }
  }

  // What tells the largest gains from the others.
  float threshold(const Group& group) const {
    const double last = gains_[group.most - 1], first = gains_[group.least - 1];
    double t = 0;
    if (last > 0) t = (last + (group.most < gains_.size() ? std::max(0.0, gains_[group.most]) : 0)) / 2;
    else if (first < 0) t = (first + (group.least > 1 ? std::min(0.0, gains_[group.least - 2]) : 0)) / 2;
    return std::isfinite(t) ? static_cast<float>(t) : 0;
  }

  // The gains of all labels at the level of a group, largest first, and what is added outside of the head. Their order
  // is nearly that of the last time.
  template <class At>
  double sort_gains(At&& at, const Group& group, bool leaving) {
    std::vector<std::uint32_t>& order = order_[leaving];
    double outside = group.h[0];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t e = order[i];
      const double g = gain(group, e, at(e), outside);
      std::size_t j = i;
      for (; j > 0 && gains_[j - 1] < g; --j) gains_[j] = gains_[j - 1], order[j] = order[j - 1];
      gains_[j] = g;
      order[j] = e;
    }
    return outside;
  }

  // The largest sum of gains over the sizes of a group.
  double largest_sum(double sum, const Group& group) const {
    double most = -kInfinity;
    for (std::size_t k = 1; k <= group.most; ++k) {
      sum += gains_[k - 1];
      if (k < group.least) continue;
      const double drop = k < group.most ? group.drop * double(group.most - k) / double(group.most - group.least) : 0;
      most = std::max(most, sum - drop * double(denominator_));
    }
    return most;
  }

  // The most true positives of a head of so many labels.
  template <class At>
  double most_right(At&& at, std::size_t size) {
    for (std::size_t e = 0; e < labels_.size(); ++e) weights_[e] = right(e, at(e));
    sort_first(weights_, size);
    double right = 0;
    for (std::size_t k = 0; k < size; ++k) right += weights_[k];
    return right;
  }

  static void sort_first(std::vector<double>& numbers, std::size_t count) {
    if (numbers.size() > 16) {
      std::partial_sort(numbers.begin(), numbers.begin() + std::ptrdiff_t(count), numbers.end(), std::greater<>());
      return;
    }
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      const double x = numbers[i];
      std::size_t j = i;
      for (; j > 0 && numbers[j - 1] < x; --j) numbers[j] = numbers[j - 1];
      numbers[j] = x;
    }
  }

  // Other measures of the counts, where a head is worth as much as its best literal.
  template <class At>
  bool any_literal(At&& at) {
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const Four sums = at(e);
      const double tn = double(labels_[e].absent) - sums[3];
      const double fn = double(labels_[e].present) - sums[2];
      for (int v = 0; v < 2; ++v)
        if (labels_[e].allowed[v] && sums[1 - v] > 0 &&
            formula_estimate(form_, sums[1 - v], sums[v], tn, fn) >= lowered_)
          return true;
    }
    return false;
  }

  // Other measures of the counts summed over a head: see micro.hpp.
  template <class At>
  bool any_head(At&& at) {
    items_.clear();
    for (std::uint32_t e = 0; e < labels_.size(); ++e) {
      const Four sums = at(e);
      const double tn = double(labels_[e].absent) - sums[3];
      const double fn = double(labels_[e].present) - sums[2];
      for (int v = 0; v < 2; ++v)
        if (labels_[e].allowed[v] && sums[1 - v] > 0) items_.push_back({sums[1 - v], sums[v], tn, fn, e, 0});
    }
    return micro_.narrow(items_, none_, 1e-11 * double(state_.working_weight + 1) * double(labels_.size() * 2));
  }

  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const Form& form_;
  const Sums& sums_;
  std::array<Count, 5> num_{}, den_{};
  bool has_level_ = false, always_ = false;
  Fraction level_;
  std::uint64_t version_ = 0;
  double lowered_ = 0;
  MicroGains micro_;
  MicroLanes micro_lanes_;
  std::vector<MicroItem> items_, none_;
  std::vector<Group> groups_, sizes_;  // sizes_: every size by itself, where there is a lift
  std::vector<double> gains_, weights_;
  std::vector<Block> blocks_;  // all groups, then the sizes of each
  std::vector<std::size_t> first_block_;
  std::vector<std::uint32_t> order_[2];  // of labels by their gains, by side of the boundary
  std::vector<float> rates_, outside_;
  float denominator_ = 0;
};

}  // namespace polyrule
