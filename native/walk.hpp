// How the rows of a cover pass by, feature by feature, for `SinglesScan`.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "columns.hpp"
#include "node.hpp"

namespace polyrule {

// Covered rows of one ranked column in the order of their values, as bits; `weight_before` counts what lies left of a place.
class RankedCover {
 public:
  void load(Column& column, const Node& node, const State& state) {
    column_ = &column;
    size_ = column.rows.size();
    const std::size_t words = words_for(size_);
    if (node.is_root) {
      if (column.working_version != state.working_version) {
        column.working.clear();
        for (std::size_t p = 0; p < size_; ++p)
          if (state.working.test(column.rows[p])) column.working.set(p);
        column.working_version = state.working_version;
      }
      cover_ = column.working.data();
    } else {
      own_.assign(words, 0);
      for (const Row row : node.rows) {
        const Row p = column.rank[row];
        if (p != kNowhere) own_[p >> 6] |= Word{1} << (p & 63);
      }
      cover_ = own_.data();
    }
    touched_.assign(words + 1, 0);
    for (const Row row : node.touched) {
      const Row p = column.rank[row];
      if (p != kNowhere) touched_[p >> 6] |= Word{1} << (p & 63);
    }
    unit_ = state.unit;
    if (unit_) {
      counts_.resize(words + 1);
      running_counts(cover_, words, counts_.data());
      total_ = counts_[words];
    } else {
      weights_.resize(size_ + 1);
      Count sum = 0;
      for (std::size_t p = 0; p < size_; ++p) {
        weights_[p] = sum;
        if ((cover_[p >> 6] >> (p & 63)) & 1) sum += state.weights[column.rows[p]];
      }
      weights_[size_] = total_ = sum;
    }
  }

  std::size_t size() const { return size_; }
  Count total() const { return total_; }

  Count weight_before(std::size_t place) const {
    if (!unit_) return weights_[place];
    const std::size_t w = place >> 6, bit = place & 63;
    return counts_[w] + (bit ? std::popcount(cover_[w] & ((Word{1} << bit) - 1)) : 0);
  }

  // First and one-past-last place of the distinct value at `place`.
  std::size_t start_of(std::size_t place) const { return previous(column_->starts.data(), place + 1); }
  std::size_t end_of(std::size_t place) const { return next(column_->starts.data(), column_->starts.words(), place + 1); }

  std::size_t next_touched(std::size_t from) const { return next(touched_.data(), touched_.size(), from); }
  std::size_t previous_touched(std::size_t before) const { return previous(touched_.data(), before); }
  std::size_t next_covered(std::size_t from) const { return next(cover_, words_for(size_), from); }
  std::size_t previous_covered(std::size_t before) const { return previous(cover_, before); }

  static constexpr std::size_t kNone = SIZE_MAX;

 private:
  static std::size_t next(const Word* bits, std::size_t words, std::size_t from) {
    std::size_t w = from >> 6;
    if (w >= words) return kNone;
    Word word = bits[w] & (~Word{0} << (from & 63));
    while (!word) {
      if (++w >= words) return kNone;
      word = bits[w];
    }
    return w * 64 + static_cast<std::size_t>(std::countr_zero(word));
  }

  static std::size_t previous(const Word* bits, std::size_t before) {
    if (before == 0) return kNone;
    std::size_t w = (before - 1) >> 6;
    Word word = bits[w] & (~Word{0} >> (63 - ((before - 1) & 63)));
    while (!word) {
      if (w == 0) return kNone;
      word = bits[--w];
    }
    return w * 64 + 63 - static_cast<std::size_t>(std::countl_zero(word));
  }

  const Column* column_ = nullptr;
  std::size_t size_ = 0;
  const Word* cover_ = nullptr;
  std::vector<Word> own_, touched_;
  bool unit_ = true;
  std::vector<std::uint32_t> counts_;
  std::vector<Count> weights_;
  Count total_ = 0;
};

// Shows the candidates of one feature (or label) to a scan.
class Walk {
 public:
  Walk(const Node& node, const State& state, Columns& columns) : node_(node), state_(state), columns_(columns) {}

  template <class Scan>
  void feature(std::size_t index, Scan& scan) {
    index_ = static_cast<std::uint32_t>(index);
    Column& column = columns_[index];
    if (column.ranked()) {
      ranked_.load(column, node_, state_);
      if (ranked_.total() == 0) return;
      ascending(column, scan);
      descending(column, scan);
      return;
    }
    gather(column);
    if (column.nominal) nominal(column, scan);
    else blocked(column, scan);
  }

  // The conditions label = 0 and label = 1 on what earlier rules have set.
  template <class Scan>
  void label(std::size_t label, Scan& scan) {
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
      scan.begin(false);
      for (const Row row : list_) scan.only_row(row);
      scan.all(weight, 0, true, resolve);
      scan.end(resolve);
    }
  }

 private:
  template <class Scan>
  void ascending(const Column& column, Scan& scan) {
    const auto resolve = [&](std::size_t place) {
      return Condition{Test::at_most, false, index_, column.value_at(ranked_.previous_covered(place))};
    };
    const auto valid = [&](Count weight) { return weight > 0 && weight < ranked_.total(); };
    // With missing values, the candidate of all rows that have a value may exist or not. If not, a stretch that rises
    // towards it is best at the last boundary that does, so all labels are judged there.
    const std::size_t top = ranked_.previous_covered(ranked_.size()), last_start = ranked_.start_of(top);
    const bool misses = ranked_.total() < node_.weight;
    const bool whole = misses && columns_.any_above(index_, column.value_at(top), state_.working);
    bool at_last = false;
    const auto judge_last = [&] {
      const Count before = ranked_.weight_before(last_start);
      if (misses && !whole) scan.all(before, last_start, valid(before), resolve);
      else scan.last(before, last_start, valid(before), resolve);
      at_last = true;
    };
    scan.begin(false);
    bool alive = true;
    for (std::size_t p = ranked_.next_touched(0); p != RankedCover::kNone && alive;) {
      const std::size_t start = ranked_.start_of(p), end = ranked_.end_of(p);
      const Count before = ranked_.weight_before(start), after = ranked_.weight_before(end);
      if (start == last_start) judge_last();
      scan.open(before, start, valid(before), resolve);
      for (; p != RankedCover::kNone && p < end; p = ranked_.next_touched(p + 1)) scan.row(column.rows[p], resolve);
      alive = scan.close(after, end, valid(after), resolve);
    }
    if (alive) {
      if (!at_last) judge_last();
      if (whole) scan.all(ranked_.total(), ranked_.size(), true, resolve);
    }
    scan.end(resolve);
  }

  template <class Scan>
  void descending(const Column& column, Scan& scan) {
    const auto resolve = [&](std::size_t place) {
      const std::size_t left = ranked_.previous_covered(place);
      if (left == RankedCover::kNone) return Condition{Test::above, true, index_, 0};
      return Condition{Test::above, false, index_, column.value_at(left)};
    };
    const auto valid = [&](Count weight) { return weight > 0 && weight < ranked_.total(); };
    const auto weight_from = [&](std::size_t place) { return ranked_.total() - ranked_.weight_before(place); };
    const std::size_t bottom = ranked_.next_covered(0), last_end = ranked_.end_of(bottom);
    const bool misses = ranked_.total() < node_.weight;
    const bool whole = misses && columns_.any_below(index_, column.value_at(bottom), state_.working);
    bool at_last = false;
    const auto judge_last = [&] {
      const Count before = weight_from(last_end);
      if (misses && !whole) scan.all(before, last_end, valid(before), resolve);
      else scan.last(before, last_end, valid(before), resolve);
      at_last = true;
    };
    scan.begin(false);
    bool alive = true;
    for (std::size_t p = ranked_.previous_touched(ranked_.size()); p != RankedCover::kNone && alive;) {
      const std::size_t start = ranked_.start_of(p), end = ranked_.end_of(p);
      const Count before = weight_from(end), after = weight_from(start);
      if (end == last_end) judge_last();
      scan.open(before, end, valid(before), resolve);
      for (; p != RankedCover::kNone && p >= start; p = ranked_.previous_touched(p)) scan.row(column.rows[p], resolve);
      alive = scan.close(after, start, valid(after), resolve);
    }
    if (alive) {
      if (!at_last) judge_last();
      if (whole) scan.all(ranked_.total(), 0, true, resolve);
    }
    scan.end(resolve);
  }

  // Covered listed rows of a column, by ascending value, and what is not listed.
  void gather(const Column& column) {
    places_.clear();
    absent_.clear();
    Count listed = 0;
    for (std::size_t p = 0; p < column.rows.size(); ++p)
      if (node_.cover.test(column.rows[p])) {
        places_.push_back(static_cast<std::uint32_t>(p));
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

  std::size_t group_end(const Column& column, std::size_t i) const {
    const double value = column.value_at(places_[i]);
    std::size_t j = i + 1;
    while (j < places_.size() && column.value_at(places_[j]) == value) ++j;
    return j;
  }

  template <class Scan>
  void nominal(const Column& column, Scan& scan) {
    double value = 0;
    const auto resolve = [&](std::size_t) { return Condition{Test::category, false, index_, value}; };
    const bool block_counts = column.blocked && block_weight_ > 0 && block_weight_ < node_.weight;
    bool block_done = !block_counts;
    for (std::size_t i = 0; i < places_.size();) {
      const std::size_t j = group_end(column, i);
      Count covered = 0;
      scan.begin(false);
      for (std::size_t k = i; k < j; ++k) {
        scan.only_row(column.rows[places_[k]]);
        covered += weight(column.rows[places_[k]]);
      }
      value = column.value_at(places_[i]);
      scan.all(covered, 0, covered < node_.weight, resolve);
      scan.end(resolve);
      if (!block_done && j - i == places_.size() && absent_.empty()) {
        value = column.block;
        scan.all_others(covered, true, resolve);
        block_done = true;
      }
      i = j;
    }
    if (block_done) return;
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
  std::uint32_t index_ = 0;
  RankedCover ranked_;
  std::vector<std::uint32_t> places_;
  std::vector<Row> list_, absent_;
  Count missing_weight_ = 0, block_weight_ = 0;
};

}  // namespace polyrule
