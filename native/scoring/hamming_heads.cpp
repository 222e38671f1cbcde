#include "scoring/hamming_heads.hpp"

#include <algorithm>

namespace polyrule {

Head HammingHeads::solve(const std::vector<OutcomeCounts>& outcomes, const Bits& cover, const Fraction* level) {
  cover_ = &cover;
  has_floor_ = level != nullptr;
  if (level) floor_ = *level;
  best_ = {};
  collect(outcomes);
  head_.clear();
  set_.assign(1, {std::vector<Word>(cover.data(), cover.data() + cover.words())});
  branch(0);
  return best_;
}

void HammingHeads::collect(const std::vector<OutcomeCounts>& outcomes) {
  open_.clear();
  partial_.clear();
  by_most_.clear();
  const std::size_t words = cover_->words();
  // What labels have above the floor at most; a literal that falls short of it by more than all of that is in no head.
  const auto above = [&](Count right) { return Wide(right) * floor_.den - floor_.num * state_.working_weight; };
  const bool drops = has_floor_ && floor_.den < (Wide{1} << 60);  // else sums could exceed 128 bits
  Wide excess = 0;
  for (std::size_t e = 0; e < labels_.size() && drops; ++e) {
    const OutcomeCounts& k = outcomes[e];
    const Count rest = labels_[e].absent - k[kAbsent] + k[kPresentSet];
    Count best = 0;
    for (int v = 0; v < 2; ++v)
      if (labels_[e].allowed[v] && k[v] > 0) best = std::max(best, k[v] + rest);
    excess += std::max(Wide(0), above(best));
  }
  for (std::size_t e = 0; e < labels_.size(); ++e) {
    const NodeLabel& label = labels_[e];
    const OutcomeCounts& k = outcomes[e];
    const Count set = k[kPresentSet] + k[kAbsentSet];
    for (int v = 1; v >= 0; --v) {
      if (!label.allowed[v] || k[v] <= 0) continue;
      const Count tn = label.absent - k[kAbsent] - k[kAbsentSet];
      if (drops && excess + above(k[v] + tn + set) < 0) continue;
      Literal literal{e, v, k[v], k[1 - v], tn, k[v] + tn + set, std::vector<Word>(words)};
      const Word *truth = state_.truth[label.label], *is_set = state_.set[label.label];
      for (std::size_t w = 0; w < words; ++w) {
        const Word known_rows = state_.known_word(label.label, w);
        literal.right[w] = cover_->data()[w] & known_rows & (is_set[w] | (v ? truth[w] : ~truth[w]));
      }
      (set > 0 ? partial_ : open_).push_back(std::move(literal));
    }
  }
  std::stable_sort(partial_.begin(), partial_.end(), [](auto& a, auto& b) { return a.max_part > b.max_part; });
  std::vector<Literal*> leader(labels_.size(), nullptr);
  for (auto* literals : {&open_, &partial_})
    for (Literal& literal : *literals)
      if (Literal*& first = leader[literal.e]; !first || literal.max_part > first->max_part) first = &literal;
  for (Literal* literal : leader)
    if (literal) by_most_.push_back(literal);
  std::stable_sort(by_most_.begin(), by_most_.end(), [](auto* a, auto* b) { return a->max_part > b->max_part; });
}

bool HammingHeads::in_head(std::size_t e) const {
  return std::any_of(head_.begin(), head_.end(), [&](const Literal* literal) { return literal->e == e; });
}

void HammingHeads::branch(std::size_t next) {
  time_check_.step();
  // No head is worth more than the mean of what its literals have at most: sizes that cannot reach the floor are out.
  std::vector<std::size_t> sizes;
  Count sum = 0;
  for (const Literal* literal : head_) sum += literal->max_part;
  std::size_t size = head_.size();
  const auto consider = [&] {
    if (size > 0 && size <= max_head_ && reaches_floor({sum, Wide(state_.working_weight) * static_cast<Count>(size)}))
      sizes.push_back(size);
  };
  consider();
  for (const Literal* literal : by_most_) {
    if (in_head(literal->e)) continue;
    sum += literal->max_part;
    ++size;
    consider();
  }
  if (sizes.empty()) return;
  const auto& levels = set_.back();
  const auto weigh = [&](Literal& literal) {
    literal.by_set.resize(levels.size());
    for (std::size_t z = 0; z < levels.size(); ++z)
      literal.by_set[z] = state_.weigh_common(levels[z].data(), literal.right.data());
  };
  for (Literal& literal : open_) weigh(literal);
  for (std::size_t i = next; i < partial_.size(); ++i) weigh(partial_[i]);
  // what P has right, without what is set
  right_.assign(levels.size(), 0);
  for (std::size_t z = 0; z < levels.size(); ++z)
    for (const Literal* literal : head_)
      right_[z] +=
          state_.weigh_common(levels[z].data(), literal->right.data(), state_.set[labels_[literal->e].label], true);
  bool more = false;
  for (const std::size_t k : sizes) more = try_size(k, next) || more;
  if (!more) return;
  for (std::size_t i = next; i < partial_.size(); ++i) {
    Literal& literal = partial_[i];
    if (in_head(literal.e)) continue;
    const Word* is_set = state_.set[labels_[literal.e].label];
    std::vector<std::vector<Word>> moved(set_.back().size() + 1, std::vector<Word>(cover_->words(), 0));
    for (std::size_t z = 0; z + 1 < moved.size(); ++z)
      for (std::size_t w = 0; w < cover_->words(); ++w) {
        moved[z][w] |= set_.back()[z][w] & ~is_set[w];
        moved[z + 1][w] |= set_.back()[z][w] & is_set[w];
      }
    set_.push_back(std::move(moved));
    head_.push_back(&literal);
    branch(i + 1);
    head_.pop_back();
    set_.pop_back();
  }
}

// The sum of the gains of so many literals with the largest, one of each label; then more true positives, first labels.
Wide HammingHeads::add_best(std::vector<Literal*>& literals, std::size_t count, std::vector<Literal*>& added) const {
  std::stable_sort(literals.begin(), literals.end(), [](auto* a, auto* b) { return a->e < b->e; });
  added = leaders(literals, [](const Literal* literal) -> const Literal& { return *literal; });
  added.resize(std::min(count, added.size()));
  Wide sum = 0;
  for (const Literal* literal : added) sum += literal->gain;
  return sum;
}

// The best head of this size with P and labels that are unset everywhere. Whether one with more of the partly set
// labels may be as good.
bool HammingHeads::try_size(std::size_t size, std::size_t next) {
  const std::size_t levels = right_.size(), room = size - head_.size();
  // an example with z labels set counts 1 / (size - z) for each right one; the unit is a multiple of all of these
  std::vector<Wide> part(levels, 0);
  Wide unit = static_cast<Count>(size);
  for (std::size_t z = 1; z < levels && z < size; ++z) {
    const Wide count = static_cast<Count>(size - z);
    unit = unit / gcd_wide(unit, count) * count;
    if (unit > (Wide{1} << 60)) throw NotCompiled{};
  }
  for (std::size_t z = 0; z < levels && z < size; ++z) part[z] = unit / static_cast<Count>(size - z);
  const auto value = [&](const Literal& literal) {
    Wide sum = part[0] * literal.tn;
    for (std::size_t z = 0; z < levels; ++z) sum += part[z] * literal.by_set[z];
    return sum;
  };
  Wide base = 0;
  for (const Literal* literal : head_) base += part[0] * literal->tn;
  for (std::size_t z = 0; z < levels; ++z) base += part[z] * right_[z];
  const Wide whole = unit * state_.working_weight;
  std::vector<Literal*> candidates, added;
  for (Literal& literal : open_) {
    literal.gain = value(literal);
    candidates.push_back(&literal);
  }
  const Wide sum = base + add_best(candidates, room, added);
  if (added.size() == room) {
    const Fraction head_value = make_fraction(sum, whole);
    if (reaches_floor(head_value)) offer(added, head_value);
  }
  if (room == 0) return false;
  bool any = false;
  for (std::size_t i = next; i < partial_.size(); ++i) {
    if (in_head(partial_[i].e)) continue;
    partial_[i].gain = value(partial_[i]);
    candidates.push_back(&partial_[i]);
    any = true;
  }
  if (!any) return false;
  added.clear();
  const Wide right = base + add_best(candidates, room, added);
  return added.size() == room && reaches_floor({right, whole});
}

void HammingHeads::offer(const std::vector<Literal*>& added, const Fraction& value) {
  Head head;
  head.value = value;
  std::vector<Literal*> literals = head_;
  literals.insert(literals.end(), added.begin(), added.end());
  for (const Literal* literal : literals) {
    head.literals.push_back({labels_[literal->e].label, literal->value, literal->tp, literal->fp});
    head.tp += literal->tp;
  }
  sort_by_label(head.literals);
  const int order = best_.any() ? compare(value, best_.value) : 1;
  if (order < 0 || (order == 0 && !outranks(head.literals, best_.literals))) return;
  best_ = std::move(head);
  has_floor_ = true;
  floor_ = value;
}

}  // namespace polyrule
