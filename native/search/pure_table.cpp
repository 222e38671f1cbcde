#include "search/pure_table.hpp"

#include <algorithm>
#include <cstring>

#include "core/parallel.hpp"
#include "core/tally.hpp"
#include "core/transpose.hpp"

namespace polyrule {

namespace {

POLYRULE_VECTOR_CLONES
void add_counts(std::uint16_t* counts, const std::uint16_t* more, std::size_t size, bool subtract) {
  if (subtract)
    for (std::size_t i = 0; i < size; ++i) counts[i] = static_cast<std::uint16_t>(counts[i] - more[i]);
  else
    for (std::size_t i = 0; i < size; ++i) counts[i] = static_cast<std::uint16_t>(counts[i] + more[i]);
}

// True positives of the literals without a wrong row.
POLYRULE_VECTOR_CLONES
std::uint32_t total_of(const std::uint16_t* counts, const std::uint16_t* allowed, std::size_t labels) {
  std::uint32_t total = 0;
  for (std::size_t l = 0; l < labels; ++l) {
    const std::uint16_t present = counts[l], absent = counts[labels + l];
    const std::uint16_t right = absent == 0 ? present & allowed[l] : 0;
    const std::uint16_t right_absent = present == 0 ? absent & allowed[labels + l] : 0;
    total += static_cast<std::uint16_t>(right | right_absent);  // one of them is 0
  }
  return total;
}

// What 64 conditions need to be corrected.
struct Scratch {
  LineArray<std::uint16_t> counts;
  std::vector<Row> places;
};

}  // namespace

// The rows that a rule has changed since they were counted.
struct PureTable::Change {
  std::vector<Row> rows;
  LineArray<Word> members, old_members;  // by place in `rows`
  LineArray<Word> unset, lost;           // what is unset now, and what was before but is no more
};

bool PureTable::fits() const {
  const std::size_t width = (2 * records_.words() + 3) / 4 * 4;
  return members_list_.size() * width * 64 * sizeof(std::uint16_t) <= kMostBytes;
}

void PureTable::prepare(bool negative) {
  const std::size_t words = records_.words(), size = members_list_.size();
  width_ = (2 * words + 3) / 4 * 4;
  labels_ = words * 64;
  stride_ = members_list_.stride();
  counts_.assign(size * width_ * 64, 0);
  members_.assign(state_.rows * stride_, 0);
  unset_.assign(state_.rows * width_, 0);
  allowed_.resize(2 * labels_);
  std::fill(allowed_.get(), allowed_.get() + labels_, UINT16_MAX);
  std::fill(allowed_.get() + labels_, allowed_.get() + 2 * labels_, negative ? UINT16_MAX : 0);
  totals_.assign(size, 0);
  working_ = touched_ = Bits(state_.rows);
  known_ = true;
}

PureTable::Change PureTable::find_change() {
  Change change;
  for (std::size_t w = 0; w < working_.words(); ++w) {
    const Word here = state_.working.data()[w];
    for_each_bit((working_.data()[w] ^ here) | (touched_.data()[w] & here), w * 64,
                 [&](std::size_t i) { change.rows.push_back(static_cast<Row>(i)); });
  }
  working_ = state_.working;
  touched_.clear();
  const std::size_t size = change.rows.size();
  for (LineArray<Word>* array : {&change.members, &change.old_members}) array->resize(size * stride_);
  for (LineArray<Word>* array : {&change.unset, &change.lost}) array->resize(size * width_);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t row = change.rows[i];
    const bool inside = working_.test(row);
    Word *now = members_.get() + row * stride_, *unset = unset_.get() + row * width_;
    std::copy(now, now + stride_, change.old_members.get() + i * stride_);
    std::copy(members_list_.record(row), members_list_.record(row) + stride_, now);
    std::copy(now, now + stride_, change.members.get() + i * stride_);
    const Word* record = records_.row(row);
    for (std::size_t w = 0; w < width_; ++w) {
      const Word fresh = inside && w < 2 * records_.words() ? record[w] : 0;
      change.lost.get()[i * width_ + w] = unset[w] & ~fresh;
      change.unset.get()[i * width_ + w] = unset[w] = fresh;
    }
  }
  return change;
}

// The conditions of one word of the member records.
void PureTable::correct(const Change& change, std::size_t word) {
  static thread_local Scratch scratch;
  scratch.counts.resize(width_ * 64);
  CoveredRows before(change.rows.size(), change.old_members.get(), stride_);
  CoveredRows now(change.rows.size(), change.members.get(), stride_);
  const auto add_up = [&](std::uint16_t* counts, const Word* records, bool subtract) {
    if (scratch.places.empty()) return false;
    tally(records, width_, scratch.places.data(), scratch.places.size(), width_ / 4, scratch.counts.get());
    add_counts(counts, scratch.counts.get(), width_ * 64, subtract);
    return true;
  };
  for (std::size_t k = word * 64; k < std::min(word * 64 + 64, totals_.size()); ++k) {
    std::uint16_t* counts = counts_.get() + k * width_ * 64;
    const Word *old_rows = before[k], *rows = now[k];
    const auto list = [&](bool fresh) {
      scratch.places.clear();
      for (std::size_t w = 0; w < now.words(); ++w)
        for_each_bit(fresh ? rows[w] & ~old_rows[w] : old_rows[w], w * 64,
                     [&](std::size_t i) { scratch.places.push_back(static_cast<Row>(i)); });
    };
    list(false);
    const bool less = add_up(counts, change.lost.get(), true);
    list(true);
    const bool more = add_up(counts, change.unset.get(), false);
    if (less || more) totals_[k] = total_of(counts, allowed_.get(), labels_);
  }
}

void PureTable::offer(bool negative, int threads, Shortlist& best) {
  if (!known_) prepare(negative);
  const Change change = find_change();
  const std::size_t words = words_for(totals_.size());
  if (!change.rows.empty())
    parallel_for(words, words >= 8 ? threads : 1, [&](std::size_t word) { correct(change, word); });
  for (std::size_t k = 0; k < totals_.size(); ++k)
    if (Count(totals_[k]) >= best.least_tp()) best.offer({{1, 1}, totals_[k], members_list_[k]});
}

}  // namespace polyrule
