#include "lists.hpp"

#include <unordered_map>

namespace polyrule {

namespace {

// A sum of words, each times a number of its own; that equal lists have equal sums is all that is needed.
Word summary(const LabelList& list, const Node& node, const State& state) {
  Word sum = 0, factor = 0x9e3779b97f4a7c15;
  for (const std::uint32_t w : node.filled) {
    sum += (node.cover.data()[w] & list.word(state, w)) * factor;
    factor += 0x6a09e667f3bcc908;
  }
  return sum;
}

bool same_rows(const LabelList& a, const LabelList& b, const Node& node, const State& state) {
  for (const std::uint32_t w : node.filled)
    if (node.cover.data()[w] & (a.word(state, w) ^ b.word(state, w))) return false;
  return true;
}

// How many rows of the cover are in `set`, and how many of those in `ones`.
POLYRULE_CLONES
void count_set(const Word* cover, const Word* set, const Word* ones, const std::uint32_t* filled, std::size_t size,
               Count out[2]) {
  out[0] = out[1] = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const Word here = cover[filled[i]] & set[filled[i]];
    out[0] += std::popcount(here);
    out[1] += std::popcount(here & ones[filled[i]]);
  }
}

}  // namespace

std::vector<LabelList> distinct_label_lists(const Node& node, const State& state) {
  std::vector<LabelList> found;
  std::unordered_multimap<Word, std::size_t> seen;
  for (std::uint32_t label = 0; label < state.labels; ++label) {
    if (!state.ever_set[label]) continue;
    Count counts[2];
    count_set(node.cover.data(), state.set[label], state.ones[label], node.filled.data(), node.filled.size(), counts);
    for (int value = 0; value < 2; ++value) {
      const LabelList list{label, value, static_cast<std::size_t>(value ? counts[1] : counts[0] - counts[1])};
      if (list.size == 0 || list.size == node.rows.size()) continue;
      const Word sum = summary(list, node, state);
      const auto [begin, end] = seen.equal_range(sum);
      if (std::any_of(begin, end, [&](const auto& entry) { return same_rows(found[entry.second], list, node, state); }))
        continue;
      seen.emplace(sum, found.size());
      found.push_back(list);
    }
  }
  return found;
}

}  // namespace polyrule
