// A body under search: the rows it covers, and which labels of those rows are worth looking at.
#pragma once

#include <vector>

#include "form.hpp"
#include "state.hpp"

namespace polyrule {

// A label as the search of one node sees it. Rows whose kind is the label's `usual` one are never visited: what they
// add is known from how many there are.
struct NodeLabel {
  std::uint32_t label = 0;
  int usual = 0;
  bool allowed[2] = {false, false};  // by value: literals that may be in the head
  Count kinds[4] = {0, 0, 0, 0};     // covered weight by kind
  Count present = 0;                 // weight in the working set, covered or not
  bool usable(int value) const { return allowed[value] && kinds[value] > 0; }

  void find_usual() {
    usual = 0;
    for (int k = 1; k < 4; ++k)
      if (kinds[k] > kinds[usual]) usual = k;
  }
};

struct NodeLists;

struct Node {
  Bits cover;
  Count weight = 0;
  std::vector<Row> rows;
  std::vector<std::uint32_t> filled;  // which words of the cover have a row
  bool is_root = false;
  std::uint64_t path_id = 0;  // nodes with the same number have nested covers
  std::vector<NodeLabel> labels;
  std::vector<std::uint8_t> inside;  // per row, whether it is covered
  const NodeLists* lists = nullptr;  // see lists.hpp

  // touches[first[row] .. last[row]) are the labels whose kind on this row is not the usual one, as label << 2 | kind.
  // Only the entries of covered rows mean anything.
  std::vector<std::uint32_t> first, last, touches;
  std::vector<Row> touched;  // covered rows with at least one touch

  void set_cover(Bits bits, const State& state) {
    cover = std::move(bits);
    rows.clear();
    inside.assign(state.rows, 0);
    filled.clear();
    for (std::size_t w = 0; w < cover.words(); ++w) {
      if (!cover.data()[w]) continue;
      filled.push_back(static_cast<std::uint32_t>(w));
      for_each_bit(cover.data()[w], w * 64, [&](std::size_t i) {
        rows.push_back(static_cast<Row>(i));
        inside[i] = 1;
      });
    }
    weight = state.weigh(cover.data());
  }

  static NodeLabel describe(std::size_t label, const bool allowed[2], const Bits& cover, Count weight,
                            const State& state) {
    NodeLabel out;
    out.label = static_cast<std::uint32_t>(label);
    out.allowed[0] = allowed[0];
    out.allowed[1] = allowed[1];
    out.present = state.present[label];
    state.count_kinds(label, cover, weight, out.kinds);
    out.find_usual();
    return out;
  }

  void list_touches(const State& state) {
    first.resize(state.rows);
    last.resize(state.rows);
    for (const Row row : rows) first[row] = 0;
    visit_unusual(state, [&](std::size_t, std::size_t row, int) { ++first[row]; });
    std::uint32_t total = 0;
    touched.clear();
    for (const Row row : rows) {
      const std::uint32_t here = first[row];
      if (here) touched.push_back(row);
      first[row] = last[row] = total;
      total += here;
    }
    touches.resize(total);
    visit_unusual(state, [&](std::size_t e, std::size_t row, int kind) {
      touches[last[row]++] = static_cast<std::uint32_t>(e << 2 | static_cast<std::size_t>(kind));
    });
  }

 private:
  template <class Visit>
  void visit_unusual(const State& state, Visit&& visit) const {
    for (std::size_t e = 0; e < labels.size(); ++e) {
      const Word *truth = state.truth[labels[e].label], *set = state.set[labels[e].label];
      const Word flip_truth = labels[e].usual & 1 ? 0 : ~Word{0}, flip_set = labels[e].usual & 2 ? 0 : ~Word{0};
      for (std::size_t w = 0; w < cover.words(); ++w) {
        const Word usual = (truth[w] ^ flip_truth) & (set[w] ^ flip_set);
        for_each_bit(cover.data()[w] & ~usual, w * 64, [&](std::size_t i) {
          visit(e, i, kind_of((truth[w] >> (i & 63)) & 1, (set[w] >> (i & 63)) & 1));
        });
      }
    }
  }
};

}  // namespace polyrule
