// The search among ties: where every wrong row costs and no right one gains, as with precision at the value 1.
//
// Then a literal is in the race as long as no row contradicts it, whatever else it covers, and what counts is the number of
// true positives of all literals still in the race. Rows join from one end of a sorted column; each label is with the value
// of its first unset row until a row with the other value joins. Labels are bits, so a row costs a few instructions
// per 64 labels; how many true positives a label has is kept in bit planes and read when the label drops out.
#pragma once

#include <algorithm>
#include <vector>

#include "node.hpp"
#include "singles.hpp"
#include "walk.hpp"

namespace polyrule {

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
      : node_(node), state_(state), words_(state.records.words()), most_(state.labels, 0), labels_(words_) {
    for (const NodeLabel& label : node.labels) {
      const std::size_t l = label.label;
      for (int v = 0; v < 2; ++v)
        if (label.usable(v)) {
          labels_[l / 64].allowed[v] |= Word{1} << l % 64;
          most_[l] = std::max(most_[l], label.kinds[v]);
        }
      potential_ += most_[l];
    }
  }

  // Both directions of an ordered column.
  template <class Scan>
  void column(Column& column, std::uint32_t index, const Columns& columns, Scan& scan) {
    const Sequence rows = covered_sequence(column, node_, state_);
    if (rows.size == 0) return;
    const auto value = [&](std::size_t place) { return column.dense[rows.row(place)]; };
    const bool misses = rows.size < node_.rows.size();
    const auto at_most = [&](std::size_t place) { return Condition{Test::at_most, false, index, value(place - 1)}; };
    const auto above = [&](std::size_t place) {
      return place == 0 ? Condition{Test::above, true, index, 0} : Condition{Test::above, false, index, value(place - 1)};
    };
    start();
    std::size_t i = 0;
    for (; i < rows.size && potential_here_ >= scan.best().tp; ++i) {
      if (rows.starts(i) && total_ > 0) scan.offer_tie(total_, i, at_most);
      join(rows.row(i));
    }
    if (i == rows.size && total_ > 0 && misses && columns.any_above(index, value(i - 1), state_.working))
      scan.offer_tie(total_, i, at_most);
    start();
    for (i = rows.size; i > 0 && potential_here_ >= scan.best().tp; --i) {
      join(rows.row(i - 1));
      if (i > 1 && rows.starts(i - 1) && total_ > 0) scan.offer_tie(total_, i - 1, above);
    }
    if (i == 0 && total_ > 0 && misses && columns.any_below(index, value(0), state_.working))
      scan.offer_tie(total_, 0, above);
  }

 private:
  struct Labels {  // of one word
    Word allowed[2] = {0, 0};
    Word racing = 0, with[2] = {0, 0};
    std::size_t used = 0;
    Word planes[16];  // enough for RowRecords::kMostRows
  };

  void start() {
    total_ = 0;
    potential_here_ = potential_;
    for (Labels& here : labels_) {
      here.racing = here.allowed[0] | here.allowed[1];
      here.with[0] = here.with[1] = 0;
      here.used = 0;
    }
  }

  void join(Row row) {
    const Word* record = state_.records.data() + row * state_.records.stride();
    for (std::size_t w = 0; w < words_; ++w) {
      Labels& here = labels_[w];
      if (!here.racing) continue;
      const Word present = record[w] & here.racing, absent = record[words_ + w] & here.racing;
      const Word out = (present & (here.with[0] | ~here.allowed[1])) | (absent & (here.with[1] | ~here.allowed[0]));
      here.with[1] |= present;
      here.with[0] |= absent;
      if (out) drop(here, out, w);
      Word carry = (present | absent) & ~out;
      total_ += std::popcount(carry);
      for (std::size_t j = 0; carry; ++j) {
        if (j == here.used) here.planes[here.used++] = 0;
        const Word both = here.planes[j] & carry;
        here.planes[j] ^= carry;
        carry = both;
      }
    }
  }

  void drop(Labels& here, Word out, std::size_t w) {
    here.racing &= ~out;
    for_each_bit(out, 0, [&](std::size_t bit) {
      for (std::size_t j = 0; j < here.used; ++j) {
        total_ -= static_cast<Count>((here.planes[j] >> bit & 1) << j);
        here.planes[j] &= ~(Word{1} << bit);
      }
      potential_here_ -= most_[w * 64 + bit];
    });
  }

  const Node& node_;
  const State& state_;
  const std::size_t words_;
  std::vector<Count> most_;  // by label, the true positives it can have
  std::vector<Labels> labels_;
  Count potential_ = 0, potential_here_ = 0;  // of all labels in the race
  Count total_ = 0;
};

}  // namespace polyrule
