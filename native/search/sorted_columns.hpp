// The candidates of a numeric column in a node, as lists of slots in the order of their values.
#pragma once

#include <vector>

#include "data/node.hpp"
#include "search/sweep.hpp"

namespace polyrule {

// The covered slots of every column by ascending value. Covers along a rule are nested, so each is filtered from the
// one above it; different columns may be asked for at the same time.
class Sequences {
 public:
  Sequences(Columns& columns, const Limits& limits) : columns_(columns), limits_(limits), filtered_(columns.size()) {}

  // Turns to a node: the empty body, one below the last node, or one directly below the empty body of another path.
  void enter(const Node& node);
  // Whether a column is looked at bin by bin here.
  bool in_bins(const Node& node, const Column& column) const {
    return column.shape == Shape::binned && node.rows.size() > limits_.binned_rows;
  }
  std::span<const std::uint32_t> of(std::size_t column, const Node& node);

 private:
  struct Kept {
    std::vector<std::uint32_t> entries;
    std::size_t size = 0, depth = 0;
    std::uint64_t path_id = 0;
  };

  void sort(const Column& column, const Node& node, std::vector<std::uint32_t>& out) const;

  Columns& columns_;
  const Limits& limits_;
  std::vector<Kept> filtered_;
  std::uint64_t path_id_ = 0;
  std::vector<std::vector<std::uint32_t>> maps_;  // by depth, from the slots above to the slots there
};

// Puts slots in the order of their values and marks where distinct ones start.
void sort_slots(const Column& column, const Node& node, std::vector<std::uint32_t>& slots);

// The covered rows that a column lists, as slots in order, marked where distinct values start, and their values.
// Returns how many lie below the block.
std::size_t list_covered(const Column& column, const Node& node, std::vector<std::uint32_t>& slots,
                         std::vector<double>& values);

// Shows the candidates of one column: judge(line, make) for lists of slots, judge_bins(missing, make) for a column in
// bins. make(leaves, value before the boundary) is the condition on one side of it.
class Lines {
 public:
  Lines(const Node& node, const State& state, Columns& columns, Sequences& sequences)
      : node_(node), state_(state), columns_(columns), sequences_(sequences) {}

  template <class Judge, class JudgeBins>
  void show(std::size_t index, Judge&& judge, JudgeBins&& judge_bins) {
    Column& column = columns_[index];
    const auto number = static_cast<std::uint32_t>(index);
    columns_.follow(index, state_.now().working);
    list_missing(column);
    if (sequences_.in_bins(node_, column)) {
      judge_bins(column, missing_, [&](bool leaves, std::uint32_t slot) {
        return Condition{leaves ? Test::above : Test::at_most, false, number, column.dense[node_.row(slot)]};
      });
      if (!missing_.empty()) show_whole_of_bins(column, number, judge);
      return;
    }
    if (column.shape == Shape::blocked) return show_blocked(column, number, judge);
    const std::span<const std::uint32_t> list = sequences_.of(index, node_);
    if (list.empty()) return;
    const auto value = [&](std::size_t place) { return column.dense[node_.row(list[place] & kEntry)]; };
    judge(Line{list.data(), list.size(), false, false, missing_}, [&](bool leaves, std::size_t where) {
      return Condition{leaves ? Test::above : Test::at_most, false, number, value(where - 1)};
    });
    if (!missing_.empty()) show_whole(column, number, value(0), value(list.size() - 1), judge);
  }

 private:
  void list_missing(const Column& column) {
    missing_.clear();
    for (const Row row : column.missing)
      if (node_.cover.test(row)) missing_.push_back(node_.slot(row));
  }

  // With missing values, all rows that have one are a candidate if the working set has a value below their range,
  // and another one if it has a value above it.
  template <class Judge>
  void show_whole(const Column& column, std::uint32_t index, double min_value, double max_value, Judge&& judge) {
    const Line line{missing_.data(), missing_.size(), false, true, {}};
    // A beam may keep both.
    if (column.min_value < min_value)
      judge(line, [&](bool, std::size_t) { return Condition{Test::above, true, index, 0}; });
    if (column.max_value > max_value)
      judge(line, [&](bool, std::size_t) { return Condition{Test::at_most, false, index, max_value}; });
  }

  template <class Judge>
  void show_whole_of_bins(const Column& column, std::uint32_t index, Judge&& judge) {
    bool any = false;
    double min_value = 0, max_value = 0;
    for (const Row row : node_.rows) {
      const double x = column.dense[row];
      if (std::isnan(x)) continue;
      min_value = any ? std::min(min_value, x) : x;
      max_value = any ? std::max(max_value, x) : x;
      any = true;
    }
    if (any) show_whole(column, index, min_value, max_value, judge);
  }

  // The rows below the block join from the left, those above it from the right; the rest leaves.
  template <class Judge>
  void show_blocked(const Column& column, std::uint32_t index, Judge&& judge) {
    const std::size_t below = list_covered(column, node_, entries_, values_), size = entries_.size(),
                      above = size - below;
    const bool block = node_.rows.size() > size + missing_.size();
    if (size + std::size_t(block) == 0) return;
    if (below > 0) {
      const bool proper = block || above > 0;
      judge(Line{entries_.data(), below, proper, proper, missing_}, [&](bool leaves, std::size_t where) {
        return Condition{leaves ? Test::above : Test::at_most, false, index, values_[where - 1]};
      });
    }
    if (above > 0) {
      // The same list backwards, so that the last row of a value comes first.
      backwards_.clear();
      bool starts = true;
      for (std::size_t i = size; i > below; --i) {
        backwards_.push_back((entries_[i - 1] & kEntry) | (starts ? kStarts : 0));
        starts = (entries_[i - 1] & kStarts) != 0;
      }
      // Without a block, the last boundary was that of the other list.
      judge(Line{backwards_.data(), above, block, block, missing_}, [&](bool leaves, std::size_t where) {
        const double edge = where == above ? column.block : values_[size - where - 1];
        return Condition{leaves ? Test::at_most : Test::above, false, index, edge};
      });
    }
    if (missing_.empty()) return;
    const double min_value = below > 0 || !block ? values_[0] : column.block;
    const double max_value = above > 0 || !block ? values_[size - 1] : column.block;
    show_whole(column, index, min_value, max_value, judge);
  }

  const Node& node_;
  const State& state_;
  Columns& columns_;
  Sequences& sequences_;
  std::vector<std::uint32_t> missing_, entries_, backwards_;
  std::vector<double> values_;
};

}  // namespace polyrule
