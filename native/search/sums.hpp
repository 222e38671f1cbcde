// What is covered of every label, for the rows on one side of a boundary: kept up to date row by row, all labels at
// once.
#pragma once

#include <cstdint>
#include <vector>

#include "core/lanes.hpp"
#include "data/node.hpp"
#include "search/head_lanes.hpp"
#include "search/reach.hpp"

namespace polyrule {

// The bodies on one side of some boundaries, from the sums at the first to those at the last.
struct Stretch {
  const std::uint32_t *from, *to;
  bool leaving;  // whether the rows that are summed up are left out, not covered
  Count weight;  // of the smallest body
  bool is_single() const { return from == to; }
};

// By slot and label of the node, which sums a covered row counts in, one bit each: unset and present, unset and absent,
// present, absent.
class Codes {
 public:
  // `heads`: lanes that are summed up besides, if there are any.
  Codes(const Node& node, const State& state, std::unique_ptr<const HeadLanes> heads);
  std::size_t stride() const { return stride_; }  // labels, rounded up to whole vectors
  const std::uint8_t* data() const { return codes_.data(); }
  const HeadLanes* heads() const { return heads_.get(); }
  std::size_t sums() const { return 4 * stride_ + (heads_ ? heads_->size() : 0); }
  std::size_t work() const { return codes_.size() / 8; }

 private:
  std::size_t stride_;
  std::vector<std::uint8_t> codes_;
  std::unique_ptr<const HeadLanes> heads_;
};

// Sums are below 2**31, as all weights together are.
class Sums {
 public:
  using Number = std::uint32_t;

  Sums(const Node& node, const State& state, const Codes& codes);

  Count moved() const { return moved_; }
  std::size_t stride() const { return codes_.stride(); }

  void begin();
  // Rows may carry the mark of a sequence.
  void add(const std::uint32_t* slots, std::size_t count);
  void add(std::uint32_t slot) { add(&slot, 1); }

  // The rows added so far are all that have no value: what is left is the whole of the feature.
  void leave_out();
  void leave_out_none() { all_ = node_all_; }

  // The rows added so far are all but the block; remember the block, and add it later.
  void keep_rest(Count total);
  Count rest_weight() const { return rest_weight_; }
  void add_rest();

  // Remembers the sums as they are; marks are counted from 0. `go_to` takes them up again.
  void clear_marks() { marks_.clear(); }
  void mark() { marks_.insert(marks_.end(), sum_.begin(), sum_.end()); }
  void go_to(std::size_t mark, Count moved);
  // The body of the rows added so far, or of the others; and those from one mark to another.
  Stretch current(bool leaving, Count weight) const { return {sum_.data(), sum_.data(), leaving, weight}; }
  Stretch between(std::size_t first, std::size_t last, bool leaving, Count weight) const {
    return {marks_.data() + first * sum_.size(), marks_.data() + last * sum_.size(), leaving, weight};
  }

  // The four sums of a label in the smallest and in the largest body of a stretch.
  struct Ends {
    Count low[4], high[4];
  };
  Ends ends(const Stretch& stretch, std::size_t e) const {
    Ends out;
    for (std::size_t p = 0; p < 4; ++p) {
      const std::size_t at = p * stride() + e;
      const Count from = stretch.from[at], to = stretch.to[at], all = all_[at];
      out.low[p] = stretch.leaving ? all - to : from;
      out.high[p] = stretch.leaving ? all - from : to;
    }
    return out;
  }

  // What the literals have at most in any body of a stretch.
  void reach(const Stretch& stretch, Reach& out) const;
  // The same for heads, where they are lanes.
  const HeadLanes* heads() const { return codes_.heads(); }
  std::int32_t reach(const Stretch& stretch, std::vector<std::int32_t>& out) const {
    const std::size_t first = 4 * stride();
    return heads()->reach(stretch.from + first, stretch.to + first, stretch.leaving ? all_.data() + first : nullptr,
                          out);
  }

 private:
  const Node& node_;
  const State& state_;
  const Codes& codes_;
  std::vector<Number> all_, node_all_, sum_, rest_;  // by sum, then by label; then those of heads
  std::vector<Number> totals_;                       // absent, present in the working set
  std::vector<Number> marks_;
  std::vector<std::uint32_t> weights_;
  Count moved_ = 0, rest_weight_ = 0;
};

}  // namespace polyrule
