#include "count.hpp"

#include <algorithm>

namespace polyrule_count {
namespace {

// Rows looked at together: their touches and the table of one column stay in the second-level cache.
constexpr std::size_t kChunk = 1 << 15;

// What some rows add to each bin they fall into: for every row the places label * 4 + outcome of the labels whose
// outcome is not the most common one.
struct Touches {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> place;

  void collect(const BlockView& block, const std::uint32_t* rows, std::size_t n, const std::vector<u64>& mode_truth,
               const std::vector<u64>& mode_set, const std::vector<u64>& mask) {
    first.clear();
    place.clear();
    for (std::size_t i = 0; i < n; ++i) {
      first.push_back(static_cast<std::uint32_t>(place.size()));
      const std::size_t at = rows[i] * block.words;
      for (std::size_t w = 0; w < block.words; ++w) {
        const u64 truth = block.truth[at + w], set = block.set[at + w];
        for (u64 bits = off_mode(truth, set, mode_truth[w], mode_set[w], mask[w]); bits; bits &= bits - 1) {
          const int bit = first_set_bit(bits);
          place.push_back(static_cast<std::uint32_t>((w * 64 + std::size_t(bit)) * kOutcomes +
                                                     std::size_t(outcome_at(truth, set, bit))));
        }
      }
    }
    first.push_back(static_cast<std::uint32_t>(place.size()));
  }
};

// False at the first code that is none of the column's bins; nothing is written for it.
template <class CodeOf, class WeightOf>
bool count_column(const Touches& touches, std::size_t n, std::size_t bins, std::size_t width, CodeOf&& code_of,
                  WeightOf&& weight_of, std::int64_t* outcomes, std::int64_t* weight) {
  const std::uint32_t* place = touches.place.data();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t bin = code_of(i);
    if (bin >= bins) return false;
    const std::int64_t w = weight_of(i);
    weight[bin] += w;
    std::int64_t* row = outcomes + bin * width;
    for (std::uint32_t t = touches.first[i]; t < touches.first[i + 1]; ++t) row[place[t]] += w;
  }
  return true;
}

}  // namespace

bool count_rows(const BlockView& block, const std::uint32_t* selected, std::size_t n, const std::int32_t* columns,
                const std::int64_t* starts, std::size_t n_columns, const std::uint8_t* modes, std::int64_t* outcomes,
                std::int64_t* weight) {
  std::vector<u64> mode_truth(block.words, 0), mode_set(block.words, 0), mask(block.words, 0);
  for (std::size_t label = 0; label < block.labels; ++label) {
    const u64 bit = u64{1} << (label % 64);
    mask[label / 64] |= bit;
    if (modes[label] & 1) mode_truth[label / 64] |= bit;
    if (modes[label] & 2) mode_set[label / 64] |= bit;
  }
  const std::size_t width = block.labels * kOutcomes;
  Touches touches;
  for (std::size_t from = 0; from < n; from += kChunk) {
    const std::uint32_t* rows = selected + from;
    const std::size_t size = std::min(kChunk, n - from);
    touches.collect(block, rows, size, mode_truth, mode_set, mask);
    for (std::size_t c = 0; c < n_columns; ++c) {
      const auto column = static_cast<std::size_t>(columns[c]);
      const auto start = static_cast<std::size_t>(starts[c]);
      const std::size_t bins = static_cast<std::size_t>(starts[c + 1]) - start;
      const auto with = [&](auto&& code_of) {
        std::int64_t* table = outcomes + start * width;
        if (block.weights) {
          const auto weight_of = [&](std::size_t i) { return block.weights[rows[i]]; };
          return count_column(touches, size, bins, width, code_of, weight_of, table, weight + start);
        }
        return count_column(
            touches, size, bins, width, code_of, [](std::size_t) { return std::int64_t{1}; }, table, weight + start);
      };
      bool good = true;
      if (column >= block.features) {
        const std::size_t label = column - block.features, word = label / 64;
        const int bit = static_cast<int>(label % 64);
        good = with([&](std::size_t i) {
          const std::size_t at = rows[i] * block.words + word;
          return static_cast<std::size_t>(label_code(block.set[at], block.value[at], bit));
        });
      } else if (block.wide_codes) {
        const std::uint16_t* codes = static_cast<const std::uint16_t*>(block.codes) + column * block.rows;
        good = with([&](std::size_t i) { return static_cast<std::size_t>(codes[rows[i]]); });
      } else {
        const std::uint8_t* codes = static_cast<const std::uint8_t*>(block.codes) + column * block.rows;
        good = with([&](std::size_t i) { return static_cast<std::size_t>(codes[rows[i]]); });
      }
      if (!good) return false;
    }
  }
  return true;
}

}  // namespace polyrule_count
