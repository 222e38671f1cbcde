// Ties of the empty body (see ties.hpp), remembered from rule to rule.
//
// Rows join from one end of a sorted column, and a label drops out at the first unset row that contradicts it. A rule
// only sets labels of rows, or takes rows out of the working set, which is the same as setting all their labels. So the
// place at which a label drops out only moves on, and both that place and the true positives before it can be kept up
// to date at a cost that, over all rules, is that of setting every label of every row once. From the two numbers
// follows how many true positives the candidates of a column can have in total; only columns that can win are looked at
// row by row.
#pragma once

#include <algorithm>
#include <vector>

#include "data/node.hpp"
#include "data/records.hpp"
#include "judge/shortlist.hpp"
#include "search/places.hpp"

namespace polyrule {

class Races {
 public:
  using Place = Places::Place;

  // Take over what has been set since the last call. `negative`: whether label = 0 may be predicted.
  void follow(const Places& places, const State& state, const Records& records, bool negative);
  // Rows that have left the working set are still passed by. True if they have become so many that the places should be
  // made anew, and the races with them.
  bool outgrown() const { return state_ && 3 * working_ < 2 * begun_with_; }
  // Whether a node is searched for all literals that have a row left, as is done here.
  bool concerns(const std::vector<NodeLabel>& labels) const;

  // What no candidate of a column exceeds.
  Count bound(std::size_t slot) const { return std::max(highest_[2 * slot], highest_[2 * slot + 1]); }

  // Offers the candidates of a column that can win. Different columns may be looked at at the same time.
  void column(const Column& column, std::uint32_t index, std::size_t slot, Shortlist& best) {
    for (const bool descending : {false, true}) run(column, index, slot, descending, best);
  }

 private:
  // Candidates are divided by the number of rows passed: cell i has those from cells()[i] rows on.
  static constexpr std::size_t kCellCount = 60;
  static const std::vector<std::uint32_t>& cells();

  struct Stretch {  // rows passed, and who has not dropped out
    std::size_t from, to;
    const Word* racing;
  };

  std::size_t lane(std::size_t label, bool descending, std::size_t slot) const {
    return (2 * label + std::size_t(descending)) * stride_ + slot;
  }
  Row row_at(std::size_t slot, bool descending, std::size_t time) const {
    return places_->rows_at(slot)[descending ? places_->size(slot) - 1 - time : time];
  }

  void begin(const Places& places, const State& state, const Records& records, bool negative);
  void take_over(Row row, const Word* gone);
  void move_on(std::size_t label);
  void find_bounds();
  void limit_highest();
  // How many rows a run must pass until no candidate can have `least` true positives any more, and what the candidates
  // after that do not exceed.
  std::pair<std::size_t, Count> length(std::size_t slot, bool descending, Count least) const;
  Count join(std::size_t slot, bool descending, const Stretch& stretch) const;

  void run(const Column& column, std::uint32_t index, std::size_t slot, bool descending, Shortlist& best);
  void offer(const Column& column, std::uint32_t index, std::size_t slot, bool descending, const Stretch& stretch,
             Count total, Shortlist& best) const;

  const Places* places_ = nullptr;
  const State* state_ = nullptr;
  bool negative_ = true;
  std::size_t begun_with_ = 0, working_ = 0;  // rows of the working set
  std::size_t words_ = 0, stride_ = 0;
  std::vector<Word> unset_;            // by row of the working set, the labels nobody has set
  std::vector<Count> left_[2];         // by label, its unset rows by truth
  std::vector<Place> drops_, counts_;  // by label, direction and column: rows before it drops out, its true positives
  std::vector<std::uint32_t> bounds_;  // by column, direction and cell, what no candidate exceeds
  struct Moved {  // by the labels that go on in a run: the candidates between two places may have so much more
    Place from = UINT16_MAX, to = 0;
    Count more = 0;
  };
  std::vector<Count> highest_;   // by column and direction, the same for all of its candidates
  std::vector<Moved> moved_;     // scratch: by column and direction
  std::vector<Place> times_[2];  // scratch: of one row, by direction and column
  std::vector<char> changed_;    // scratch: by label
  Bits inside_;                  // the working set as it was
};

}  // namespace polyrule
