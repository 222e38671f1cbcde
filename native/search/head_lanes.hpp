// Heads as lanes, by example-wise Hamming accuracy.
//
// A covered example is worth the share of right ones among the head's labels that are unset on it, another one the
// share of absent ones. Both are whole numbers of a unit that the sizes of heads divide, so the value of a head is a
// sum over rows, and it is known exactly for all bodies of a column as their rows join. Examples on which the same
// labels are present and the same are set add the same.
//
// Where there are too many heads, those of a few labels speak for the larger ones: a head is worth no more than the
// mean over its parts of one size, if an example on which all labels of a part are set counts as right
// (docs/theory.md).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/node.hpp"
#include "scoring/form.hpp"

namespace polyrule {

class HeadLanes {
 public:
  // None if there are too many pairs of labels, or sums do not fit.
  static std::unique_ptr<const HeadLanes> of(const Node& node, const State& state, const Form& form);

  std::size_t size() const { return 2 * lanes_; }  // of the sums
  Count unit() const { return unit_; }
  // Adds what these rows add if they are covered, more than if they are not; then that of the rows that gain, by
  // itself.
  void add(const std::uint32_t* slots, std::size_t count, const std::uint32_t* weights, std::uint32_t* sums) const;
  // By head, the largest sum from one boundary to another; the largest of all is returned. `all`: the sums of all rows,
  // where the others are covered.
  std::int32_t reach(const std::uint32_t* from, const std::uint32_t* to, const std::uint32_t* all,
                     std::vector<std::int32_t>& out) const;
  using Head = std::vector<std::uint32_t>;  // of literals: 2 * e + value, e counting the node's labels
  const std::vector<Head>& heads() const { return heads_; }
  bool speaks_for_larger(const Head& head) const { return head.size() == parts_; }

 private:
  HeadLanes() = default;
  bool list_heads(const Node& node, std::size_t max_size);
  std::int32_t value_of(const Head& head, const std::vector<int>& outcomes, bool covered) const;

  Count unit_ = 1;
  std::size_t parts_ = 0;  // the size of heads that speak for larger ones; 0: there are no others
  std::size_t lanes_ = 0;  // rounded up to whole vectors
  std::vector<Head> heads_;
  std::vector<std::int32_t> nothing_;      // by head, the sum of the body that covers nothing
  std::vector<std::uint32_t> pattern_of_;  // by slot
  std::vector<std::int32_t> gains_;        // by pattern and head
};

}  // namespace polyrule
