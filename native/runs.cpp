#include "runs.hpp"

#include <algorithm>
#include <limits>

namespace polyrule {

POLYRULE_CLONES
void find_extremes(RunLook& look) {
  const Count absent = look.slope[kAbsent], present = look.slope[kPresent], absent_set = look.slope[kAbsentSet],
              present_set = look.slope[kPresentSet];
  const auto positive = [](Count x) { return std::max<Count>(x, 0); };
  Count sum = 0, high = 0, low = 0;
  for (std::size_t w = 0; w < look.words; ++w) {
    const Word here = look.cover[w], unset = look.unset[w] & here, with = look.truth[w] & here;
    const auto worth = [&](Word some) __attribute__((always_inline)) {
      const Word open = some & unset;
      const Count a = std::popcount(open & ~with), p = std::popcount(open & with);
      const Count s = std::popcount(some & with & ~open);
      return absent * a + present * p + present_set * s + absent_set * (std::popcount(some) - a - p - s);
    };
    const Count all = worth(here);
    if (with) {
      // How far the sum can rise within the word, and how far it can fall.
      const Count a = std::popcount(unset & ~with), p = std::popcount(unset & with), s = std::popcount(with & ~unset);
      const Count rise = positive(absent) * a + positive(present) * p + positive(present_set) * s +
                         positive(absent_set) * (std::popcount(here) - a - p - s);
      if (sum + rise > high || sum + all - rise < low)
        for (Word rare = with; rare; rare &= rare - 1) {
          const Word bit = rare & -rare;
          const Count before = sum + worth(here & (bit - 1));
          const Count after = before + (unset & bit ? present : present_set);
          high = std::max({high, before, after});
          low = std::min({low, before, after});
        }
    }
    sum += all;
  }
  look.high = std::max(high, sum);
  look.low = std::min(low, sum);
}

POLYRULE_CLONES
Count find_bound(const RunBound& look) {
  const Count* slope = look.slope;
  const Count* kinds = look.kinds;
  const Count others = kinds[kAbsent] + kinds[kAbsentSet];
  Count present = 0, present_set = 0, covered = 0, best = std::numeric_limits<Count>::lowest();
  const auto worth = [&](Count with, Count with_set, Count rest) {
    return slope[kPresent] * with + slope[kPresentSet] * with_set + slope[kAbsentSet] * rest +
           (slope[kAbsent] - slope[kAbsentSet]) * std::min(rest, kinds[kAbsent]);
  };
  const auto note = [&](Count rest) {
    best = std::max(best, worth(present, present_set, rest));
    best = std::max(best, worth(kinds[kPresent] - present, kinds[kPresentSet] - present_set, others - rest));
  };
  for (std::size_t w = 0; w < look.words; ++w) {
    const Word here = look.cover[w];
    for (Word rare = look.present[w] | look.present_set[w]; rare; rare &= rare - 1) {
      const Word bit = rare & -rare;
      const Count rest = covered + std::popcount(here & (bit - 1)) - present - present_set;
      note(rest);
      if (look.present[w] & bit) ++present;
      else ++present_set;
      note(rest);
    }
    covered += std::popcount(here);
  }
  // Before the first and after the last of the positive rows, all others on one side.
  note(others);
  present = present_set = 0;
  note(0);
  return best;
}

bool RunEnds::begin(const Places& places, const State& state, const Node& node) {
  if (node.rows.size() < run_limits.least_rows || !state.unit || node.is_root) return false;
  places_ = &places;
  state_ = &state;
  node_ = &node;
  follow(node);
  if (node.labels.size() > kMostLabels) return false;
  rows_.clear();
  for (const NodeLabel& label : node.labels) rows_.push_back(rows_of(label.label));
  return true;
}

RunEnds::Positives RunEnds::positives_of(const NodeLabel& label) const {
  Positives positives;
  const Word *truth = state_->truth[label.label], *set = state_->set[label.label];
  for (std::size_t w = 0; w < node_->cover.words(); ++w) {
    const Word here = node_->cover.data()[w] & truth[w];
    for_each_bit(here & ~set[w], w * 64, [&](std::size_t i) { positives.present.push_back(static_cast<Row>(i)); });
    for_each_bit(here & set[w], w * 64, [&](std::size_t i) { positives.present_set.push_back(static_cast<Row>(i)); });
  }
  return positives;
}

// Notes which rows have left the cover since the last node of the same path.
void RunEnds::follow(const Node& node) {
  covers_.resize(places_->slots());
  if (path_ != node.path_id || cover_.words() != node.cover.words()) {
    path_ = node.path_id;
    ++ids_;
    left_.clear();
    for (Strip& strip : covers_) strip.id = 0;
  } else {
    for (std::size_t w = 0; w < node.cover.words(); ++w)
      for_each_bit(cover_.data()[w] & ~node.cover.data()[w], w * 64,
                   [&](std::size_t i) { left_.push_back(static_cast<Row>(i)); });
  }
  cover_ = node.cover;
}

// The kept rows of a label, brought up to date.
std::size_t RunEnds::rows_of(std::uint32_t label) {
  const std::size_t words = node_->cover.words();
  const auto found =
      std::find_if(labels_.begin(), labels_.end(), [&](const LabelRows& kept) { return kept.label == label; });
  std::size_t at = static_cast<std::size_t>(found - labels_.begin());
  if (found == labels_.end()) {
    const auto earlier = [](const LabelRows& a, const LabelRows& b) { return a.last_used < b.last_used; };
    if (labels_.size() < kMostKept) labels_.emplace_back();
    else at = static_cast<std::size_t>(std::min_element(labels_.begin(), labels_.end(), earlier) - labels_.begin());
    LabelRows& fresh = labels_[at];
    fresh.label = label;
    fresh.id = ++ids_;
    fresh.log.clear();
    fresh.unset_strips.resize(places_->slots());
    fresh.truth_strips.resize(places_->slots());
    fresh.unset.assign(words, 0);
    for (std::size_t w = 0; w < words; ++w) fresh.unset[w] = ~state_->set[label][w] & state_->working.data()[w];
  } else {
    LabelRows& kept = *found;
    for (std::size_t w = 0; w < words; ++w) {
      const Word gone = kept.unset[w] & state_->set[label][w];
      for_each_bit(gone, w * 64, [&](std::size_t i) { kept.log.push_back(static_cast<Row>(i)); });
      kept.unset[w] &= ~gone;
    }
  }
  labels_[at].last_used = ++uses_;
  return at;
}

// Brings a strip up to date with a log, or makes it anew from all `count` rows if that is less work.
void RunEnds::update(Strip& strip, std::uint64_t id, std::size_t slot, const std::vector<Row>& log, const Word* all,
                     std::size_t count) {
  const Places::Place* place = places_->of_rows(slot);
  if (strip.id == id && log.size() - strip.seen <= count) {
    for (; strip.seen < log.size(); ++strip.seen) {
      const Places::Place at = place[log[strip.seen]];
      if (at != Places::kNowhere) strip.bits[at / 64] &= ~(Word{1} << at % 64);
    }
    return;
  }
  strip.id = id;
  strip.seen = log.size();
  strip.bits.assign(words_for(places_->size(slot)), 0);
  for (std::size_t w = 0; w < words_for(state_->rows); ++w)
    for_each_bit(all[w], w * 64, [&](std::size_t i) {
      if (const Places::Place at = place[i]; at != Places::kNowhere) strip.bits[at / 64] |= Word{1} << at % 64;
    });
}

void RunEnds::scatter(const Positives& positives, const Places::Place* place, std::size_t words, Scratch& scratch) {
  const auto put = [&](const std::vector<Row>& from, std::vector<Word>& to) {
    to.resize(std::max(words, to.size()), 0);
    for (const Row row : from) to[place[row] / 64] |= Word{1} << place[row] % 64;
  };
  put(positives.present, scratch.present);
  put(positives.present_set, scratch.present_set);
}

void RunEnds::gather(const Positives& positives, const Places::Place* place, Scratch& scratch) {
  for (const Row row : positives.present) scratch.present[place[row] / 64] = 0;
  for (const Row row : positives.present_set) scratch.present_set[place[row] / 64] = 0;
}

Count RunEnds::reach(std::size_t slot, std::size_t e, int value, const Gains<Count>& gains) {
  const NodeLabel& label = node_->labels[e];
  LabelRows& rows = labels_[rows_[e]];
  Strip &unset = rows.unset_strips[slot], &truth = rows.truth_strips[slot];
  update_cover(slot);
  update(unset, rows.id, slot, rows.log, rows.unset.data(), node_->rows.size());
  update(truth, rows.id, slot, {}, state_->truth[label.label], node_->rows.size());
  const std::vector<Word>& cover = covers_[slot].bits;
  RunLook look{cover.data(), truth.bits.data(), unset.bits.data(), cover.size(), gains.slope[value], 0, 0};
  find_extremes(look);
  return std::max(gains.empty_sum(label) + look.high, gains.full_sum(label, value) - look.low);
}

Count RunEnds::bound(const NodeLabel& label, int value, const Gains<Count>& gains, Scratch& scratch) const {
  const Positives positives = positives_of(label);
  const Count empty = gains.empty_sum(label);
  Count best = std::numeric_limits<Count>::lowest();
  for (std::size_t slot = 0; slot < places_->slots() && best < 0; ++slot) {
    const std::vector<Word>& cover = covers_[slot].bits;
    const Places::Place* place = places_->of_rows(slot);
    scatter(positives, place, cover.size(), scratch);
    const RunBound look{cover.data(), scratch.present.data(), scratch.present_set.data(), cover.size(),
                        gains.slope[value], label.kinds};
    best = std::max(best, empty + find_bound(look));
    gather(positives, place, scratch);
  }
  return best;
}

}  // namespace polyrule
