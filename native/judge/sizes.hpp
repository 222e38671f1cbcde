// Which sizes of a head can be best under a lift: in doubles, for the exact search to decide among them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "judge/form.hpp"

namespace polyrule {

// What a literal adds to numerator and denominator; literals of a label come one after the other.
struct RatioTerm {
  std::size_t label;
  double num, den;
};

struct LikelySize {
  std::size_t size;
  std::vector<std::size_t> head;  // a good one of this size, as places among the terms
};

// Heads of size k reach a lifted value v if the k largest gains num - v/rho(k)*den add up to at least 0
// (docs/theory.md). The value that some head of some size reaches is raised until no size exceeds it; sizes that stay
// below it, or below `level`, are left out. Ascending.
class LikelySizes {
 public:
  LikelySizes(const std::vector<RatioTerm>& terms, double base_num, double base_den, const std::vector<Count>& rho)
      : terms_(terms), base_num_(base_num), base_den_(base_den), rho_(rho) {
    double largest_num = std::abs(base_num), largest_den = std::abs(base_den);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (i == 0 || terms[i].label != terms[i - 1].label) first_.push_back(i);
      largest_num += std::abs(terms[i].num);
      largest_den += std::abs(terms[i].den);
    }
    first_.push_back(terms.size());
    for (std::size_t l = 0; l + 1 < first_.size(); ++l) order_.push_back({0, l, 0});
    largest_num_ = largest_num;
    largest_den_ = largest_den;
  }

  std::vector<LikelySize> find(std::size_t most, const Fraction* level) {
    std::vector<std::size_t> open;
    for (std::size_t size = 1; size <= most; ++size) open.push_back(size);
    bool has_value = level != nullptr;
    double value = level ? as_double(*level) : 0;
    for (bool raised = true; raised;) {
      raised = false;
      std::vector<std::size_t> still;
      for (const std::size_t size : open) {
        if (has_value && sum_at(size, value) < -slack(size, value)) continue;
        still.push_back(size);
        if (!has_value) sum_at(size, 0);
        const double reached = value_of(size);
        if (has_value && !(reached > value + 1e-12 * std::abs(value))) continue;
        value = reached;
        has_value = raised = true;
      }
      open = std::move(still);
    }
    std::vector<LikelySize> found;
    for (const std::size_t size : open) {
      if (sum_at(size, value) < -slack(size, value)) continue;
      found.push_back({size, {}});
      for (std::size_t k = 0; k < size; ++k) found.back().head.push_back(order_[k].term);
    }
    return found;
  }

 private:
  struct Label {
    double gain;
    std::size_t label, term;  // the better of its literals
  };

  double factor(std::size_t size) const { return double(rho_[size]) / double(kLiftScale); }

  // Puts the labels in the order of their gains, which differs little from the last one.
  double sum_at(std::size_t size, double value) {
    const double at = value / factor(size);
    for (Label& label : order_) {
      label.gain = -std::numeric_limits<double>::infinity();
      for (std::size_t i = first_[label.label]; i < first_[label.label + 1]; ++i) {
        const double gain = terms_[i].num - at * terms_[i].den;
        if (gain > label.gain) label.gain = gain, label.term = i;
      }
    }
    for (std::size_t i = 1; i < order_.size(); ++i) {
      const Label moved = order_[i];
      std::size_t j = i;
      for (; j > 0 && order_[j - 1].gain < moved.gain; --j) order_[j] = order_[j - 1];
      order_[j] = moved;
    }
    double sum = base_num_ - at * base_den_;
    for (std::size_t k = 0; k < size; ++k) sum += order_[k].gain;
    return sum;
  }

  double value_of(std::size_t size) const {
    double num = base_num_, den = base_den_;
    for (std::size_t k = 0; k < size; ++k) num += terms_[order_[k].term].num, den += terms_[order_[k].term].den;
    return den > 0 ? num / den * factor(size) : 0;
  }

  // More than rounding adds up to, also that of the value itself.
  double slack(std::size_t size, double value) const {
    return 1e-10 * (largest_num_ + std::abs(value) / factor(size) * largest_den_);
  }

  const std::vector<RatioTerm>& terms_;
  double base_num_, base_den_, largest_num_ = 0, largest_den_ = 0;
  const std::vector<Count>& rho_;
  std::vector<std::size_t> first_;
  std::vector<Label> order_;
};

}  // namespace polyrule
