// What is covered of every label, for the rows on one side of a boundary: kept up to date row by row, all labels at
// once.
#pragma once

#include <cstdint>
#include <vector>

#include "core/lanes.hpp"
#include "data/node.hpp"
#include "search/reach.hpp"

namespace polyrule {

// Covered weight of one label: unset and present, unset and absent, present, absent.
using Four = Lanes<double, 4>;

// By slot and label of the node, which of the four sums a covered row counts in: one bit each.
class Codes {
 public:
  Codes(const Node& node, const State& state);
  std::size_t stride() const { return stride_; }  // labels, rounded up to whole vectors
  const std::uint8_t* data() const { return codes_.data(); }
  std::size_t work() const { return codes_.size() / 8; }

 private:
  std::size_t stride_;
  std::vector<std::uint8_t> codes_;
};

// Sums are below 2**32, as all weights together are. An offset is in them from the beginning, and in the sums of all
// rows twice, so that what is left if the others are taken away has it once.
class Sums {
 public:
  using Number = std::uint32_t;

  Sums(const Node& node, const State& state, const Codes& codes, const Offset* offset);

  Count moved() const { return moved_; }
  std::size_t stride() const { return codes_.stride(); }

  void begin();
  // Rows may carry the mark of a sequence.
  void add(const std::uint32_t* slots, std::size_t count);
  void add(std::uint32_t slot) { add(&slot, 1); }
  Count weight(std::uint32_t entry) const { return state_.unit ? 1 : state_.weights[node_.row(entry & kEntry)]; }

  // The rows added so far are all that have no value: what is left is the whole of the feature.
  void leave_out();
  void leave_out_none() { all_ = node_all_; }

  // The rows added so far are all but the block; remember the block, and add it later.
  void keep_rest(Count total);
  Count rest_weight() const { return rest_weight_; }
  void add_rest();

  // Sums of a label if the rows added so far are covered, and (`outside`) if the others are.
  Four of(std::size_t e, bool outside) const {
    const std::size_t n = stride();
    const auto pick = [&](std::size_t p) {
      const Number here = sum_[p * n + e];
      return double(outside ? all_[p * n + e] - here : here);
    };
    return Four{pick(0), pick(1), pick(2), pick(3)};
  }

  // Remembers the sums as they are; marks are counted from 0. `go_to` takes them up again.
  void clear_marks() { marks_.clear(); }
  void mark() { marks_.insert(marks_.end(), sum_.begin(), sum_.end()); }
  void go_to(std::size_t mark, Count moved);
  // The sums at a mark, and as they are: by sum, then by label.
  const Number* at(std::size_t mark) const { return marks_.data() + mark * sum_.size(); }
  const Number* sums() const { return sum_.data(); }

  // The four sums of a label in the smallest and in the largest body, from one mark or sum to another.
  struct Ends {
    Count least[4], most[4];
  };
  Ends ends(const Number* from, const Number* to, bool outside, std::size_t e) const {
    Ends out;
    for (std::size_t p = 0; p < 4; ++p) {
      const std::size_t at = p * stride() + e;
      out.least[p] = outside ? Count(all_[at]) - Count(to[at]) : Count(from[at]);
      out.most[p] = outside ? Count(all_[at]) - Count(from[at]) : Count(to[at]);
    }
    return out;
  }

  // What the literals have at most at any boundary from one mark to another, or (`outside`) on its other side.
  void reach(std::size_t first, std::size_t last, bool outside, Reach& out) const;
  // What they have with the sums as they are.
  void reach(bool outside, Reach& out) const;

 private:
  const Node& node_;
  const State& state_;
  const Codes& codes_;
  std::vector<Number> all_, node_all_, sum_, rest_, offset_;  // by sum, then by label
  std::vector<Number> totals_;                                // absent, present in the working set
  std::vector<Number> marks_;
  std::vector<std::uint32_t> weights_;
  Count moved_ = 0, rest_weight_ = 0;
};

}  // namespace polyrule
