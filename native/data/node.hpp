// A body under search: the rows it covers, and which labels of those rows are worth looking at.
#pragma once

#include <vector>

#include "core/assert.hpp"
#include "data/columns.hpp"
#include "data/state.hpp"

namespace polyrule {

// A label as the search of one node sees it.
struct NodeLabel {
  std::uint32_t label = 0;
  bool allowed[2] = {false, false};  // by value: literals that may be in the head
  OutcomeCounts outcomes;            // covered weight
  Count present = 0, absent = 0;     // weight in the working set, covered or not
  bool usable(int value) const { return allowed[value] && outcomes[value] > 0; }
  bool any() const { return usable(0) || usable(1); }
};

// Covered rows are numbered by *slots*: in the empty body a row's slot is its number in the table, below it its place
// among the covered rows. Tables that a search makes for a node go by slots, so that small covers need small tables.
struct Node {
  Bits cover;
  Count weight = 0;
  std::vector<Row> rows;  // covered, ascending
  std::size_t slots = 0;
  std::size_t depth = 0;      // 0: the empty body
  std::uint64_t path_id = 0;  // nodes with the same number have nested covers
  std::vector<NodeLabel> labels;
  std::vector<std::uint32_t> leading;  // those of the body's own head: what they reach rules out most of the others
  // For depth > 0 and numeric columns, by slot of the parent (the row, where the parent is the empty body): the slot
  // here, or kOutside.
  std::vector<std::uint32_t> from_parent;

  bool is_root() const { return depth == 0; }
  Row row(std::uint32_t slot) const { return is_root() ? slot : rows[slot]; }
  // The slot of the row that so many covered ones precede.
  std::uint32_t slot_at(std::size_t place) const { return is_root() ? rows[place] : static_cast<std::uint32_t>(place); }

  // The slot of a covered row.
  std::uint32_t slot(Row row) const {
    if (is_root()) return row;
    const Word lower = cover.data()[row >> 6] & ((Word{1} << (row & 63)) - 1);
    return before_[row >> 6] + static_cast<std::uint32_t>(std::popcount(lower));
  }

  static Node root(const State& state, std::uint64_t path_id) {
    Node node;
    node.path_id = path_id;
    node.take(state.working, state);
    node.slots = state.rows;
    return node;
  }

  // The node of a longer body. `parent` may be any node whose cover holds this one's.
  static Node below(const Node& parent, Bits cover, const State& state, bool maps_slots) {
    Node node;
    node.path_id = parent.path_id;
    node.depth = parent.depth + 1;
    node.take(std::move(cover), state);
    POLYRULE_ASSERT(count_common(node.cover.data(), parent.cover.data(), node.cover.words()) ==
                    Count(node.rows.size()));
    node.slots = node.rows.size();
    node.before_.resize(node.cover.words() + 1);
    running_counts(node.cover.data(), node.cover.words(), node.before_.data());
    if (!maps_slots) return node;
    node.from_parent.assign(parent.slots, kOutside);
    for (std::uint32_t i = 0, slot = 0; i < node.rows.size(); ++i) {
      if (parent.is_root()) slot = node.rows[i];
      else
        while (parent.rows[slot] != node.rows[i]) ++slot;
      node.from_parent[slot] = i;
    }
    return node;
  }

  static NodeLabel describe(std::size_t label, const bool allowed[2], const Bits& cover, Count weight,
                            const State& state) {
    NodeLabel out;
    out.label = static_cast<std::uint32_t>(label);
    out.allowed[0] = allowed[0];
    out.allowed[1] = allowed[1];
    out.present = state.present[label];
    out.absent = state.absent[label];
    out.outcomes = state.count_outcomes(label, cover, weight);
    return out;
  }

 private:
  void take(Bits bits, const State& state) {
    cover = std::move(bits);
    rows = list_rows(cover);
    weight = state.weigh(cover.data());
  }

  std::vector<std::uint32_t> before_;  // covered rows before each word
};

// The rows of a condition on what earlier rules have set.
inline Word label_rows(const State& state, std::size_t label, bool value, std::size_t w) {
  return state.set[label][w] & (value ? state.ones[label][w] : ~state.ones[label][w]);
}

inline Bits covered_by(const Condition& condition, const Bits& cover, const Columns& columns, const State& state) {
  if (condition.test != Test::label) return columns.covered(condition, cover);
  Bits out(state.rows);
  for (std::size_t w = 0; w < out.words(); ++w)
    out.data()[w] = cover.data()[w] & label_rows(state, condition.index, condition.edge != 0, w);
  return out;
}

}  // namespace polyrule
