// The training state: which rows still count, and what earlier rules have set on them.
#pragma once

#include <stdexcept>
#include <vector>

#include "bits.hpp"
#include "form.hpp"
#include "members.hpp"
#include "tally.hpp"

namespace polyrule {

struct Outcome {
  Count covered = 0, open = 0, newly_set = 0;
  bool stopped = false;
};

// The share of open rows up to which a rule gets a stop, as an exact fraction.
struct StopThreshold {
  bool given = false;
  Count num = 0, den = 1;
};

class State {
 public:
  State(std::size_t rows, std::size_t labels, std::vector<Count> weights)
      : rows(rows), labels(labels), weights(std::move(weights)), truth(labels, rows), set(labels, rows),
        ones(labels, rows), touched(rows), working(rows), present(labels, 0), ever_set(labels, 0), changed(labels, 1) {
    for (std::size_t i = 0; i < rows; ++i) {
      working.set(i);
      working_weight += this->weights[i];
      unit = unit && this->weights[i] == 1;
    }
  }

  // The working set with one byte per row.
  const std::vector<std::uint8_t>& working_bytes() const { return bytes_; }

  // Recompute what depends on the working set.
  void refresh() {
    bytes_.assign(rows, 0);
    for_each_bit(working, [&](std::size_t i) { bytes_[i] = 1; });
    working_weight = weigh(working.data());
    std::vector<Word> both(working.words());
    for (std::size_t l = 0; l < labels; ++l) {
      for (std::size_t w = 0; w < both.size(); ++w) both[w] = working.data()[w] & truth[l][w];
      present[l] = weigh(both.data());
    }
  }

  Count weigh(const Word* bits) const {
    if (unit) return count_bits(bits, working.words());
    Count total = 0;
    for (std::size_t w = 0; w < working.words(); ++w)
      for_each_bit(bits[w], w * 64, [&](std::size_t i) { total += weights[i]; });
    return total;
  }

  // Covered weight of a label by kind.
  void count_kinds(std::size_t label, const Bits& cover, Count cover_weight, Count out[4]) const {
    const Word *t = truth[label], *s = set[label];
    Count three[3];
    if (unit) {
      count_three(cover.data(), t, s, cover.words(), three);
    } else {
      three[0] = three[1] = three[2] = 0;
      for (std::size_t w = 0; w < cover.words(); ++w) {
        const Word c = cover.data()[w];
        for_each_bit(c & (t[w] | s[w]), w * 64, [&](std::size_t i) {
          const bool p = (t[w] >> (i & 63)) & 1, q = (s[w] >> (i & 63)) & 1;
          three[0] += p ? weights[i] : 0;
          three[1] += q ? weights[i] : 0;
          three[2] += p && q ? weights[i] : 0;
        });
      }
    }
    out[kPresentSet] = three[2];
    out[kPresent] = three[0] - three[2];
    out[kAbsentSet] = three[1] - three[2];
    out[kAbsent] = cover_weight - three[0] - three[1] + three[2];
  }

  // The rows of `rows` that still have something to predict.
  Bits open_among(const Bits& some, bool negative) const {
    Bits open(rows);
    for (std::size_t l = 0; l < labels; ++l)
      for (std::size_t w = 0; w < some.words(); ++w) {
        Word unset = some.data()[w] & ~set[l][w];
        if (!negative) unset &= truth[l][w];
        open.data()[w] |= unset;
      }
    return open;
  }

  bool has_unset(bool negative) const {
    for (std::size_t l = 0; l < labels; ++l)
      for (std::size_t w = 0; w < working.words(); ++w) {
        Word unset = working.data()[w] & ~set[l][w];
        if (!negative) unset &= truth[l][w];
        if (unset) return true;
      }
    return false;
  }

  Outcome commit(const Bits& cover, const std::vector<std::pair<std::size_t, int>>& head, bool full, bool negative,
                 const StopThreshold& threshold, bool keep_covered) {
    Outcome outcome;
    for (const auto& [label, value] : head) outcome.newly_set += assign(cover, label, value);
    if (full)
      for (std::size_t l = 0; l < labels; ++l) outcome.newly_set += assign(cover, l, 0);
    const Bits open = open_among(cover, negative);
    outcome.covered = weigh(cover.data());
    outcome.open = weigh(open.data());
    outcome.stopped =
        threshold.given && Wide(outcome.open) * threshold.den <= Wide(threshold.num) * outcome.covered;
    if (outcome.stopped || !threshold.given || !keep_covered) {
      bool any = false;
      for (std::size_t w = 0; w < cover.words(); ++w) {
        Word leave = cover.data()[w] & working.data()[w];
        if (!outcome.stopped) leave &= ~open.data()[w];
        any = any || leave;
        working.data()[w] &= ~leave;
      }
      if (any) {
        ++working_version;
        refresh();
      }
    }
    return outcome;
  }

  const std::size_t rows, labels;
  const std::vector<Count> weights;
  bool unit = true;
  BitMatrix truth, set, ones;
  RowRecords records;  // the same row by row; built only if an engine needs it
  Members members;     // which conditions the rows satisfy; likewise
  Bits touched;        // rows on which a label was set since somebody cleared this
  Bits working;
  Count working_weight = 0;
  std::vector<Count> present;  // weight of the working rows that have the label
  std::vector<char> ever_set;
  std::uint64_t working_version = 1;
  std::vector<std::uint64_t> changed;  // per label, counts the commits that set it

 private:
  std::vector<std::uint8_t> bytes_;

  Count assign(const Bits& cover, std::size_t label, int value) {
    Count fresh = 0;
    for (std::size_t w = 0; w < cover.words(); ++w) {
      const Word free = cover.data()[w] & ~set[label][w];
      set[label][w] |= free;
      if (value) ones[label][w] |= free;
      if (records.built())
        for_each_bit(free, w * 64, [&](std::size_t i) { records.set(i, label, truth.test(label, i)); });
      touched.data()[w] |= free;
      if (members.built()) for_each_bit(free, w * 64, [&](std::size_t i) { members.set_label(i, label, value); });
      fresh += std::popcount(free);
    }
    if (fresh) {
      ever_set[label] = 1;
      ++changed[label];
    }
    return fresh;
  }
};

}  // namespace polyrule
