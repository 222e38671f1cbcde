// The training state: which rows still count, and what earlier rules have set on them.
//
// Everything that is remembered between rules carries a `Stamp` from here, and `since` says what has changed after it.
// That is the only way a memory becomes stale.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/assert.hpp"
#include "core/bits.hpp"
#include "core/wide.hpp"
#include "data/outcomes.hpp"

namespace polyrule {

struct CommitResult {
  Count covered = 0, open = 0, newly_set = 0;
  bool stopped = false;
};

// The share of open rows up to which a rule gets a stop, if any: numerator and denominator.
using StopThreshold = std::optional<std::pair<Count, Count>>;

// When something was found out.
struct Stamp {
  std::shared_ptr<const Bits> working;  // the working set as it was; none: never
  std::size_t sets = 0;                 // how often labels had been set
};

// What has changed since, for what is known of a label.
struct Change {
  bool label;                           // it has been set on more rows, or nothing was known
  bool working;                         // rows have left the working set
  std::span<const std::uint32_t> sets;  // labels that have been set on more rows: conditions on them cover more
  bool any() const { return label || working || !sets.empty(); }
};

// Covered weight of a label by kind, and what is left: covered rows where it is unknown.
struct OutcomeCounts {
  Count by[kOutcomes] = {0, 0, 0, 0};
  Count& operator[](int outcome) { return by[outcome]; }
  Count operator[](int outcome) const { return by[outcome]; }
};

class State {
 public:
  // Rows of weight 0 are not in the working set from the start.
  State(std::size_t rows, std::size_t labels, std::vector<Count> weights)
      : rows(rows), labels(labels), weights(std::move(weights)), truth(labels, rows), set(labels, rows),
        ones(labels, rows), working(rows), present(labels, 0), absent(labels, 0), ever_set(labels, 0),
        last_set_(labels, 0) {
    for (std::size_t i = 0; i < rows; ++i) {
      if (this->weights[i] > 0) working.set(i);
      unit = unit && this->weights[i] <= 1;
      total_weight += this->weights[i];
    }
    if (unit) return;
    // Weights are counted bit by bit: rows whose weight has a bit are a set.
    const Count heaviest = *std::max_element(this->weights.begin(), this->weights.end());
    for (int bit = 0; heaviest >> bit != 0; ++bit) {
      planes.emplace_back(rows);
      for (std::size_t i = 0; i < rows; ++i)
        if (this->weights[i] >> bit & 1) planes.back().set(i);
    }
  }

  // Labels may be unknown on some rows; `is_known` starts with all of them known.
  void allow_unknown() {
    is_known = BitMatrix(labels, rows);
    for (std::size_t l = 0; l < labels; ++l)
      for (std::size_t i = 0; i < rows; ++i) is_known.put(l, i);
    has_unknown = true;
  }
  Word known_word(std::size_t label, std::size_t w) const { return has_unknown ? is_known[label][w] : ~Word{0}; }

  int outcome(std::size_t label, std::size_t row) const {
    if (has_unknown && !is_known.test(label, row)) return kUnknown;
    return int(truth.test(label, row)) | (int(set.test(label, row)) << 1);
  }

  const Stamp& now() const { return now_; }
  Change since(const Stamp& stamp, std::size_t label) const {
    POLYRULE_ASSERT(stamp.sets <= sets_.size());
    return {!stamp.working || last_set_[label] > stamp.sets, stamp.working != now_.working,
            std::span(sets_).subspan(stamp.sets)};
  }

  // Recompute what depends on the working set.
  void refresh() {
    now_.working = std::make_shared<const Bits>(working);
    working_weight = weigh(working.data());
    POLYRULE_ASSERT(working_weight >= 0 && working_weight <= total_weight);
    for (std::size_t l = 0; l < labels; ++l) {
      present[l] = weigh_common(working.data(), truth[l]);
      absent[l] = has_unknown ? weigh_common(working.data(), is_known[l], truth[l], true) : working_weight - present[l];
    }
  }

  Count weigh(const Word* bits) const {
    const Count rows = count_bits(bits, working.words());
    if (unit) return rows;
    Count total = 0;
    if (are_few(rows)) {
      for (std::size_t w = 0; w < working.words(); ++w)
        for_each_bit(bits[w], w * 64, [&](std::size_t i) { total += weights[i]; });
      return total;
    }
    for (std::size_t b = 0; b < planes.size(); ++b) total += count_common(bits, planes[b].data(), working.words()) << b;
    return total;
  }

  // The weight of the rows that are in both sets; with three, in the third one or (`outside`) not in it.
  Count weigh_common(const Word* a, const Word* b, const Word* c = nullptr, bool outside = false) const {
    const std::size_t words = working.words();
    if (unit) return c ? count_common(a, b, c, outside, words) : count_common(a, b, words);
    thread_local std::vector<Word> both;
    both.resize(words);
    for (std::size_t w = 0; w < words; ++w) both[w] = a[w] & b[w] & (c ? (outside ? ~c[w] : c[w]) : ~Word{0});
    return weigh(both.data());
  }

  // Whether so many weights are added up one by one sooner than all rows bit by bit.
  bool are_few(Count n_rows) const { return 3 * static_cast<std::size_t>(n_rows) < planes.size() * working.words(); }

  // Covered weight of a label by kind.
  OutcomeCounts count_outcomes(std::size_t label, const Bits& cover, Count cover_weight) const {
    OutcomeCounts out;
    const Word *t = truth[label], *s = set[label];
    if (!has_unknown && (unit || !are_few(count_bits(cover.data(), cover.words())))) {
      Count three[3] = {0, 0, 0};
      if (unit) count_three(cover.data(), t, s, cover.words(), three);
      std::vector<Word> plane_rows(unit ? 0 : cover.words());
      for (std::size_t b = 0; b < planes.size(); ++b) {
        for (std::size_t w = 0; w < plane_rows.size(); ++w) plane_rows[w] = cover.data()[w] & planes[b].data()[w];
        Count more[3];
        count_three(plane_rows.data(), t, s, plane_rows.size(), more);
        for (int i = 0; i < 3; ++i) three[i] += more[i] << b;
      }
      out[kPresentSet] = three[2];
      out[kPresent] = three[0] - three[2];
      out[kAbsentSet] = three[1] - three[2];
      out[kAbsent] = cover_weight - three[0] - three[1] + three[2];
      return out;
    }
    for (std::size_t w = 0; w < cover.words(); ++w) {
      const Word rows_of_word = cover.data()[w] & known_word(label, w);
      if (!rows_of_word) continue;
      const Word parts[kOutcomes] = {rows_of_word & ~t[w] & ~s[w], rows_of_word & t[w] & ~s[w],
                                     rows_of_word & ~t[w] & s[w], rows_of_word & t[w] & s[w]};
      for (int k = 0; k < kOutcomes; ++k) {
        if (unit) out[k] += std::popcount(parts[k]);
        else for_each_bit(parts[k], w * 64, [&](std::size_t i) { out[k] += weights[i]; });
      }
    }
    return out;
  }

  // The rows of `among` that still have a label to predict. An unknown label keeps no row open.
  Bits open_among(const Bits& among, bool negative) const {
    Bits open(rows);
    for (std::size_t l = 0; l < labels; ++l)
      for (std::size_t w = 0; w < among.words(); ++w) {
        Word unset = among.data()[w] & ~set[l][w] & known_word(l, w);
        if (!negative) unset &= truth[l][w];
        open.data()[w] |= unset;
      }
    return open;
  }

  bool has_unset(bool negative) const {
    const Bits open = open_among(working, negative);
    return count_bits(open.data(), open.words()) > 0;
  }

  // Applies a rule. on_set(label, value, w, bits): these of the 64 rows from w * 64 on have the label set now.
  template <class OnSet>
  CommitResult commit(const Bits& cover, const std::vector<std::pair<std::size_t, int>>& head, bool full, bool negative,
                      const StopThreshold& threshold, bool keep_covered, OnSet&& on_set) {
    CommitResult result;
    for (const auto& [label, value] : head) result.newly_set += assign(cover, label, value, on_set);
    if (full)
      for (std::size_t l = 0; l < labels; ++l) result.newly_set += assign(cover, l, 0, on_set);
    const Bits open = open_among(cover, negative);
    result.covered = weigh(cover.data());
    result.open = weigh(open.data());
    result.stopped = threshold && Wide(result.open) * threshold->second <= Wide(threshold->first) * result.covered;
    if (result.stopped || !threshold || !keep_covered) {
      bool any = false;
      for (std::size_t w = 0; w < cover.words(); ++w) {
        Word leave = cover.data()[w] & working.data()[w];
        if (!result.stopped) leave &= ~open.data()[w];
        any = any || leave;
        working.data()[w] &= ~leave;
      }
      if (any) refresh();
    }
    return result;
  }

  const std::size_t rows, labels;
  const std::vector<Count> weights;
  Count total_weight = 0;
  bool unit = true;          // whether every weight is 0 or 1
  std::vector<Bits> planes;  // by bit of the weight; none where every weight is 0 or 1
  bool has_unknown = false;
  BitMatrix truth, set, ones, is_known;
  Bits working;
  Count working_weight = 0;
  std::vector<Count> present, absent;  // weight of the working rows that have the label, and that lack it
  std::vector<char> ever_set;

 private:
  template <class OnSet>
  Count assign(const Bits& cover, std::size_t label, int value, OnSet&& on_set) {
    Count fresh = 0;
    for (std::size_t w = 0; w < cover.words(); ++w) {
      const Word free = cover.data()[w] & ~set[label][w];
      if (!free) continue;
      set[label][w] |= free;
      if (value) ones[label][w] |= free;
      on_set(label, value, w, free);
      fresh += std::popcount(free);
    }
    if (fresh) {
      ever_set[label] = 1;
      sets_.push_back(static_cast<std::uint32_t>(label));
      now_.sets = last_set_[label] = sets_.size();
    }
    return fresh;
  }

  Stamp now_;
  std::vector<std::uint32_t> sets_;    // labels, in the order in which they were set on more rows
  std::vector<std::size_t> last_set_;  // by label
};

}  // namespace polyrule
