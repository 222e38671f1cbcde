#include "pure.hpp"

#include <algorithm>

#include "members.hpp"
#include "tally.hpp"
#include "transpose.hpp"

#if POLYRULE_HAS_COUNT_VECTORS
#include <immintrin.h>
#endif

namespace polyrule {

namespace {

// Some words of each part at a time.
template <std::size_t Chunk>
inline __attribute__((always_inline)) Count pure_chunk(const Word* records, std::size_t stride, std::size_t words,
                                                       const Word* allowed, const Row* rows, std::size_t size) {
  Word present[Chunk] = {}, absent[Chunk] = {};
  for (std::size_t i = 0; i < size; ++i) {
    const Word* row = records + rows[i] * stride;
    for (std::size_t j = 0; j < Chunk; ++j) present[j] |= row[j];
    for (std::size_t j = 0; j < Chunk; ++j) absent[j] |= row[words + j];
  }
  Word any = 0;
  for (std::size_t j = 0; j < Chunk; ++j) {
    const Word mixed = present[j] & absent[j];
    present[j] &= ~mixed & allowed[j];
    absent[j] &= ~mixed & allowed[words + j];
    any |= present[j] | absent[j];
  }
  if (!any) return 0;
  Count sums[Chunk] = {}, total = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const Word* row = records + rows[i] * stride;
    for (std::size_t j = 0; j < Chunk; ++j)  // no label is both present and absent
      sums[j] += std::popcount((row[j] & present[j]) | (row[words + j] & absent[j]));
  }
  for (const Count sum : sums) total += sum;
  return total;
}

POLYRULE_CLONES Count pure_by_words(const RowRecords& records, const Word* allowed, const Row* rows, std::size_t size) {
  const std::size_t words = records.words();
  Count total = 0;
  std::size_t w = 0;
  for (; w + 4 <= words; w += 4)
    total += pure_chunk<4>(records.data() + w, records.stride(), words, allowed + w, rows, size);
  for (; w < words; ++w)
    total += pure_chunk<1>(records.data() + w, records.stride(), words, allowed + w, rows, size);
  return total;
}

#if POLYRULE_HAS_COUNT_VECTORS
// The same for eight words at a time; the last ones are masked.
POLYRULE_COUNT_VECTORS Count pure_by_vectors(const RowRecords& records, const Word* allowed, const Row* rows,
                                             std::size_t size) {
  const std::size_t words = records.words(), stride = records.stride();
  __m512i sum = {};
  for (std::size_t w = 0; w < words; w += 8) {
    const auto some = static_cast<__mmask8>(words - w >= 8 ? 255 : (1 << (words - w)) - 1);
    const Word* base = records.data() + w;
    __m512i present = {}, absent = {};
    for (std::size_t i = 0; i < size; ++i) {
      const Word* row = base + rows[i] * stride;
      present |= _mm512_maskz_loadu_epi64(some, row);
      absent |= _mm512_maskz_loadu_epi64(some, row + words);
    }
    const __m512i mixed = present & absent;
    present &= ~mixed & _mm512_maskz_loadu_epi64(some, allowed + w);
    absent &= ~mixed & _mm512_maskz_loadu_epi64(some, allowed + words + w);
    const __m512i any = present | absent;
    if (_mm512_test_epi64_mask(any, any) == 0) continue;
    for (std::size_t i = 0; i < size; ++i) {
      const Word* row = base + rows[i] * stride;
      const __m512i right = (present & _mm512_maskz_loadu_epi64(some, row)) | (absent & _mm512_maskz_loadu_epi64(some, row + words));
      sum += _mm512_popcnt_epi64(right);
    }
  }
  Count total = 0;
  for (std::size_t j = 0; j < 8; ++j) total += sum[j];
  return total;
}
#endif

// For every condition, the sum of the given numbers over its covered rows.
std::vector<std::uint32_t> sums_of(const std::vector<std::uint32_t>& numbers, const std::vector<Row>& rows,
                                   const Members& members) {
  std::vector<std::uint32_t> sums(members.counters(), 0);
  LineArray<std::uint16_t> counts;
  counts.resize(members.counters());
  std::vector<Row> some;
  const std::uint32_t largest = *std::max_element(numbers.begin(), numbers.end());
  for (std::uint32_t bit = 0; largest >> bit != 0; ++bit) {
    some.clear();
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (numbers[i] >> bit & 1) some.push_back(rows[i]);
    tally(members.data(), members.stride(), some.data(), some.size(), members.vectors(), counts.get());
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += std::uint32_t{counts.get()[k]} << bit;
  }
  return sums;
}

// A condition that may win.
struct Contender {
  std::uint32_t bound, condition;
  Word summary;  // of the covered rows: the same rows have the same one
};

}  // namespace

std::vector<Word> allowed_literals(const std::vector<NodeLabel>& labels, const State& state) {
  std::vector<Word> allowed(2 * state.records.words(), 0);
  for (const NodeLabel& label : labels)
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v]) allowed[(v ? 0 : state.records.words()) + label.label / 64] |= Word{1} << label.label % 64;
  return allowed;
}

Count pure_true_positives(const RowRecords& records, const Word* allowed, const Row* rows, std::size_t size) {
#if POLYRULE_HAS_COUNT_VECTORS
  if (counts_vectors) return pure_by_vectors(records, allowed, rows, size);
#endif
  return pure_by_words(records, allowed, rows, size);
}

Best best_pure(const Watch& watch, const Node& node, const State& state, const std::vector<NodeLabel>& live,
               const Best& start) {
  const Members& members = state.members;
  const RowRecords& records = state.records;
  const std::vector<Row>& rows = node.rows;
  const std::vector<Word> allowed = allowed_literals(live, state);
  Best best = start;
  if (rows.empty()) return best;

  std::vector<std::uint32_t> unset(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    unset[i] = static_cast<std::uint32_t>(
        count_common(allowed.data(), records.data() + rows[i] * records.stride(), allowed.size()));
  const std::vector<std::uint32_t> sums = sums_of(unset, rows, members);
  CoveredRows covered(rows.size(), members.data(), members.stride(), rows.data());
  std::vector<Contender> contenders;
  for (std::uint32_t k = 0; k < members.size(); ++k) {
    if (Count(sums[k]) <= start.tp) continue;
    const Word* bits = covered[k];
    Word summary = 0, factor = 0x9e3779b97f4a7c15;
    for (std::size_t w = 0; w < covered.words(); ++w, factor += 0x6a09e667f3bcc908) summary += bits[w] * factor;
    contenders.push_back({sums[k], k, summary});
  }
  // The most promising ones first; conditions that cover the same rows are neighbours.
  std::sort(contenders.begin(), contenders.end(), [](const Contender& a, const Contender& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.summary != b.summary ? a.summary < b.summary : a.condition < b.condition;
  });
  const Patience patience(&watch);
  std::vector<Row> list;
  const Contender* last = nullptr;
  Count total = 0;
  for (const Contender& contender : contenders) {
    if (Count(contender.bound) < best.tp) break;
    patience.step();
    const Word* bits = covered[contender.condition];
    const bool same = last && last->summary == contender.summary && std::equal(bits, bits + covered.words(), covered[last->condition]);
    if (!same) {
      list.clear();
      for (std::size_t w = 0; w < covered.words(); ++w)
        for_each_bit(bits[w], w * 64, [&](std::size_t i) { list.push_back(rows[i]); });
      total = pure_true_positives(records, allowed.data(), list.data(), list.size());
      last = &contender;
    }
    if (total < best.tp || (total == best.tp && !best.any)) continue;
    if (total == best.tp && !comes_before(members[contender.condition], best.condition)) continue;
    best.tp = total;
    best.any = true;
    best.condition = members[contender.condition];
  }
  return best;
}

}  // namespace polyrule
