#include "places.hpp"

namespace polyrule {

void Places::build(const Columns& columns, const State& state) {
  const std::size_t rows = rows_ = state.rows;
  const std::vector<std::uint8_t>& working = state.working_bytes();
  slot_.assign(columns.size(), SIZE_MAX);
  std::vector<std::size_t> ordered;
  for (std::size_t j = 0; j < columns.size(); ++j)
    if (columns[j].ordered) slot_[j] = ordered.size(), ordered.push_back(j);
  const std::size_t words = words_for(rows);
  place_.assign(ordered.size() * rows, kNowhere);
  order_.assign(ordered.size() * rows, 0);
  starts_.assign(ordered.size() * words, 0);
  size_.assign(ordered.size(), 0);
  for (std::size_t k = 0; k < ordered.size(); ++k) {
    bool start = false;
    std::size_t& p = size_[k];
    for (const Row entry : columns[ordered[k]].rows) {
      const Row row = entry & kRowMask;
      start = start || (entry & kStarts);
      if (!working[row]) continue;
      place_[k * rows + row] = static_cast<Place>(p);
      order_[k * rows + p] = static_cast<Place>(row);
      if (start) starts_[k * words + p / 64] |= Word{1} << p % 64;
      start = false;
      ++p;
    }
  }
}

void Places::put_in_order(std::size_t slot, const std::vector<Row>& rows, std::vector<Word>& scratch,
                          std::vector<std::uint32_t>& out) const {
  const Place *place = of_rows(slot), *order = rows_at(slot);
  const std::size_t words = words_for(size_[slot]);
  const Word* starts = starts_.data() + slot * words_for(rows_);
  scratch.resize(words_for(kMostRows + 1), 0);
  for (const Row row : rows) scratch[place[row] / 64] |= Word{1} << place[row] % 64;
  scratch[kNowhere / 64] &= ~(Word{1} << kNowhere % 64);
  out.resize(rows.size());
  std::size_t size = 0;
  bool start = false;  // whether a value has started since the last covered row
  for (std::size_t w = 0; w < words; ++w) {
    Word begins = starts[w];
    for_each_bit(scratch[w], 0, [&](std::size_t bit) {
      const Word up_to = (Word{2} << bit) - 1;
      start = start || (begins & up_to) != 0;
      out[size++] = order[w * 64 + bit] | (start ? kStarts : 0);
      begins &= ~up_to;
      start = false;
    });
    start = start || begins != 0;
    scratch[w] = 0;
  }
  out.resize(size);
}

}  // namespace polyrule
