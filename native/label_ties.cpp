#include "label_ties.hpp"

namespace polyrule {

namespace {

// True positives of all labels that no row contradicts.
POLYRULE_VECTOR_CLONES
std::uint32_t count_ties(const std::uint16_t* absent, const std::uint16_t* present, std::size_t size,
                         std::uint16_t negative) {
  std::uint32_t total = 0;
  for (std::size_t l = 0; l < size; ++l) {
    const std::uint16_t with = absent[l] == 0 ? present[l] : std::uint16_t(0);
    const std::uint16_t without = present[l] == 0 ? std::uint16_t(absent[l] & negative) : std::uint16_t(0);
    total += std::uint32_t(with) + without;
  }
  return total;
}

}  // namespace

void LabelTies::begin(const State& state) {
  state_ = &state;
  words_ = state.records.words();
  stride_ = words_ * 64;
  counts_.assign(4 * state.labels * stride_, 0);
  sizes_.assign(2 * state.labels, 0);
  change_.assign(words_, 0);
  all_.assign(words_, 0);
  for (std::size_t l = 0; l < state.labels; ++l) all_[l / 64] |= Word{1} << l % 64;
}

void LabelTies::move(Row row, const Word* before, const Word* now) {
  for (std::size_t w = 0; w < words_; ++w) change_[w] = (before ? before[w] : 0) & ~(now ? now[w] : 0);
  for (std::size_t w = 0; w < words_; ++w) {
    const Word met = before ? all_[w] & ~before[w] : 0, meets = now ? all_[w] & ~now[w] : 0;
    for_each_bit(met, w * 64, [&](std::size_t l) { add(row, l, change_.data(), -1); });
    for_each_bit(meets & ~met, w * 64, [&](std::size_t l) { add(row, l, now, 1); });
    for_each_bit(met & ~meets, w * 64, [&](std::size_t l) { --sizes_[2 * l + state_->ones.test(l, row)]; });
    for_each_bit(meets & ~met, w * 64, [&](std::size_t l) { ++sizes_[2 * l + state_->ones.test(l, row)]; });
  }
}

void LabelTies::add(Row row, std::size_t label, const Word* labels, int sign) {
  const Word* record = state_->records.data() + row * state_->records.stride();
  std::uint16_t* counts = counts_.data() + 2 * (2 * label + state_->ones.test(label, row)) * stride_;
  for (std::size_t w = 0; w < words_; ++w) {
    const Word present = record[w] | record[2 * words_ + w];
    for_each_bit(labels[w], w * 64, [&](std::size_t l) {
      std::uint16_t& count = counts[(present >> l % 64 & 1) * stride_ + l];
      count = static_cast<std::uint16_t>(count + sign);
    });
  }
}

Count LabelTies::ties(std::size_t list, bool negative) const {
  const std::uint16_t* counts = counts_.data() + 2 * list * stride_;
  return count_ties(counts, counts + stride_, state_->labels, negative ? 0xffff : 0);
}

}  // namespace polyrule
