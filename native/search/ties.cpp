#include "search/ties.hpp"

#include <algorithm>

namespace polyrule {

namespace {

constexpr std::size_t kAhead = 16;  // records are asked for so many rows ahead, because they come in no order

// With the number of words known, all of them stay in registers.
template <std::size_t Words, bool Unit>
POLYRULE_INLINE std::size_t join_some(const RaceRows& rows, std::size_t from, std::size_t to, RaceWord* words,
                                      Count& total) {
  constexpr std::size_t kKept = Words ? Words : 1;
  const std::size_t count = Words ? Words : rows.words;
  RaceWord local[kKept];
  RaceWord* race = words;
  if (Words) {
    race = local;
    for (std::size_t w = 0; w < Words; ++w) local[w] = words[w];
  }
  Count sum = total;
  std::size_t i = from;
  for (; i < to; ++i) {
    const std::uint32_t slot = rows.slot(i);
    const Word* record = rows.records + std::size_t(slot) * rows.stride;
    if (i + kAhead < to) POLYRULE_PREFETCH(rows.records + std::size_t(rows.slot(i + kAhead)) * rows.stride);
    Word out = 0;
    for (std::size_t w = 0; w < count; ++w) {
      race[w].seen[1] |= record[w];
      race[w].seen[0] |= record[count + w];
      out |= race[w].seen[0] & race[w].seen[1] & race[w].racing;
    }
    if (out) break;
    Count more = 0;
    for (std::size_t w = 0; w < count; ++w) {
      const Word unset = record[w] | record[count + w];
      rows.history[w * rows.size + i] = unset;
      more += std::popcount(unset & race[w].racing);
    }
    sum += Unit ? more : more * rows.weights[slot];
  }
  if (Words)
    for (std::size_t w = 0; w < Words; ++w) words[w] = local[w];
  total = sum;
  return i;
}

POLYRULE_VECTOR_CLONES
Count count_bit(const Word* words, std::size_t size, std::size_t bit) {
  Count total = 0;
  for (std::size_t i = 0; i < size; ++i) total += static_cast<Count>(words[i] >> bit & 1);
  return total;
}

}  // namespace

POLYRULE_CLONES
std::size_t join_until_drop(const RaceRows& rows, std::size_t from, std::size_t to, RaceWord* words, Count& total) {
  if (rows.weights) return join_some<0, false>(rows, from, to, words, total);
  if (rows.words == 1) return join_some<1, true>(rows, from, to, words, total);
  if (rows.words == 2) return join_some<2, true>(rows, from, to, words, total);
  return join_some<0, true>(rows, from, to, words, total);
}

TieScan::TieScan(const Node& node, const State& state, const Records& records, Columns& columns, Sequences& sequences,
                 Count min_coverage)
    : node_(node), state_(state), columns_(columns), sequences_(sequences), words_(records.words()),
      stride_(node.is_root() ? records.stride() : 2 * words_), min_coverage_(min_coverage), max_tp_(state.labels, 0),
      start_(words_), race_(words_) {
  if (node.is_root()) {
    records_ = records.data();
  } else {  // side by side, so that a small cover stays in the nearest cache
    own_records_.resize(node.slots * stride_);
    for (std::size_t slot = 0; slot < node.slots; ++slot)
      std::copy_n(records.row(node.rows[slot]), stride_, own_records_.data() + slot * stride_);
    records_ = own_records_.data();
  }
  if (!state.unit) {
    weights_.resize(node.slots);
    for (std::size_t p = 0; p < node.rows.size(); ++p) weights_[node.slot_at(p)] = state.weights[node.rows[p]];
  }
  for (RaceWord& word : start_) word.seen[0] = word.seen[1] = ~Word{0};
  for (const NodeLabel& label : node.labels) {
    const std::size_t l = label.label;
    for (int v = 0; v < 2; ++v)
      if (label.usable(v)) {
        start_[l / 64].racing |= Word{1} << l % 64;
        start_[l / 64].seen[1 - v] &= ~(Word{1} << l % 64);
        max_tp_[l] = std::max(max_tp_[l], label.outcomes[v]);
      }
    potential_ += max_tp_[l];
  }
}

void TieScan::column(std::size_t index, Shortlist& best) {
  const Column& column = columns_[index];
  columns_.follow(index, state_.now().working);
  place_rows(index, column);
  if (size_ == 0) return;
  misses_ = size_ < node_.rows.size();
  history_.resize(size_ * words_);
  for (const bool descending : {false, true}) run(column, static_cast<std::uint32_t>(index), descending, best);
}

// The slots with a value, in order from chunk to chunk.
void TieScan::place_rows(std::size_t index, const Column& column) {
  chunks_.clear();
  sparse_.clear();
  if (sequences_.in_bins(node_, column)) {
    std::vector<std::size_t> place(column.cuts.size() + 2, 0);
    for (const Row row : node_.rows)
      if (column.bins[row] != Column::kMissingBin) ++place[std::size_t(column.bins[row]) + 1];
    for (std::size_t b = 0; b + 1 < place.size(); ++b) {
      if (place[b + 1] > 0) chunks_.push_back({place[b], place[b] + place[b + 1], false});
      place[b + 1] += place[b];
    }
    own_list_.resize(place.back());
    for (std::uint32_t p = 0; p < node_.rows.size(); ++p)
      if (const std::uint8_t bin = column.bins[node_.rows[p]]; bin != Column::kMissingBin)
        own_list_[place[bin]++] = node_.slot_at(p);
  } else if (column.shape == Shape::blocked) {
    const auto below = std::ptrdiff_t(list_covered(column, node_, own_list_, sparse_));
    Bits block = node_.cover;
    for (const std::vector<Row>* rows : {&column.missing, &column.rows})
      for (const Row row : *rows) block.reset(row & kEntry);
    std::vector<std::uint32_t> rows;
    for_each_bit(block, [&](std::size_t i) { rows.push_back(node_.slot(static_cast<Row>(i))); });
    if (!rows.empty()) rows.front() |= kStarts;
    own_list_.insert(own_list_.begin() + below, rows.begin(), rows.end());
    sparse_.insert(sparse_.begin() + below, rows.size(), column.block);
    if (!own_list_.empty()) chunks_.push_back({0, own_list_.size(), true});
  } else {
    const std::span<const std::uint32_t> list = sequences_.of(index, node_);
    list_ = list.data();
    size_ = list.size();
    chunks_.push_back({0, size_, true});
    return;
  }
  list_ = own_list_.data();
  size_ = own_list_.size();
}

void TieScan::make_ready(const Column& column, Chunk& chunk) {
  if (chunk.ready) return;
  const auto begin = own_list_.begin() + std::ptrdiff_t(chunk.begin),
             end = own_list_.begin() + std::ptrdiff_t(chunk.end);
  std::vector<std::uint32_t> slots(begin, end);
  sort_slots(column, node_, slots);
  std::copy(slots.begin(), slots.end(), begin);
  chunk.ready = true;
}

void TieScan::run(const Column& column, std::uint32_t index, bool descending, Shortlist& best) {
  std::copy(start_.begin(), start_.end(), race_.begin());
  const RaceRows rows{records_,
                      words_,
                      stride_,
                      weights_.empty() ? nullptr : weights_.data(),
                      descending ? list_ + size_ - 1 : list_,
                      descending ? -1 : 1,
                      size_,
                      history_.data()};
  const auto place_before = [&](std::size_t time) { return descending ? size_ - time : time; };
  // Whether the first rows are a candidate, and which.
  const auto is_boundary = [&](std::size_t time) {
    const std::size_t place = place_before(time);
    if (time < size_) return (list_[place] & kStarts) != 0;
    return misses_ && (descending ? column.min_value < value(column, 0) : column.max_value > value(column, size_ - 1));
  };
  const auto condition = [&](std::size_t time) {
    const std::size_t place = place_before(time);
    if (place == 0) return Condition{Test::above, true, index, 0};
    return Condition{descending ? Test::above : Test::at_most, false, index, value(column, place - 1)};
  };
  const auto weight_of = [&](std::size_t time) {
    Count total = 0;
    for (std::size_t i = 0; i < time; ++i) total += weights_.empty() ? 1 : weights_[rows.slot(i)];
    return total;
  };
  Count total = 0, potential = potential_;
  std::size_t from = 0;
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    Chunk& chunk = chunks_[descending ? chunks_.size() - 1 - c : c];
    make_ready(column, chunk);
    // The boundary next to this chunk is told by the slots on both sides.
    const bool last_chunk = c + 1 == chunks_.size();
    if (!last_chunk) make_ready(column, chunks_[descending ? chunks_.size() - 2 - c : c + 1]);
    const std::size_t end = descending ? size_ - chunk.begin : chunk.end;
    while (potential >= best.least_tp()) {  // else pruned by the purity bound: too few true positives are left
      Count before = total;
      const std::size_t to = join_until_drop(rows, from, end, race_.data(), total);
      if (total >= best.least_tp())
        for (std::size_t time = from;; ++time) {
          if (time > 0 && before >= best.least_tp() && is_boundary(time) &&
              (min_coverage_ <= 0 || weight_of(time) >= min_coverage_))
            best.offer({{1, 1}, before, condition(time)});
          if (time == to) break;
          const Count w = weights_.empty() ? 1 : weights_[rows.slot(time)];
          for (std::size_t k = 0; k < words_; ++k)
            before += w * std::popcount(history_[k * size_ + time] & race_[k].racing);
        }
      from = to;
      if (to == end) break;
      for (std::size_t k = 0; k < words_; ++k) {
        const Word out = race_[k].racing & race_[k].seen[0] & race_[k].seen[1];
        race_[k].racing &= ~out;
        for_each_bit(out, 0, [&](std::size_t bit) {
          if (weights_.empty()) total -= count_bit(history_.data() + k * size_, to, bit);
          else
            for (std::size_t i = 0; i < to; ++i)
              total -= (history_[k * size_ + i] >> bit & 1) != 0 ? weights_[rows.slot(i)] : 0;
          potential -= max_tp_[k * 64 + bit];
        });
      }
    }
    if (from < end) return;
  }
}

}  // namespace polyrule
