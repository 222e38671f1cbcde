// The search where only literals without a wrong row count: precision, once it can reach 1.
//
// Then a literal is in the race as long as no row contradicts it, whatever else it covers, and what counts is the
// number of true positives of all literals still in the race. Rows join from one end of a sorted column; each label is
// with the value of its first unset row until a row with the other value joins. Labels are bits, so a row costs a few
// instructions per 64 labels. Between two drops the total can only grow, so boundaries are looked at only where the
// stretch before a drop ends with enough; how many true positives a label has is counted when it drops out.
#pragma once

#include <vector>

#include "core/watch.hpp"
#include "data/records.hpp"
#include "scoring/shortlist.hpp"
#include "search/sorted_columns.hpp"

namespace polyrule {

// One word of labels during a race.
struct RaceWord {
  Word racing = 0;
  Word seen[2] = {0, 0};  // which labels have met an unset row, by truth; a value that is not allowed counts as met
};

// The slots of a run in the order in which they join; `history` takes their unset labels, word by word.
struct RaceRows {
  const Word* records;  // by slot
  std::size_t words, stride;
  const Count* weights;  // by slot; null if all are 1
  const std::uint32_t* first;
  std::ptrdiff_t step;
  std::size_t size;
  Word* history;
  std::uint32_t slot(std::size_t i) const { return first[std::ptrdiff_t(i) * step] & kEntry; }
};

// Rows join from `from` on, up to `to`, until one lets a label drop out. Returns where; that row is not counted yet.
std::size_t join_until_drop(const RaceRows& rows, std::size_t from, std::size_t to, RaceWord* words, Count& total);

// The runs of one node, by one thread.
class TieScan {
 public:
  TieScan(const Node& node, const State& state, const Records& records, Columns& columns, Sequences& sequences,
          Count min_coverage);

  // Both directions of a numeric column.
  void column(std::size_t index, Shortlist& best);

 private:
  // A stretch of the column's slots; put in order when a run gets there.
  struct Chunk {
    std::size_t begin, end;
    bool ready;
  };

  void place_rows(std::size_t index, const Column& column);
  void make_ready(const Column& column, Chunk& chunk);
  void run(const Column& column, std::uint32_t index, bool descending, Shortlist& best);
  // The value of the covered row before (or behind) the boundary after so many rows.
  double value(const Column& column, std::size_t place) const {
    return column.dense ? column.dense[node_.row(list_[place] & kEntry)] : sparse_[place];
  }

  const Node& node_;
  const State& state_;
  Columns& columns_;
  Sequences& sequences_;
  const std::size_t words_, stride_;
  const Count min_coverage_;
  std::vector<Word> own_records_;
  const Word* records_;         // by slot
  std::vector<Count> weights_;  // by slot; empty if all are 1
  std::vector<Count> max_tp_;   // by label, the true positives it can have
  std::vector<RaceWord> start_, race_;
  std::vector<Word> history_;
  Count potential_ = 0;  // of all labels
  const std::uint32_t* list_ = nullptr;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> own_list_;
  std::vector<double> sparse_;  // by place, where the column keeps no numbers by row
  std::vector<Chunk> chunks_;
  bool misses_ = false;
};

}  // namespace polyrule
