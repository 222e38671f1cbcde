// The level that heads of each size must reach: for a value num / den with a lift rho of the size, num - level / rho *
// den must reach 0, a sum over the head's labels.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/node.hpp"
#include "scoring/form.hpp"

namespace polyrule {

class SizeLevels {
 public:
  static constexpr std::size_t kGroups = 16;  // at most

  // Head sizes that are judged together.
  struct Group {
    std::size_t min_size, max_size;
    Count rho;  // the largest factor among them
    double h[5] = {0, 0, 0, 0, 0};
    double slack = 0;  // more than what rounding adds up to
  };

  SizeLevels(const Form& form, const State& state, std::size_t labels)
      : form_(form), state_(state), labels_(labels), rows_(coefficients(form, state.working_weight)) {
    group_sizes();
  }

  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<Group>& sizes() const { return sizes_; }  // every size by itself, where there is a lift
  void set_level(const Fraction& level) { level_ = level; }

  // What counts add at the level of a group.
  void set_group(Group& group) const {
    const double value = as_double(level_) * (double(kLiftScale) / double(group.rho));
    double num = 0, den = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      group.h[i] = double(rows_.num[i]) - value * double(rows_.den[i]);
      num = std::max(num, std::abs(double(rows_.num[i])));
      den = std::max(den, std::abs(double(rows_.den[i])));
    }
    // Where a true positive takes something away and nothing else gains, no head reaches the level.
    double* h = group.h;
    if (h[1] < 0 && std::max({h[0], h[2], h[3], h[4]}) <= 0) h[0] = -1e30, h[1] = h[3] = 0;
    const double cells = 4 * (double(state_.working_weight) + 1) * double(labels_ + 1);
    // counts up to 2**24 are the same in singles
    const bool exact = state_.working_weight < Count{1} << 24;
    group.slack = std::ldexp((num + std::abs(value) * den) * cells, exact ? -46 : -21);
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

  // Whether more TP and TN and fewer errors are never worse at the level of any size; `right`: whether a TP counts at
  // least as much as a TN; `wrong`: whether an FP takes away at least as much as an FN.
  bool is_monotone(bool& right, bool& wrong) const {
    bool monotone = right = wrong = true;
    for (Group group : sizes_.empty() ? groups_ : sizes_) {
      set_group(group);
      const double* h = group.h;
      monotone = monotone && h[1] >= 0 && h[2] <= 0 && h[3] >= 0 && h[4] <= 0;
      right = right && h[1] >= h[3];
      wrong = wrong && h[2] <= h[4];
    }
    return monotone;
  }

 private:
  // With a lift, sizes whose factors are about the same go together.
  void group_sizes() {
    const std::size_t largest = std::min(form_.max_head, labels_);
    if (form_.rho.empty()) {
      groups_.push_back({1, largest, kLiftScale});
      return;
    }
    for (std::size_t size = 1; size <= largest; ++size) sizes_.push_back({size, size, form_.rho[size]});
    groups_ = sizes_;
    for (double spread = 1e-4; groups_.size() > kGroups; spread *= 2) {
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
          last.max_size = sizes_[i].max_size;
          last.rho = high;
        }
      }
    }
  }

  const Form& form_;
  const State& state_;
  const std::size_t labels_;
  const Coefficients rows_;
  Fraction level_;
  std::vector<Group> groups_, sizes_;
};

}  // namespace polyrule
