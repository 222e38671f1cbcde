#include "search/races.hpp"

namespace polyrule {

namespace {

// One true positive less for every race that a row has joined before it was over.
POLYRULE_VECTOR_CLONES
void leave_races(const std::uint16_t* times, const std::uint16_t* drops, std::uint16_t* counts, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) counts[k] = static_cast<std::uint16_t>(counts[k] - (times[k] < drops[k]));
}

// Adds what a label can bring to candidates of `least` to `most` rows.
POLYRULE_VECTOR_CLONES
void add_bounds(const std::uint16_t* drops, const std::uint16_t* counts, std::size_t size, std::uint16_t least,
                std::uint16_t most, std::uint32_t* out) {
  for (std::size_t k = 0; k < size; ++k) {
    const std::uint16_t count = counts[k] < most ? counts[k] : most;
    const std::uint16_t adds = drops[k] >= least ? count : std::uint16_t(0);
    out[k] += adds;
  }
}

POLYRULE_CLONES
Count count_racing(const Word* unset, std::size_t words, const Word* racing, const std::uint16_t* first,
                   std::size_t size, std::ptrdiff_t step) {
  Count total = 0;
  for (std::size_t i = 0; i < size; ++i, first += step)
    for (std::size_t w = 0; w < words; ++w) total += std::popcount(unset[std::size_t(*first) * words + w] & racing[w]);
  return total;
}

}  // namespace

const std::vector<std::uint32_t>& Races::cells() {
  static const std::vector<std::uint32_t> limits = [] {
    std::vector<std::uint32_t> out;
    for (std::uint32_t octave = 1; out.size() < kCellCount; octave *= 2)
      for (std::uint32_t step = 4; step < 8; ++step)
        if (const std::uint32_t limit = octave * step / 4; out.empty() || limit > out.back()) out.push_back(limit);
    out.push_back(UINT32_MAX);
    return out;
  }();
  return limits;
}

void Races::begin(const Places& places, const State& state, const Records& records, bool negative) {
  places_ = &places;
  state_ = &state;
  negative_ = negative;
  words_ = records.words();
  stride_ = (places.slots() + 15) / 16 * 16;
  unset_.assign(state.rows * words_, 0);
  drops_.assign(2 * state.labels * stride_, 0);
  counts_.assign(2 * state.labels * stride_, 0);
  for (auto& times : times_) times.assign(stride_, 0);
  changed_.assign(state.labels, 1);
  highest_.assign(2 * places.slots(), 0);
  for (int v = 0; v < 2; ++v) left_[v].assign(state.labels, 0);
  inside_ = Bits(state.rows);
  begun_with_ = static_cast<std::size_t>(state.working_weight);
}

void Races::follow(const Places& places, const State& state, const Records& records, bool negative) {
  const bool first = state_ == nullptr;
  if (first) begin(places, state, records, negative);
  working_ = static_cast<std::size_t>(state.working_weight);
  std::vector<Word> now(words_), gone(words_);
  for (std::size_t row = 0; row < state.rows; ++row) {
    const Word* record = records.row(row);
    const bool working = state.working.test(row);
    Word* known = unset_.data() + row * words_;
    Word any = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      now[w] = working ? record[w] | record[words_ + w] : 0;
      gone[w] = known[w] & ~now[w];
      any |= gone[w];
    }
    if (!any && working == inside_.test(row)) continue;
    if (any) take_over(static_cast<Row>(row), gone.data());
    working ? inside_.set(row) : inside_.reset(row);
    std::copy(now.begin(), now.end(), known);
    if (first)
      for (std::size_t w = 0; w < words_; ++w)
        for_each_bit(now[w], w * 64, [&](std::size_t l) { ++left_[state.truth.test(l, row)][l]; });
  }
  moved_.assign(2 * places.slots(), {});
  for (std::size_t l = 0; l < state.labels; ++l)
    if (changed_[l]) move_on(l);
  find_bounds();
  limit_highest();
}

void Races::take_over(Row row, const Word* gone) {
  for (std::size_t k = 0; k < places_->slots(); ++k) {
    const Place place = places_->of_rows(k)[row];
    times_[0][k] = place;
    // A row without a value comes after all others in both directions.
    times_[1][k] = static_cast<Place>(places_->size(k) - 1 - place);
  }
  for (std::size_t w = 0; w < words_; ++w)
    for_each_bit(gone[w], w * 64, [&](std::size_t l) {
      changed_[l] = 1;
      --left_[state_->truth.test(l, row)][l];
      for (const bool descending : {false, true})
        leave_races(times_[descending].data(), drops_.data() + lane(l, descending, 0),
                    counts_.data() + lane(l, descending, 0), places_->slots());
    });
}

// Where the row at which a label dropped out has been set, or where all rows before it have, the race goes on.
void Races::move_on(std::size_t label) {
  changed_[label] = 0;
  const Word *truth = state_->truth[label], *set = state_->set[label], *working = state_->working.data();
  const auto has = [](const Word* bits, Row row) { return (bits[row / 64] >> row % 64 & 1) != 0; };
  const auto is_unset = [&](Row row) {
    return has(working, row) && !has(set, row) && (!state_->has_unknown || state_->known.test(label, row));
  };
  for (std::size_t k = 0; k < places_->slots(); ++k)
    for (const bool descending : {false, true}) {
      std::size_t time = drops_[lane(label, descending, k)];
      const std::size_t size = places_->size(k);
      if (time == size) continue;
      std::size_t count = counts_[lane(label, descending, k)];
      const Row at = row_at(k, descending, time);
      if (is_unset(at) && (negative_ ? count > 0 : !has(truth, at))) continue;
      bool started = !negative_ || count > 0;
      bool value = !negative_ || !has(truth, at);
      for (; time < size; ++time) {
        const Row row = row_at(k, descending, time);
        if (!is_unset(row)) continue;
        if (!started) value = has(truth, row);
        started = true;
        if (has(truth, row) != value) break;
        ++count;
      }
      // Candidates that it used to be out of have its true positives from now on, too.
      Moved& moved = moved_[2 * k + std::size_t(descending)];
      moved.from = std::min(moved.from, drops_[lane(label, descending, k)]);
      moved.to = std::max(moved.to, static_cast<Place>(time));
      moved.more += static_cast<Count>(count);
      drops_[lane(label, descending, k)] = static_cast<Place>(time);
      counts_[lane(label, descending, k)] = static_cast<Place>(count);
    }
}

void Races::find_bounds() {
  const std::size_t slots = places_->slots();
  bounds_.assign(2 * slots * kCellCount, 0);
  std::vector<std::uint32_t> sums(slots);
  for (const bool descending : {false, true})
    for (std::size_t cell = 0; cell < kCellCount && cells()[cell] <= state_->rows; ++cell) {
      std::fill(sums.begin(), sums.end(), 0);
      const auto most = static_cast<std::uint16_t>(std::min<std::uint32_t>(cells()[cell + 1] - 1, Places::kMostRows));
      for (std::size_t l = 0; l < state_->labels; ++l)
        add_bounds(drops_.data() + lane(l, descending, 0), counts_.data() + lane(l, descending, 0), slots,
                   static_cast<std::uint16_t>(cells()[cell]), most, sums.data());
      for (std::size_t k = 0; k < slots; ++k) bounds_[(2 * k + std::size_t(descending)) * kCellCount + cell] = sums[k];
    }
}

// What a run has shown last time still bounds it, except where labels have moved on.
void Races::limit_highest() {
  for (std::size_t run = 0; run < highest_.size(); ++run) {
    const std::uint32_t* bounds = bounds_.data() + run * kCellCount;
    Count all = 0, there = 0;
    for (std::size_t cell = 0; cell < kCellCount; ++cell) {
      all = std::max<Count>(all, bounds[cell]);
      if (cells()[cell] <= moved_[run].to && cells()[cell + 1] > moved_[run].from)
        there = std::max<Count>(there, bounds[cell]);
    }
    highest_[run] = std::min(all, std::max(highest_[run], std::min(highest_[run] + moved_[run].more, there)));
  }
}

bool Races::concerns(const std::vector<NodeLabel>& labels) const {
  std::size_t literals = 0, here = 0;
  for (std::size_t l = 0; l < state_->labels; ++l) literals += (left_[1][l] > 0) + (negative_ && left_[0][l] > 0);
  for (const NodeLabel& label : labels)
    for (int v = 0; v < 2; ++v) {
      if (!label.usable(v)) continue;
      if (label.kinds[v] != left_[v][label.label] || (v == 0 && !negative_)) return false;
      ++here;
    }
  return here == literals;
}

std::pair<std::size_t, Count> Races::length(std::size_t slot, bool descending, Count least) const {
  const std::uint32_t* bounds = bounds_.data() + (2 * slot + std::size_t(descending)) * kCellCount;
  std::size_t cell = kCellCount;
  Count rest = 0;
  for (; cell > 0 && Count(bounds[cell - 1]) < least; --cell) rest = std::max<Count>(rest, bounds[cell - 1]);
  if (cell == 0) return {0, rest};
  return {std::min<std::size_t>(places_->size(slot), cells()[cell] - 1), rest};
}

Count Races::join(std::size_t slot, bool descending, const Stretch& stretch) const {
  const Place* order = places_->rows_at(slot);
  const Place* first = descending ? order + (places_->size(slot) - 1) - stretch.from : order + stretch.from;
  return count_racing(unset_.data(), words_, stretch.racing, first, stretch.to - stretch.from, descending ? -1 : 1);
}

void Races::run(const Column& column, std::uint32_t index, std::size_t slot, bool descending, Shortlist& best) {
  Count& highest = highest_[2 * slot + std::size_t(descending)];
  if (highest < best.least_tp()) return;
  const auto [end, rest] = length(slot, descending, best.least_tp());
  Count most = rest;
  std::vector<std::pair<Place, std::uint32_t>> drops;  // when, which label
  for (std::uint32_t l = 0; l < state_->labels; ++l)
    if (const Place drop = drops_[lane(l, descending, slot)]; drop < end) drops.push_back({drop, l});
  std::sort(drops.begin(), drops.end());
  std::vector<Word> racing(words_, ~Word{0});
  Count total = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; from < end; ++i) {
    const std::size_t to = i < drops.size() ? drops[i].first : end;
    const Stretch stretch{from, to, racing.data()};
    const Count before = total;
    total += join(slot, descending, stretch);
    most = std::max(most, total);
    if (total >= best.least_tp()) offer(column, index, slot, descending, stretch, before, best);
    if (i == drops.size()) break;
    const std::uint32_t label = drops[i].second;
    racing[label / 64] &= ~(Word{1} << label % 64);
    total -= counts_[lane(label, descending, slot)];
    from = to;
  }
  highest = std::min(highest, most);
}

// All boundaries of a stretch, one by one: between rows of the working set with different values.
void Races::offer(const Column& column, std::uint32_t index, std::size_t slot, bool descending, const Stretch& stretch,
                  Count total, Shortlist& best) const {
  // The row that passed last, as 1 + its time. The boundary before the first row belongs to the stretch before.
  std::size_t last = 0;
  for (std::size_t time = stretch.from; time <= stretch.to && time < places_->size(slot); ++time) {
    const Row row = row_at(slot, descending, time);
    if (state_->working.test(row)) {
      if (last > 0 && total >= best.least_tp()) {
        const double here = column.dense[row], passed = column.dense[row_at(slot, descending, last - 1)];
        const double left = descending ? here : passed;
        if (here != passed) best.offer({{1, 1}, total, {descending ? Test::above : Test::at_most, false, index, left}});
      }
      last = time + 1;
    }
    if (time < stretch.to) total += join(slot, descending, {time, time + 1, stretch.racing});
  }
}

}  // namespace polyrule
