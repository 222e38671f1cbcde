#include "search/pure.hpp"

#include <algorithm>

#include "core/lanes.hpp"
#include "core/tally.hpp"
#include "core/transpose.hpp"

#if POLYRULE_HAS_COUNT_VECTORS
#include <immintrin.h>
#endif

namespace polyrule {

namespace {

using Eight = Lanes<Word, 8>;
constexpr std::size_t kTogether = 8;

POLYRULE_VECTOR_CLONES
void add_shifted(std::uint32_t* sums, const std::uint16_t* counts, std::size_t size, int bit) {
  for (std::size_t k = 0; k < size; ++k) sums[k] += std::uint32_t{counts[k]} << bit;
}

// For every condition, the sum of the given numbers over its covered rows; all of them together are below 2**32.
std::vector<std::uint32_t> sums_of(const std::vector<std::uint32_t>& numbers, const std::vector<Row>& rows,
                                   const Members& members) {
  std::vector<std::uint32_t> sums(members.counters(), 0);
  LineArray<std::uint16_t> counts;
  counts.resize(members.counters());
  std::vector<Row> some(rows.size());
  const int bits = std::bit_width(*std::max_element(numbers.begin(), numbers.end()));
  for (int bit = 0; bit < bits; ++bit) {  // a number may have all of its 32 bits
    std::size_t size = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {  // nobody can predict the bits: no branch
      some[size] = rows[i];
      size += numbers[i] >> bit & 1;
    }
    if (size == 0) continue;
    tally(members.records(), members.stride(), some.data(), size, members.vectors(), counts.get());
    add_shifted(sums.data(), counts.get(), sums.size(), bit);
  }
  return sums;
}

// The right rows of those literals whose wrong rows are all outside `rows`, counted inside. Literals lie in blocks of
// eight, for each word the wrong rows of all and then the right rows of all.
POLYRULE_VECTOR_CLONES
Count purified_by_words(const Word* blocks, std::size_t literals, const Word* rows, std::size_t words) {
  Count total = 0;
  for (std::size_t j = 0; j < literals; j += kTogether, blocks += 2 * kTogether * words) {
    Eight wrong = {};
    for (std::size_t w = 0; w < words; ++w) wrong |= load<Eight>(blocks + 2 * kTogether * w) & (Eight{} + rows[w]);
    for (std::size_t i = 0; i < kTogether; ++i) {
      if (wrong[i] != 0) continue;
      const Word* right = blocks + kTogether + i;
      for (std::size_t w = 0; w < words; ++w) total += std::popcount(right[2 * kTogether * w] & rows[w]);
    }
  }
  return total;
}

#if POLYRULE_HAS_COUNT_VECTORS
POLYRULE_COUNT_VECTORS Count purified_by_vectors(const Word* blocks, std::size_t literals, const Word* rows,
                                                 std::size_t words) {
  __m512i total = {};
  for (std::size_t j = 0; j < literals; j += kTogether, blocks += 2 * kTogether * words) {
    __m512i wrong = {}, right = {};
    for (std::size_t w = 0; w < words; ++w) {
      const __m512i here = _mm512_set1_epi64(static_cast<long long>(rows[w]));
      wrong |= here & _mm512_load_si512(blocks + 2 * kTogether * w);
      if (words <= 4) right += _mm512_popcnt_epi64(here & _mm512_load_si512(blocks + 2 * kTogether * w + kTogether));
    }
    const __mmask8 pure = _mm512_testn_epi64_mask(wrong, wrong);
    if (words > 4 && pure != 0)
      for (std::size_t w = 0; w < words; ++w)
        right += _mm512_popcnt_epi64(_mm512_set1_epi64(static_cast<long long>(rows[w])) &
                                     _mm512_load_si512(blocks + 2 * kTogether * w + kTogether));
    total += _mm512_maskz_mov_epi64(pure, right);
  }
  Count sum = 0;
  for (std::size_t i = 0; i < kTogether; ++i) sum += total[i];
  return sum;
}
#endif

Count count_purified(const Word* blocks, std::size_t literals, const Word* rows, std::size_t words) {
#if POLYRULE_HAS_COUNT_VECTORS
  if (counts_vectors) return purified_by_vectors(blocks, literals, rows, words);
#endif
  return purified_by_words(blocks, literals, rows, words);
}

// Bits of rows are kept by their place among the node's rows, which takes a transposition, or by their number in the
// table, which takes more words. Where most words of the table are needed anyway, the latter is quicker.
bool by_number(const Node& node) { return node.cover.words() <= 2 * words_for(node.rows.size()); }

// The rows of a condition.
class ConditionRows {
 public:
  ConditionRows(const Node& node, const State& state, const Members& members)
      : state_(state), members_(members), by_number_(by_number(node)), label_rows_(state.rows),
        covered_(node.rows.size(), members.records(), members.stride(), node.rows.data()) {}

  // Valid until another one is asked for. By number, rows outside the node may be among them.
  const Word* operator[](std::size_t condition) {
    if (!by_number_) return covered_[condition];
    if (!members_.is_label(condition)) return members_.bits_of(condition);
    const Condition& asked = members_[condition];
    for (std::size_t w = 0; w < label_rows_.words(); ++w)
      label_rows_.data()[w] = label_rows(state_, asked.index, asked.edge != 0, w);
    return label_rows_.data();
  }

 private:
  const State& state_;
  const Members& members_;
  bool by_number_;
  Bits label_rows_;
  CoveredRows covered_;
};

// The mixed literals of a node, those with few wrong rows first.
class MixedLiterals {
 public:
  MixedLiterals(const Node& node, const State& state, const Records& records, const std::vector<NodeLabel>& live)
      : words_(by_number(node) ? node.cover.words() : words_for(node.rows.size())) {
    if (!state.unit && by_number(node)) weights_ = state.weights;
    else if (!state.unit)
      for (const Row row : node.rows) weights_.push_back(state.weights[row]);
    struct Literal {
      Count wrong, right;
      std::size_t label;
      int value;
    };
    std::vector<Literal> literals;
    for (const NodeLabel& label : live)
      for (int v = 0; v < 2; ++v)
        if (label.usable(v) && label.kinds[1 - v] > 0)
          literals.push_back({label.kinds[1 - v], label.kinds[v], label.label, v});
    std::stable_sort(literals.begin(), literals.end(), [](auto& a, auto& b) { return a.wrong < b.wrong; });
    CoveredRows unset(node.rows.size(), records.data(), records.stride(), node.rows.data());
    blocks_.resize((literals.size() + kTogether) * 2 * words_);
    gain_.push_back(0);
    for (std::size_t j = 0; j < literals.size(); ++j) {
      const Literal& literal = literals[j];
      wrong_.push_back(literal.wrong);
      gain_.push_back(gain_.back() + literal.right);
      Word* out = blocks_.get() + j / kTogether * 2 * kTogether * words_ + j % kTogether;
      for (const bool right : {false, true}) {
        const bool present = right == (literal.value == 1);
        if (by_number(node)) {
          const Word *cover = node.cover.data(), *truth = state.truth[literal.label], *set = state.set[literal.label];
          for (std::size_t w = 0; w < words_; ++w)
            out[(2 * w + right) * kTogether] =
                cover[w] & ~set[w] & (present ? truth[w] : ~truth[w]) & state.known_word(literal.label, w);
        } else {
          const Word* bits = unset[(present ? 0 : records.words() * 64) + literal.label];
          for (std::size_t w = 0; w < words_; ++w) out[(2 * w + right) * kTogether] = bits[w];
        }
      }
    }
    // What is left of the last block counts for nothing.
    for (std::size_t j = literals.size(); j % kTogether != 0; ++j)
      for (std::size_t w = 0; w < 2 * words_; ++w)
        blocks_.get()[j / kTogether * 2 * kTogether * words_ + j % kTogether + w * kTogether] = 0;
  }

  // How many of them may become pure where so much is left out, and what all of their right rows weigh.
  std::size_t within(Count left) const {
    return static_cast<std::size_t>(std::upper_bound(wrong_.begin(), wrong_.end(), left) - wrong_.begin());
  }
  Count most(Count left) const { return gain_[within(left)]; }
  // What those that may become pure add under a condition.
  Count purified(Count left, const Word* rows) const {
    if (weights_.empty()) return count_purified(blocks_.get(), within(left), rows, words_);
    Count total = 0;
    for (std::size_t j = 0; j < within(left); ++j) {
      const Word* block = blocks_.get() + j / kTogether * 2 * kTogether * words_ + j % kTogether;
      Word wrong = 0;
      for (std::size_t w = 0; w < words_; ++w) wrong |= block[2 * w * kTogether] & rows[w];
      for (std::size_t w = 0; w < words_ && !wrong; ++w)
        for_each_bit(block[(2 * w + 1) * kTogether] & rows[w], w * 64, [&](std::size_t i) { total += weights_[i]; });
    }
    return total;
  }

 private:
  std::size_t words_;
  std::vector<Count> weights_;  // as the bits of rows go; empty if all are 1
  std::vector<Count> wrong_, gain_;
  LineArray<Word> blocks_;
};

// For every row, how many of the given bits its record has.
POLYRULE_CLONES
void count_by_row(const std::vector<Word>& some, const Records& records, const std::vector<Row>& rows,
                  std::uint32_t* numbers) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Word* record = records.row(rows[i]);
    std::uint32_t number = 0;
    for (std::size_t w = 0; w < some.size(); ++w)
      number += static_cast<std::uint32_t>(std::popcount(some[w] & record[w]));
    numbers[i] = number;
  }
}

// By row, how many of the literals that are pure (or mixed) in the node it is a true positive of, times its weight.
std::vector<std::uint32_t> literals_by_row(const Node& node, const State& state, const Records& records,
                                           const std::vector<NodeLabel>& live, bool pure) {
  std::vector<Word> some(2 * records.words(), 0);
  for (const NodeLabel& label : live)
    for (int v = 0; v < 2; ++v)
      if (label.usable(v) && (label.kinds[1 - v] == 0) == pure)
        some[(v ? 0 : records.words()) + label.label / 64] |= Word{1} << label.label % 64;
  std::vector<std::uint32_t> numbers(node.rows.size());
  count_by_row(some, records, node.rows, numbers.data());
  for (std::size_t i = 0; i < numbers.size() && !state.unit; ++i)
    numbers[i] *= static_cast<std::uint32_t>(state.weights[node.rows[i]]);
  return numbers;
}

}  // namespace

void offer_pure(const Watch& watch, const Node& node, const State& state, const Members& members,
                const Records& records, const std::vector<NodeLabel>& labels, Count min_coverage, Shortlist& best) {
  const std::vector<Row>& rows = node.rows;
  if (rows.empty() || members.size() == 0) return;
  const MixedLiterals mixed(node, state, records, labels);
  const auto sums_by = [&](bool pure) {
    return sums_of(literals_by_row(node, state, records, labels, pure), rows, members);
  };
  const std::vector<std::uint32_t> sums = sums_by(true), mixed_sums = sums_by(false);
  LineArray<std::uint32_t> sizes;
  sizes.resize(members.counters());
  members.count(rows, members.vectors(), sizes.get());
  std::vector<Count> bounds(members.size());
  for (std::size_t k = 0; k < bounds.size(); ++k) {
    const Count size = sizes[k];
    const bool divides = size > 0 && size < node.weight && size >= min_coverage;
    bounds[k] = divides ? Count(sums[k]) + std::min<Count>(mixed_sums[k], mixed.most(node.weight - size)) : 0;
  }

  ConditionRows covered(node, state, members);
  const Patience patience(&watch);
  const auto judge = [&](std::uint32_t k) {
    patience.step();
    const Count total = Count(sums[k]) + mixed.purified(node.weight - Count(sizes[k]), covered[k]);
    if (total >= best.least_tp()) best.offer({{1, 1}, total, members[k]});
  };
  // The most promising one first: it rules out most of the others.
  const auto first = std::max_element(bounds.begin(), bounds.end());
  if (first != bounds.end() && *first >= best.least_tp()) judge(static_cast<std::uint32_t>(first - bounds.begin()));
  for (std::uint32_t k = 0; k < bounds.size(); ++k)
    if (bounds[k] > 0 && bounds[k] >= best.least_tp()) judge(k);
}

}  // namespace polyrule
