// A look at sorted columns that costs as much as a label has positive rows.
//
// Along rows that are alike for a label G (singles.hpp) moves on a straight line, so it is largest next to a row of another
// kind. A label's positive rows are mostly few. Where they lie in a column tells all boundaries that matter; how many of the
// other rows lie before each of them is a matter of counting bits, once the cover and the label are known as bits in the order
// of the column. These change little from one body to the next and from one rule to the next, so they are kept.
#pragma once

#include <vector>

#include "node.hpp"
#include "places.hpp"
#include "singles.hpp"

namespace polyrule {

// Tests lower this, so that small data is searched like large data.
struct RunLimits {
  std::size_t least_rows = 4096;  // of a cover
};
inline RunLimits run_limits;

// Bits in the order of a column, and the largest and the smallest sum of gains before a boundary.
struct RunLook {
  const Word *cover, *truth, *unset;  // the rows that have the label, and those on which it is not set yet
  std::size_t words;
  const Count* slope;  // by kind
  Count high, low;
};
void find_extremes(RunLook& look);

// The same without the unset rows: bounds on G by what is known of their number. An unset absent row must not be worth
// less than a set one, and that not less than nothing.
struct RunBound {
  const Word* cover;
  const Word *present, *present_set;
  std::size_t words;
  const Count* slope;
  const Count* kinds;  // of the node
};
Count find_bound(const RunBound& look);

class RunEnds {
 public:
  static constexpr std::size_t kMostLabels = 4;  // that are worth it

  struct Scratch {
    std::vector<Word> present, present_set;  // all zero between two looks
  };

  // Turns to a node. False if its rows or labels are not suited for `reach`.
  bool begin(const Places& places, const State& state, const Node& node);

  static bool handles(const Column& column) { return column.ordered && column.missing.empty(); }

  // What no condition on the column exceeds with a literal of the node's e-th label. It may be the gain of the node itself.
  // Different columns may be looked at at the same time.
  Count reach(std::size_t slot, std::size_t e, int value, const Gains<Count>& gains);

  // Whether the other bound, which needs nothing but the cover, can be had at a low price.
  bool can_bound(const NodeLabel& label, int value, const Gains<Count>& gains) const {
    return 8 * (label.kinds[kPresent] + label.kinds[kPresentSet]) <= node_->weight &&
           gains.slope[value][kAbsent] >= gains.slope[value][kAbsentSet] && gains.slope[value][kAbsentSet] >= 0;
  }
  void update_cover(std::size_t slot) {
    update(covers_[slot], path_, slot, left_, node_->cover.data(), node_->rows.size());
  }
  // What no condition on any column exceeds with a literal; covers must be up to date. Ends when that is not negative.
  Count bound(const NodeLabel& label, int value, const Gains<Count>& gains, Scratch& scratch) const;

 private:
  // Bits in the order of a column, up to date with the first `seen` rows of a log.
  struct Strip {
    std::uint64_t id = 0;
    std::size_t seen = 0;
    std::vector<Word> bits;
  };

  // The rows that have a label, and those on which it is unset. Rows are only ever set.
  struct LabelRows {
    std::uint32_t label = 0;
    std::uint64_t id = 0, last_used = 0;
    std::vector<Word> unset;
    std::vector<Row> log;  // rows set since the id was given
    std::vector<Strip> unset_strips, truth_strips;
  };

  struct Positives {
    std::vector<Row> present, present_set;
  };
  Positives positives_of(const NodeLabel& label) const;
  static void scatter(const Positives& positives, const Places::Place* place, std::size_t words, Scratch& scratch);
  static void gather(const Positives& positives, const Places::Place* place, Scratch& scratch);

  static constexpr std::size_t kMostKept = 8;

  void follow(const Node& node);
  std::size_t rows_of(std::uint32_t label);
  void update(Strip& strip, std::uint64_t id, std::size_t slot, const std::vector<Row>& log, const Word* all,
              std::size_t count);

  const Places* places_ = nullptr;
  const State* state_ = nullptr;
  const Node* node_ = nullptr;
  std::uint64_t path_ = 0, ids_ = 0, uses_ = 0;
  Bits cover_;
  std::vector<Row> left_;  // rows that have left the cover along the path
  std::vector<Strip> covers_;
  std::vector<LabelRows> labels_;
  std::vector<std::size_t> rows_;  // by label of the node, which of `labels_`
};

}  // namespace polyrule
