// How the rows of a cover pass by, feature by feature, for `SinglesScan`.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "columns.hpp"
#include "node.hpp"
#include "places.hpp"

namespace polyrule {

// The covered rows of an ordered column by ascending value, marked where a distinct value starts.
struct Sequence {
  const std::uint32_t* rows = nullptr;
  std::size_t size = 0;

  Row row(std::size_t i) const { return rows[i] & kRowMask; }
  bool starts(std::size_t i) const { return (rows[i] & kStarts) != 0; }
};

// Covers along a rule are nested, so each is filtered from the last; one that is far smaller is put into order by its
// own rows (`places` may be null; `scratch` as in places.hpp).
inline Sequence covered_sequence(Column& column, std::size_t index, const Node& node, const State& state,
                                 const Places* places, std::vector<Word>& scratch) {
  const bool filtered = !node.is_root && column.path_id == node.path_id;
  if (filtered && column.path_rows == node.rows.size()) return {column.path.data(), column.path_size};
  const std::size_t from = filtered ? column.path_size : column.rows.size();
  if (places && !node.is_root && place_limits.share * node.rows.size() + state.rows / 64 < from) {
    places->put_in_order(places->slot(index), node.rows, scratch, column.path);
    column.path_size = column.path.size();
  } else if (filtered) {
    column.path_size = filter_rows(column.path.data(), column.path_size, node.inside.data(), column.path.data());
  } else {
    if (column.working_version != state.working_version) {
      const std::vector<std::uint8_t>& working = state.working_bytes();
      column.rows.resize(filter_rows(column.rows.data(), column.rows.size(), working.data(), column.rows.data()));
      column.working_version = state.working_version;
    }
    if (node.is_root) return {column.rows.data(), column.rows.size()};
    column.path.resize(column.rows.size() + 1);
    column.path_size = filter_rows(column.rows.data(), column.rows.size(), node.inside.data(), column.path.data());
  }
  column.path_id = node.path_id;
  column.path_rows = node.rows.size();
  return {column.path.data(), column.path_size};
}

inline Sequence covered_sequence(Column& column, const Node& node, const State& state) {
  std::vector<Word> unused;
  return covered_sequence(column, 0, node, state, nullptr, unused);
}

// Shows the candidates of one feature (or label) to a scan, unless a first look (sweep.hpp; may be null) says that none
// of them can count.
template <class Look>
class Walk {
 public:
  Walk(const Node& node, const State& state, Columns& columns, const Places* places)
      : node_(node), state_(state), columns_(columns), all_places_(places) {}

  template <class Scan>
  void feature(std::size_t index, Scan& scan, Look* look) {
    look_ = look;
    index_ = static_cast<std::uint32_t>(index);
    Column& column = columns_[index];
    if (column.ordered) {
      sequence_ = covered_sequence(column, index, node_, state_, all_places_, scratch_);
      if (sequence_.size == 0) return;
      total_ = state_.unit ? static_cast<Count>(sequence_.size) : 0;
      if (!state_.unit)
        for (std::size_t i = 0; i < sequence_.size; ++i) total_ += state_.weights[sequence_.row(i)];
      if (look_) {
        judge_ordered(column, scan);
        return;
      }
      ascending(column, scan);
      descending(column, scan);
      return;
    }
    gather(column);
    if (column.nominal) nominal(column, scan);
    else blocked(column, scan);
  }

  // Whether every candidate shown so far went through the first look.
  bool looked_at_all() const { return looked_at_all_; }

  // The conditions label = 0 and label = 1 on what earlier rules have set.
  template <class Scan>
  void label(std::size_t label, Scan& scan, Look* look) {
    for (int value = 0; value < 2; ++value) {
      const Word *set = state_.set[label], *ones = state_.ones[label];
      Count weight = 0;
      list_.clear();
      for (std::size_t w = 0; w < node_.cover.words(); ++w) {
        const Word rows = node_.cover.data()[w] & set[w] & (value ? ones[w] : ~ones[w]);
        for_each_bit(rows, w * 64, [&](std::size_t i) {
          list_.push_back(static_cast<Row>(i));
          weight += state_.weights[i];
        });
      }
      const Condition condition{Test::label, false, static_cast<std::uint32_t>(label), double(value)};
      const auto resolve = [&](std::size_t) { return condition; };
      if (weight == 0 || weight == node_.weight) continue;
      if (look) {
        look->judge(list_.data(), list_.size(), {true, false, true, false}, state_, scan, resolve, resolve);
        continue;
      }
      scan.begin(false);
      for (const Row row : list_) scan.only_row(row);
      scan.all(weight, 0, true, resolve);
      scan.end(resolve);
    }
  }

 private:
  bool is_touched(Row row) const { return node_.first[row] != node_.last[row]; }

  // `<=`: rows join from the left. A boundary is known by the number of rows on its left.
  template <class Scan>
  void ascending(const Column& column, Scan& scan) {
    const auto resolve = [&](std::size_t place) {
      return Condition{Test::at_most, false, index_, column.dense[sequence_.row(place - 1)]};
    };
    // With missing values, the candidate of all rows that have a value may exist or not. If not, a stretch that rises
    // towards it is best at the last boundary that does, so all labels are judged there.
    const std::size_t size = sequence_.size;
    const bool misses = total_ < node_.weight;
    const bool whole =
        misses && columns_.any_above(index_, column.dense[sequence_.row(size - 1)], state_.working);
    scan.begin(false);
    Count moved = 0;
    for (std::size_t i = 0; i < size;) {
      std::size_t j = i;
      Count after = moved;
      bool touched = false;
      do {
        const Row row = sequence_.row(j);
        touched = touched || is_touched(row);
        after += weight(row);
      } while (++j < size && !sequence_.starts(j));
      if (j == size) {
        if (misses && !whole) scan.all(moved, i, moved > 0, resolve);
        else scan.last(moved, i, moved > 0, resolve);
      }
      if (touched) {
        scan.open(moved, i, moved > 0, resolve);
        for (std::size_t k = i; k < j; ++k) scan.row(sequence_.row(k), resolve);
        if (!scan.close(after, j, j < size, resolve)) break;
      }
      moved = after;
      i = j;
    }
    if (moved == total_ && whole) scan.all(total_, size, true, resolve);
    scan.end(resolve);
  }

  // `>`: rows join from the right. A boundary is known by the number of rows on its left.
  template <class Scan>
  void descending(const Column& column, Scan& scan) {
    const auto resolve = [&](std::size_t place) {
      if (place == 0) return Condition{Test::above, true, index_, 0};
      return Condition{Test::above, false, index_, column.dense[sequence_.row(place - 1)]};
    };
    const bool misses = total_ < node_.weight;
    const bool whole = misses && columns_.any_below(index_, column.dense[sequence_.row(0)], state_.working);
    scan.begin(false);
    Count moved = 0;
    for (std::size_t i = sequence_.size; i > 0;) {
      std::size_t j = i;
      Count after = moved;
      bool touched = false;
      do {
        const Row row = sequence_.row(--j);
        touched = touched || is_touched(row);
        after += weight(row);
      } while (!sequence_.starts(j));
      if (j == 0) {
        if (misses && !whole) scan.all(moved, i, moved > 0, resolve);
        else scan.last(moved, i, moved > 0, resolve);
      }
      if (touched) {
        scan.open(moved, i, moved > 0, resolve);
        for (std::size_t k = i; k > j; --k) scan.row(sequence_.row(k - 1), resolve);
        if (!scan.close(after, j, j > 0, resolve)) break;
      }
      moved = after;
      i = j;
    }
    if (moved == total_ && whole) scan.all(total_, 0, true, resolve);
    scan.end(resolve);
  }

  // Covered listed rows of a column, by ascending value, and what is not listed.
  void gather(const Column& column) {
    places_.clear();
    absent_.clear();
    list_.clear();
    Count listed = 0;
    for (std::size_t p = 0; p < column.rows.size(); ++p)
      if (node_.inside[column.rows[p]]) {
        const bool starts = places_.empty() || column.value_at(places_.back()) != column.value_at(p);
        places_.push_back(static_cast<std::uint32_t>(p));
        list_.push_back(column.rows[p] | (starts ? kStarts : 0));
        listed += weight(column.rows[p]);
      }
    missing_weight_ = 0;
    for (const Row row : column.missing)
      if (node_.cover.test(row)) {
        absent_.push_back(row);
        missing_weight_ += weight(row);
      }
    block_weight_ = node_.weight - listed - missing_weight_;
  }

  Count weight(Row row) const { return state_.unit ? 1 : state_.weights[row]; }

  std::size_t group_end(std::size_t i) const {
    do ++i;
    while (i < list_.size() && !(list_[i] & kStarts));
    return i;
  }

  template <class Scan>
  void nominal(const Column& column, Scan& scan) {
    double value = 0;
    const auto resolve = [&](std::size_t) { return Condition{Test::category, false, index_, value}; };
    const bool block_counts = column.blocked && block_weight_ > 0 && block_weight_ < node_.weight;
    bool block_done = !block_counts;
    for (std::size_t i = 0; i < places_.size();) {
      const std::size_t j = group_end(i);
      Count covered = 0;
      const bool alone = j - i == places_.size() && absent_.empty();
      if (look_) {
        value = column.value_at(places_[i]);
        const auto others = [&](std::size_t) { return Condition{Test::category, false, index_, column.block}; };
        const bool proper = block_weight_ > 0 || !alone;
        look_->judge(list_.data() + i, j - i, {true, false, proper, alone && !block_done}, state_, scan, resolve, others);
        block_done = block_done || alone;
        i = j;
        continue;
      }
      scan.begin(false);
      for (std::size_t k = i; k < j; ++k) {
        scan.only_row(column.rows[places_[k]]);
        covered += weight(column.rows[places_[k]]);
      }
      value = column.value_at(places_[i]);
      scan.all(covered, 0, covered < node_.weight, resolve);
      scan.end(resolve);
      if (!block_done && alone) {
        value = column.block;
        scan.all_others(covered, true, resolve);
        block_done = true;
      }
      i = j;
    }
    if (block_done) return;
    if (look_) {
      backwards_.assign(absent_.begin(), absent_.end());
      for (const std::uint32_t p : places_) backwards_.push_back(column.rows[p]);
      value = column.block;
      look_->judge(backwards_.data(), backwards_.size(), {true, false, false, true}, state_, scan, resolve, resolve);
      return;
    }
    scan.begin(false);
    for (const Row row : absent_) scan.only_row(row);
    for (const std::uint32_t p : places_) scan.only_row(column.rows[p]);
    value = column.block;
    scan.all_others(node_.weight - block_weight_, true, resolve);
    scan.end(resolve);
  }

  // Numeric with a block: rows below the block join or leave from the left, rows above it from the right.
  template <class Scan>
  void blocked(const Column& column, Scan& scan) {
    const auto middle = static_cast<std::size_t>(
        std::lower_bound(places_.begin(), places_.end(), static_cast<std::uint32_t>(column.below)) - places_.begin());
    const std::size_t size = places_.size();
    const double nan = std::nan("");
    const double lowest = middle > 0 ? column.value_at(places_[0])
                          : block_weight_ > 0 ? column.block
                          : size > 0 ? column.value_at(places_[0]) : nan;
    const double highest = size > middle ? column.value_at(places_[size - 1])
                           : block_weight_ > 0 ? column.block
                           : size > 0 ? column.value_at(places_[size - 1]) : nan;
    const Count total = node_.weight - missing_weight_;
    if (total == 0) return;
    const bool misses = missing_weight_ > 0;
    const bool whole_below = misses && columns_.any_above(index_, highest, state_.working);
    const bool whole_above = misses && columns_.any_below(index_, lowest, state_.working);

    // A boundary is the number of listed rows on its left, plus one past the block if the block is on its left.
    const auto edge = [&](std::size_t where, bool past_block) {
      if (where > middle || (where == middle && !past_block && where > 0)) return column.value_at(places_[where - 1]);
      if (block_weight_ > 0 && past_block) return column.block;
      return where > 0 ? column.value_at(places_[where - 1]) : nan;
    };
    const auto condition = [&](Test test, std::size_t where, bool past_block) {
      const double left = edge(where, past_block);
      if (std::isnan(left)) return Condition{test, true, index_, 0};
      return Condition{test, false, index_, left};
    };
    if (look_ && !misses) {
      judge_blocked(scan, middle, condition);
      return;
    }
    looked_at_all_ = looked_at_all_ && !look_;
    // From the left: rows below the block.
    if (middle > 0 || misses) {
      const auto at_most = [&](std::size_t where) { return condition(Test::at_most, where, false); };
      const auto above = [&](std::size_t where) { return condition(Test::above, where, false); };
      if (middle > 0) half(column, scan, 0, middle, false, total, whole_below, at_most);
      half(column, scan, 0, middle, true, total, whole_above, above);
    }
    // From the right: rows above the block.
    if (size > middle || misses) {
      const auto at_most = [&](std::size_t where) { return condition(Test::at_most, where, true); };
      const auto above = [&](std::size_t where) { return condition(Test::above, where, true); };
      if (size > middle) half(column, scan, size, middle, false, total, whole_above, above);
      half(column, scan, size, middle, true, total, whole_below, at_most);
    }
  }

  template <class Scan>
  void judge_ordered(const Column& column, Scan& scan) {
    const bool misses = total_ < node_.weight;
    const auto value = [&](std::size_t place) { return column.dense[sequence_.row(place)]; };
    const auto at_most = [&](std::size_t where) { return Condition{Test::at_most, false, index_, value(where - 1)}; };
    const auto above = [&](std::size_t where) {
      return where == 0 ? Condition{Test::above, true, index_, 0} : Condition{Test::above, false, index_, value(where - 1)};
    };
    const bool first = misses && columns_.any_below(index_, value(0), state_.working);
    const bool last = misses && columns_.any_above(index_, value(sequence_.size - 1), state_.working);
    look_->judge(sequence_.rows, sequence_.size, {!misses, first, last, false}, state_, scan, at_most, above);
  }

  // Without missing values: from each end up to the block, rows on one side and all others on the other side.
  template <class Scan, class Make>
  void judge_blocked(Scan& scan, std::size_t middle, Make&& condition) {
    const std::size_t size = list_.size();
    if (middle > 0) {
      const auto at_most = [&](std::size_t where) { return condition(Test::at_most, where, false); };
      const auto above = [&](std::size_t where) { return condition(Test::above, where, false); };
      const bool proper = block_weight_ > 0 || middle < size;
      look_->judge(list_.data(), middle, {true, false, proper, proper}, state_, scan, at_most, above);
    }
    if (size > middle) {
      // The same list backwards, so that the last row of a value comes first.
      backwards_.clear();
      bool starts = true;
      for (std::size_t i = size; i > middle; --i) {
        backwards_.push_back((list_[i - 1] & kRowMask) | (starts ? kStarts : 0));
        starts = (list_[i - 1] & kStarts) != 0;
      }
      const auto at_most = [&](std::size_t where) { return condition(Test::at_most, size - where, true); };
      const auto above = [&](std::size_t where) { return condition(Test::above, size - where, true); };
      const bool proper = block_weight_ > 0 || middle > 0;
      look_->judge(backwards_.data(), size - middle, {true, false, proper, proper}, state_, scan, above, at_most);
    }
  }

  // Rows from one end of the list up to the block join the candidate, or leave it together with the missing ones. `whole`
  // says whether the candidate of all rows with a value is one.
  template <class Scan, class Resolve>
  void half(const Column& column, Scan& scan, std::size_t from, std::size_t to, bool leaving, Count total, bool whole,
            Resolve&& resolve) {
    const auto valid = [&](Count moved) {
      const Count candidate = leaving ? node_.weight - moved : moved;
      return candidate > 0 && (candidate < total || (candidate == total && whole));
    };
    Count moved = 0;
    scan.begin(leaving);
    if (leaving) {
      for (const Row row : absent_) scan.only_row(row);
      moved = missing_weight_;
      scan.all(moved, from, moved > 0 && valid(moved), resolve);
    }
    // A stretch may end in a candidate that does not exist; then its best boundary is the one next to that.
    bool judge_all = missing_weight_ > 0 && !whole;
    const bool judge_always = judge_all && block_weight_ == 0;
    const bool forward = from <= to;
    for (std::size_t i = from; i != to;) {
      std::size_t j = i;
      const double value = column.value_at(places_[forward ? i : i - 1]);
      scan.open(moved, i, valid(moved), resolve);
      while (j != to && column.value_at(places_[forward ? j : j - 1]) == value) {
        const Row row = column.rows[places_[forward ? j : j - 1]];
        scan.row(row, resolve);
        moved += weight(row);
        j = forward ? j + 1 : j - 1;
      }
      scan.close(moved, j, valid(moved), resolve);
      if (judge_all || j == to) scan.all(moved, j, valid(moved), resolve);
      judge_all = judge_always;
      i = j;
    }
    scan.end(resolve);
  }

  const Node& node_;
  const State& state_;
  Columns& columns_;
  const Places* all_places_;
  std::vector<Word> scratch_;
  std::uint32_t index_ = 0;
  Sequence sequence_;
  Count total_ = 0;
  std::vector<std::uint32_t> places_;
  std::vector<Row> list_, backwards_, absent_;  // backwards_: scratch
  Look* look_ = nullptr;
  bool looked_at_all_ = true;
  Count missing_weight_ = 0, block_weight_ = 0;
};

}  // namespace polyrule
