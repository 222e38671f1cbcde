// The search among ties: where every wrong row costs and no right one gains, as with precision at the value 1.
//
// Then a literal is in the race as long as no row contradicts it, whatever else it covers, and what counts is the number
// of true positives of all literals still in the race. Rows join from one end of a sorted column; each label is with the
// value of its first unset row until a row with the other value joins. Labels are bits, so a row costs a few instructions
// per 64 labels. Between two drops the total can only grow, so boundaries are looked at only where the stretch before a
// drop ends with enough; how many true positives a label has is counted when it drops out.
#pragma once

#include <algorithm>
#include <vector>

#include "node.hpp"
#include "places.hpp"
#include "singles.hpp"
#include "walk.hpp"

namespace polyrule {

// One word of labels during a race.
struct RaceWord {
  Word racing = 0;
  Word seen[2] = {0, 0};  // which labels have met an unset row, by truth; a value that is not allowed counts as met
};

// The rows of a run in the order in which they join; `history` takes their unset labels, word by word.
struct RaceRows {
  const std::uint32_t* first;
  std::ptrdiff_t step;
  std::size_t size;
  Word* history;
  Row row(std::size_t i) const { return first[std::ptrdiff_t(i) * step] & kRowMask; }
};

// Rows join from `from` on until one lets a label drop out. Returns where; that row is not counted in `total` yet.
std::size_t join_until_drop(const RowRecords& records, const RaceRows& rows, std::size_t from, RaceWord* words,
                            Count& total);
// How many of the words have a bit.
Count count_bit(const Word* words, std::size_t size, std::size_t bit);

class TieScan {
 public:
  // Whether the gains are of this kind: a tie is a literal without wrong rows.
  template <class Int>
  static bool applies(const Gains<Int>& gains, const Node& node, const State& state) {
    if (!state.unit || !state.records.built()) return false;
    for (int v = 0; v < 2; ++v)
      if (gains.slope[v][v] != 0 || gains.slope[v][1 - v] >= 0 || gains.slope[v][kAbsentSet] != 0 ||
          gains.slope[v][kPresentSet] != 0)
        return false;
    return std::all_of(node.labels.begin(), node.labels.end(),
                       [&](const NodeLabel& label) { return gains.empty_sum(label) == 0; });
  }

  TieScan(const Node& node, const State& state)
      : node_(node), state_(state), words_(state.records.words()), most_(state.labels, 0), start_(words_),
        race_(words_) {
    for (RaceWord& word : start_) word.seen[0] = word.seen[1] = ~Word{0};
    for (const NodeLabel& label : node.labels) {
      const std::size_t l = label.label;
      for (int v = 0; v < 2; ++v)
        if (label.usable(v)) {
          start_[l / 64].racing |= Word{1} << l % 64;
          start_[l / 64].seen[1 - v] &= ~(Word{1} << l % 64);
          most_[l] = std::max(most_[l], label.kinds[v]);
        }
      potential_ += most_[l];
    }
  }

  // Both directions of an ordered column.
  template <class Scan>
  void column(Column& column, std::uint32_t index, const Columns& columns, const Places* places, Scan& scan) {
    const Sequence rows = covered_sequence(column, index, node_, state_, places, scratch_);
    if (rows.size == 0) return;
    history_.resize(rows.size * words_);
    const auto value = [&](std::size_t place) { return column.dense[rows.row(place)]; };
    const bool misses = rows.size < node_.rows.size();
    const auto at_most = [&](std::size_t place) { return Condition{Test::at_most, false, index, value(place - 1)}; };
    const auto above = [&](std::size_t place) {
      return place == 0 ? Condition{Test::above, true, index, 0}
                        : Condition{Test::above, false, index, value(place - 1)};
    };
    const bool last = misses && columns.any_above(index, value(rows.size - 1), state_.working);
    run({rows.rows, 1, rows.size, history_.data()}, scan, [&](std::size_t time) {
      return time == rows.size ? last : rows.starts(time);
    }, at_most);
    const bool first = misses && columns.any_below(index, value(0), state_.working);
    run({rows.rows + rows.size - 1, -1, rows.size, history_.data()}, scan, [&](std::size_t time) {
      return time == rows.size ? first : rows.starts(rows.size - time);
    }, [&](std::size_t time) { return above(rows.size - time); });
  }

 private:
  // The true positives that count.
  template <class Scan>
  static Count least(const Scan& scan) {
    return scan.best().tp + (scan.best().any ? 0 : 1);
  }

  // One direction. is_boundary(n) and make(n): whether there is a candidate of the first n rows, and which.
  template <class Scan, class IsBoundary, class Make>
  void run(const RaceRows& rows, Scan& scan, IsBoundary&& is_boundary, Make&& make) {
    std::copy(start_.begin(), start_.end(), race_.begin());
    Count total = 0, potential = potential_;
    for (std::size_t from = 0; potential >= least(scan);) {
      Count before = total;
      const std::size_t to = join_until_drop(state_.records, rows, from, race_.data(), total);
      if (total >= least(scan))
        for (std::size_t time = from;; ++time) {
          if (time > 0 && before > 0 && is_boundary(time)) scan.offer_tie(before, time, make);
          if (time == to) break;
          for (std::size_t w = 0; w < words_; ++w)
            before += std::popcount(rows.history[w * rows.size + time] & race_[w].racing);
        }
      if (to == rows.size) return;
      for (std::size_t w = 0; w < words_; ++w) {
        const Word out = race_[w].racing & race_[w].seen[0] & race_[w].seen[1];
        race_[w].racing &= ~out;
        for_each_bit(out, 0, [&](std::size_t bit) {
          total -= count_bit(rows.history + w * rows.size, to, bit);
          potential -= most_[w * 64 + bit];
        });
      }
      from = to;
    }
  }

  const Node& node_;
  const State& state_;
  const std::size_t words_;
  std::vector<Count> most_;  // by label, the true positives it can have
  std::vector<RaceWord> start_, race_;
  std::vector<Word> history_, scratch_;
  Count potential_ = 0;  // of all labels
};

}  // namespace polyrule
