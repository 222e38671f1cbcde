// The best few candidates.
#pragma once

#include <algorithm>
#include <vector>

#include "core/assert.hpp"
#include "scoring/rank.hpp"

namespace polyrule {

class Shortlist {
 public:
  explicit Shortlist(std::size_t size) : size_(size) {}
  // Only candidates that beat this value, or tie with it and have more than `tp` true positives, are kept.
  Shortlist(std::size_t size, const Fraction& value, Count tp)
      : size_(size), has_floor_(true), floor_(value), floor_tp_(tp) {}

  bool has_level() const { return has_floor_ || is_full(); }
  // What a candidate must reach to be of any interest.
  const Fraction& level() const { return is_full() ? entries_.back().value : floor_; }
  // The true positives that a candidate at the level needs; with just so many, it may still come too late in the order.
  Count least_tp() const { return is_full() ? entries_.back().tp : floor_tp_ + 1; }

  // Whether a candidate may be kept that comes early enough in the order.
  bool admits(const Fraction& value, Count tp) const {
    if (!has_level()) return true;
    const int order = compare(value, level());
    return order > 0 || (order == 0 && tp >= least_tp());
  }

  // The same for a candidate at the level.
  bool admits_tie(double tp, const Condition& condition) const {
    const double min_tp = double(least_tp());
    return tp > min_tp || (tp == min_tp && (!is_full() || comes_before(condition, entries_.back().condition)));
  }

  // A condition that is offered twice, for different literals, is kept once, as the better of the two.
  void offer(const Scored& candidate) {
    if (!admits(candidate.value, candidate.tp)) return;
    const auto same = std::find_if(entries_.begin(), entries_.end(),
                                   [&](const Scored& entry) { return entry.condition == candidate.condition; });
    if (same != entries_.end()) {
      if (!better(candidate, *same)) return;
      entries_.erase(same);
    }
    const auto at = std::upper_bound(entries_.begin(), entries_.end(), candidate, better);
    if (at == entries_.end() && is_full()) return;
    entries_.insert(at, candidate);
    if (entries_.size() > size_) entries_.pop_back();
    POLYRULE_ASSERT(std::is_sorted(entries_.begin(), entries_.end(), better));
  }

  // Somebody else has found enough candidates of this value; ties with it still count.
  void raise(const Fraction& value) {
    if (has_level() && compare(value, level()) <= 0) return;
    has_floor_ = true;
    floor_ = value;
    floor_tp_ = 0;
    std::erase_if(entries_, [&](const Scored& entry) { return compare(entry.value, value) < 0; });
  }

  // Starts anew from the present level, with which all ties count.
  void forget_ties() {
    has_floor_ = true;
    floor_ = level();
    floor_tp_ = 0;
    entries_.clear();
  }

  void merge(const Shortlist& other) {
    for (const Scored& entry : other.entries_) offer(entry);
  }

  std::size_t size() const { return size_; }
  bool is_full() const { return entries_.size() == size_; }
  const std::vector<Scored>& entries() const { return entries_; }

 private:
  std::size_t size_;
  bool has_floor_ = false;
  Fraction floor_;
  Count floor_tp_ = 0;
  std::vector<Scored> entries_;
};

}  // namespace polyrule
