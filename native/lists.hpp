// Columns whose candidates are whole lists of rows: nominal ones, and numeric ones with two values.
//
// Such a column has one list per value, except for the value that most rows have (the block), which covers what is left. For
// a node, the lists of all columns are put together from the rows it covers, so a small cover costs little however
// large the table is.
#pragma once

#include <algorithm>
#include <vector>

#include "columns.hpp"
#include "lanes.hpp"
#include "node.hpp"
#include "singles.hpp"
#include "tally.hpp"

namespace polyrule {

// The rows of one cover, list by list: rows[first[i] .. first[i + 1]).
struct NodeLists {
  std::vector<std::uint32_t> first;
  std::vector<Row> rows;

  const Row* begin(std::size_t list) const { return rows.data() + first[list]; }
  std::size_t size(std::size_t list) const { return first[list + 1] - first[list]; }
};

// The rows on which earlier rules have set a label to a value.
struct LabelList {
  std::uint32_t label = 0;
  int value = 0;
  std::size_t size = 0;  // covered rows

  Word word(const State& state, std::size_t w) const {
    return state.set[label][w] & (value ? state.ones[label][w] : ~state.ones[label][w]);
  }
};

// The conditions on labels that divide the cover, in canonical order. Labels that were set together cover the same rows,
// and of such conditions only the first can be chosen.
std::vector<LabelList> distinct_label_lists(const Node& node, const State& state);

class Lists {
 public:
  struct Group {
    std::uint32_t first = 0, last = 0;  // the lists of its values, ascending
    bool misses = false;                // then list `last` has the rows without a value
    std::vector<double> values;
    bool any() const { return last > first || misses; }
  };

  Lists() = default;

  Lists(const Columns& columns, std::size_t rows) : groups_(columns.size()) {
    std::vector<std::uint32_t> total(rows + 1, 0);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (!is_listed(columns[j])) {
        all_ = all_ && columns[j].rows.empty() && columns[j].missing.empty();
        continue;
      }
      Group& group = groups_[j];
      group.first = size_;
      each_entry(columns[j], [&](Row row, double value) {
        if (group.values.empty() || group.values.back() != value) group.values.push_back(value);
        ++total[row + 1];
      });
      group.last = size_ + static_cast<std::uint32_t>(group.values.size());
      group.misses = !columns[j].missing.empty();
      for (const Row row : columns[j].missing) ++total[row + 1];
      size_ = group.last + (group.misses ? 1 : 0);
    }
    for (std::size_t i = 0; i < rows; ++i) total[i + 1] += total[i];
    first_ = total;
    lists_.resize(total[rows]);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const Group& group = groups_[j];
      if (!group.any()) continue;
      std::uint32_t list = group.first;
      each_entry(columns[j], [&](Row row, double value) {
        while (group.values[list - group.first] != value) ++list;
        lists_[total[row]++] = list;
      });
      for (const Row row : columns[j].missing) lists_[total[row]++] = group.last;
    }
  }

  bool any() const { return size_ > 0; }
  bool all() const { return all_ && any(); }  // whether no column needs another way
  const Group& operator[](std::size_t column) const { return groups_[column]; }
  // Whether a column kept as lists has no candidate in a node.
  bool is_empty(std::size_t column, const NodeLists& here) const {
    const Group& group = groups_[column];
    return group.any() && here.first[group.first] == here.first[group.last + (group.misses ? 1 : 0)];
  }

  void gather(const std::vector<Row>& cover, NodeLists& out) const {
    out.first.assign(size_ + 1, 0);
    for (const Row row : cover)
      for (std::uint32_t k = first_[row]; k < first_[row + 1]; ++k) ++out.first[lists_[k] + 1];
    for (std::size_t i = 0; i < size_; ++i) out.first[i + 1] += out.first[i];
    out.rows.resize(out.first[size_]);
    place_.assign(out.first.begin(), out.first.end() - 1);
    for (const Row row : cover)
      for (std::uint32_t k = first_[row]; k < first_[row + 1]; ++k) out.rows[place_[lists_[k]]++] = row;
  }

 private:
  static bool is_listed(const Column& column) {
    if (column.nominal) return true;
    if (!column.blocked || !column.missing.empty() || column.rows.empty()) return false;
    return column.value_at(0) == column.value_at(column.rows.size() - 1);
  }

  template <class Visit>
  static void each_entry(const Column& column, Visit&& visit) {
    for (std::size_t p = 0; p < column.rows.size(); ++p) visit(column.row_at(p), column.value_at(p));
  }

  std::uint32_t size_ = 0;
  bool all_ = true;
  std::vector<Group> groups_;                // by column
  std::vector<std::uint32_t> first_, lists_;  // by row, the lists it is in
  mutable std::vector<std::uint32_t> place_;  // scratch
};

// Judges lists by adding up the records of their rows.
template <class Int>
class TallyJudge {
 public:
  using Lane = TallyGains::Lane;

  TallyJudge(const Node& node, const State& state) : node_(node), state_(state) {
    const RowRecords& records = state.records;
    gains_.size = (state.labels + kLanes - 1) / kLanes * kLanes;
    counts_.resize(records.stride() * 64 + 256);
    std::fill(counts_.get(), counts_.get() + records.stride() * 64 + 256, 0);
    for (int v = 0; v < 2; ++v) {
      for (LineArray<Lane>* lanes : {&gains_.empty[v], &gains_.full[v], &gains_.true_positives[v], &gains_.reach[v]})
        lanes->resize(gains_.size);
      std::fill(gains_.reach[v].get(), gains_.reach[v].get() + gains_.size, kNever);
    }
    reach_.assign(node.labels.size() * 2, -std::numeric_limits<double>::infinity());
  }

  // Vectors of 256 bits that a row brings along.
  static std::size_t vectors(const RowRecords& records, const Gains<Int>& gains) {
    const std::size_t parts = needs_set(gains) ? 3 : 2;
    return (parts * records.words() + 3) / 4;
  }

  void set_gains(const Form& form, const Gains<Int>& exact, const Fraction& value, bool fading) {
    fold_reach();
    const LaneLevel level(form, node_, state_, value);
    fading_ = fading;
    if (fading && !unset_.get()) count_unset();
    gains_.exact = level.exact;
    exact_gains_ = &exact;
    const Gains<Int> gains(form, level.value, state_.working_weight);
    scale_ = double(level.value.den);
    vectors_ = vectors(state_.records, gains);
    for (int v = 0; v < 2; ++v) {
      const Int base = gains.slope[v][kAbsentSet];
      gains_.any[v] = static_cast<Lane>(base);
      gains_.absent[v] = static_cast<Lane>(gains.slope[v][kAbsent] - base);
      gains_.present[v] = static_cast<Lane>(gains.slope[v][kPresent] - base);
      gains_.present_set[v] = static_cast<Lane>(gains.slope[v][kPresentSet] - base);
      for (const LineArray<Lane>* lanes : {&gains_.empty[v], &gains_.full[v]})
        std::fill(const_cast<Lane*>(lanes->get()), const_cast<Lane*>(lanes->get()) + gains_.size, kNever);
      std::fill(gains_.true_positives[v].get(), gains_.true_positives[v].get() + gains_.size, Lane(0));
      for (const NodeLabel& label : node_.labels) {
        if (!label.usable(v)) continue;
        gains_.empty[v].get()[label.label] = static_cast<Lane>(gains.empty_sum(label));
        gains_.full[v].get()[label.label] = static_cast<Lane>(gains.full_sum(label, v));
        gains_.true_positives[v].get()[label.label] = static_cast<Lane>(label.kinds[v]);
      }
    }
  }

  // The list as a candidate (`joins`), and what it leaves of the node (`leaves`).
  template <class Scan, class Join, class Leave>
  void judge(const Row* rows, std::size_t size, bool joins, bool leaves, Scan& scan, Join&& join, Leave&& leave) {
    if (fading_ && (joins || leaves)) {
      // Nothing but ties: a row is a true positive of no more literals than it has unset labels.
      Count inside = 0;
      for (std::size_t i = 0; i < size; ++i) inside += unset_.get()[rows[i]];
      joins = joins && inside >= scan.best().tp;
      leaves = leaves && all_unset_ - inside >= scan.best().tp;
      skipped_ = skipped_ || !joins || !leaves;
    }
    if (!joins && !leaves) return;
    tally(state_.records, rows, size, vectors_, counts_.get());
    const std::size_t part = state_.records.words() * 64;
    const ListCounts list{counts_.get(), counts_.get() + part, counts_.get() + 2 * part, size};
    TallySide joining, leaving;
    judge_counts(list, gains_, joins ? &joining : nullptr, leaves ? &leaving : nullptr);
    if (joining.gains) look_closely(list, true, scan, join);
    else if (gains_.exact && joining.ties > 0) scan.offer_tie(joining.ties, 0, join);
    if (leaving.gains) look_closely(list, false, scan, leave);
    else if (gains_.exact && leaving.ties > 0) scan.offer_tie(leaving.ties, 0, leave);
  }

  template <class Visit>
  void each_reach(Visit&& visit) {
    fold_reach();
    for (std::uint32_t e = 0; e < node_.labels.size(); ++e)
      for (int v = 0; v < 2; ++v)
        if (node_.labels[e].usable(v)) visit(e, v, reach_[e * 2 + std::size_t(v)]);
  }

 private:
  static bool needs_set(const Gains<Int>& gains) {
    return gains.slope[0][kPresentSet] != gains.slope[0][kAbsentSet] || gains.slope[1][kPresentSet] != gains.slope[1][kAbsentSet];
  }

  // All labels of one side of a list, exactly.
  template <class Scan, class Resolve>
  void look_closely(const ListCounts& list, bool joining, Scan& scan, Resolve&& resolve) {
    Count ties = 0;
    for (std::uint32_t e = 0; e < node_.labels.size(); ++e) {
      const NodeLabel& label = node_.labels[e];
      const std::size_t l = label.label;
      Count kinds[4] = {list.absent[l], list.present[l], 0, list.present_set[l]};
      kinds[kAbsentSet] = static_cast<Count>(list.rows) - kinds[0] - kinds[1] - kinds[3];
      Count most = 0;
      for (int v = 0; v < 2; ++v) {
        if (!label.usable(v)) continue;
        Int gain = joining ? exact_gains_->empty_sum(label) : exact_gains_->full_sum(label, v);
        for (int k = 0; k < 4; ++k) gain += exact_gains_->slope[v][k] * Int(joining ? kinds[k] : -kinds[k]);
        const Count tp = joining ? kinds[v] : label.kinds[v] - kinds[v];
        if (gain < 0 || tp <= 0) continue;
        if (gain > 0) scan.offer_beat(gain, e, v, 0, resolve);
        else most = std::max(most, tp);
      }
      ties += most;
    }
    if (ties > 0) scan.offer_tie(ties, 0, resolve);
  }

  void count_unset() {
    const RowRecords& records = state_.records;
    unset_.resize(state_.rows);  // only covered rows are asked for
    for (const Row row : node_.rows) {
      const Count unset = count_bits(records.data() + row * records.stride(), 2 * records.words());
      unset_.get()[row] = static_cast<std::uint32_t>(unset);
      all_unset_ += unset;
    }
  }

  void fold_reach() {
    for (std::uint32_t e = 0; e < node_.labels.size(); ++e)
      for (int v = 0; v < 2; ++v) {
        Lane& reach = gains_.reach[v].get()[node_.labels[e].label];
        if (skipped_) reach_[e * 2 + std::size_t(v)] = std::max(reach_[e * 2 + std::size_t(v)], 0.0);
        if (reach > kNever / 2) reach_[e * 2 + std::size_t(v)] = std::max(reach_[e * 2 + std::size_t(v)], double(reach) / scale_);
        reach = kNever;
      }
  }

  static constexpr Lane kNever = -(Lane{1} << 30);

  const Node& node_;
  const State& state_;
  TallyGains gains_;
  const Gains<Int>* exact_gains_ = nullptr;
  LineArray<std::uint16_t> counts_;
  std::size_t vectors_ = 0;
  double scale_ = 1;
  std::vector<double> reach_;  // G / q by literal, as in sweep.hpp
  bool fading_ = false, skipped_ = false;
  LineArray<std::uint32_t> unset_;  // by row, how many labels are unset
  Count all_unset_ = 0;
};

// Shows the lists of a column, or of a label condition, to a judge: judge(rows, size, joins, leaves, join, leave).
class ListWalk {
 public:
  ListWalk(const Node& node, const State& state, const Lists& lists, const NodeLists* here)
      : node_(node), state_(state), lists_(lists), here_(here) {}

  template <class Judge>
  void column(const Column& column, std::uint32_t index, Judge&& judge) {
    const Lists::Group& group = lists_[index];
    const std::size_t covered = node_.rows.size();
    const std::size_t all = here_->first[group.last + (group.misses ? 1 : 0)] - here_->first[group.first];
    if (!column.nominal) {
      if (all == 0 || all == covered) return;
      const bool below = group.values[0] < column.block;
      const double edge = below ? group.values[0] : column.block;
      const Condition low{Test::at_most, false, index, edge}, high{Test::above, false, index, edge};
      judge(here_->begin(group.first), all, true, true, below ? low : high, below ? high : low);
      return;
    }
    const Condition block{Test::category, false, index, column.block};
    const bool block_counts = column.blocked && all < covered && all > 0;
    for (std::uint32_t list = group.first; list < group.last; ++list) {
      const std::size_t size = here_->size(list);
      if (size == 0) continue;
      const Condition value{Test::category, false, index, group.values[list - group.first]};
      judge(here_->begin(list), size, size < covered, block_counts && size == all, value, block);
      if (size == all) return;
    }
    // The lists of one column lie side by side.
    if (block_counts) judge(here_->begin(group.first), all, false, true, block, block);
  }

  // A condition on a label, seen from its smaller side.
  template <class Judge>
  void label(const LabelList& list, Judge&& judge) {
    const bool inside = 2 * list.size <= node_.rows.size();
    rows_.clear();
    for (const std::uint32_t w : node_.filled) {
      const Word all = list.word(state_, w);
      for_each_bit(node_.cover.data()[w] & (inside ? all : ~all), std::size_t(w) * 64,
                   [&](std::size_t i) { rows_.push_back(static_cast<Row>(i)); });
    }
    const Condition condition{Test::label, false, list.label, double(list.value)};
    judge(rows_.data(), rows_.size(), inside, !inside, condition, condition);
  }

 private:
  const Node& node_;
  const State& state_;
  const Lists& lists_;
  const NodeLists* here_;
  std::vector<Row> rows_;
};

}  // namespace polyrule
