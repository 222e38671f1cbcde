// Adding up slopes per bin: the loops that take the time of an ensemble's search, compiled for several processors.
// Whole numbers and single operations: no version can come to other results.
#include "ensemble/sums.hpp"

#include <algorithm>
#include <bit>

#include "core/lanes.hpp"

namespace polyrule {
namespace {

// Eight at a time: where that is the widest vector there is, wider ones go through memory once more.
POLYRULE_INLINE void add_sixteen(Part* to, const Part* from) {
  using Eight = Lanes<Part, kEight>;
  store(to, load<Eight>(to) + load<Eight>(from));
  store(to + kEight, load<Eight>(to + kEight) + load<Eight>(from + kEight));
}

POLYRULE_VECTOR_CLONES void add_rows(Part* __restrict histogram, const Code* codes, const std::int32_t* row,
                                     const Part* __restrict sums, std::size_t rows, std::size_t line) {
  for (std::size_t k = 0; k < rows; ++k) {
    Part* __restrict to = histogram + codes[row[k]] * line;
    const Part* __restrict from = sums + k * line;
    for (std::size_t j = 0; j < line; j += kSixteen) add_sixteen(to + j, from + j);
  }
}

POLYRULE_VECTOR_CLONES void add_listed(Part* __restrict histogram, const Code* code, const std::int32_t* place,
                                       const Part* __restrict sums, std::size_t entries, std::size_t line) {
  for (std::size_t e = 0; e < entries; ++e) {
    Part* __restrict to = histogram + code[e] * line;
    const Part* __restrict from = sums + static_cast<std::size_t>(place[e]) * line;
    for (std::size_t j = 0; j < line; j += kSixteen) add_sixteen(to + j, from + j);
  }
}

// Adds what was added up where there is room for more, to nothing if it is the first of all.
POLYRULE_VECTOR_CLONES void widen(Sum* __restrict to, const Part* __restrict from, std::size_t count, bool first) {
  if (first)
    for (std::size_t j = 0; j < count; ++j) to[j] = from[j];
  else
    for (std::size_t j = 0; j < count; ++j) to[j] += from[j];
}

POLYRULE_VECTOR_CLONES void add_to(Sum* __restrict to, const Sum* __restrict from, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] += from[j];
}

POLYRULE_VECTOR_CLONES void take_from(Sum* __restrict away, const Sum* __restrict what, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) away[j] -= what[j];
}

}  // namespace

Counter::Counter(const Bins& bins, const Slopes& slopes, const std::int32_t* rows, std::size_t count)
    : bins_(bins), slopes_(slopes), rows_(rows), count_(count) {
  if (std::none_of(bins.slot, bins.slot + bins.features, [](std::int32_t slot) { return slot < 0; })) return;
  place_.assign(bins.rows, -1);
  for (std::size_t k = 0; k < count; ++k) place_[static_cast<std::size_t>(rows[k])] = static_cast<std::int32_t>(k);
}

void Counter::turn_to(const Labels& block) {
  line_ = block.line();
  sums_.assign(count_ * line_, 0);
  std::uint32_t bits = 1;
  Part* to = sums_.get();
  for (std::size_t k = 0; k < count_; ++k, to += line_) {
    const std::size_t from = static_cast<std::size_t>(rows_[k]) * slopes_.labels;
    for (std::size_t i = 0; i < block.wide; ++i) {
      const Part g = slopes_.gradient[from + static_cast<std::size_t>(block.labels[i])];
      const Part h = slopes_.curvature[from + static_cast<std::size_t>(block.labels[i])];
      to[i] = g, to[line_ / 2 + i] = h;
      bits |= static_cast<std::uint32_t>(g < 0 ? -g : g) | static_cast<std::uint32_t>(h);
    }
  }
  // So many rows fit into a sum of 32 bits: each is below the next power of two.
  together_ = std::size_t{1} << std::max(0, 31 - static_cast<int>(std::bit_width(bits)));
  total_.resize(line_);
  LineArray<Part> part;
  for (std::size_t first = 0; first == 0 || first < count_; first += together_) {
    const std::size_t some = std::min(together_, count_ - first);
    part.assign(line_, 0);
    for (std::size_t k = first; k < first + some; ++k)
      for (std::size_t j = 0; j < line_; ++j) part[j] += sums_[k * line_ + j];
    widen(total_.get(), part.get(), line_, first == 0);
  }
}

// Which of the rows are listed, and in which bin they are.
void Counter::look_up(std::size_t f, Desk& desk) const {
  desk.place.clear();
  desk.code.clear();
  for (std::int64_t e = bins_.starts[f]; e < bins_.starts[f + 1]; ++e) {
    const std::int32_t k = place_[static_cast<std::size_t>(bins_.listed_rows[e])];
    if (k < 0) continue;
    desk.place.push_back(k);
    desk.code.push_back(bins_.listed_codes[e]);
  }
}

const Sum* Counter::count(std::size_t f, Desk& desk) const {
  const std::size_t lines = static_cast<std::size_t>(bins_.count[f]) + 1, cells = lines * line_;
  const bool listed = bins_.slot[f] < 0;
  if (listed) look_up(f, desk);
  const std::size_t entries = listed ? desk.place.size() : count_;
  desk.histogram.resize(cells);
  Sum* histogram = desk.histogram.get();
  for (std::size_t first = 0; first == 0 || first < entries; first += together_) {
    const std::size_t some = std::min(together_, entries - first);
    desk.part.assign(cells, 0);
    Part* part = desk.part.get();
    if (listed) {
      add_listed(part, desk.code.data() + first, desk.place.data() + first, sums_.get(), some, line_);
    } else {
      const Code* codes = bins_.dense + static_cast<std::size_t>(bins_.slot[f]) * bins_.rows;
      add_rows(part, codes, rows_ + first, sums_.get() + first * line_, some, line_);
    }
    widen(histogram, part, cells, first == 0);
  }
  if (!listed) return histogram;
  // What is left of the total; sums are whole numbers, so that nothing is lost.
  const std::size_t left = static_cast<std::size_t>(bins_.usual[f]);
  add_to(histogram + left * line_, total_.get(), line_);
  for (std::size_t b = 0; b < lines; ++b)
    if (b != left && histogram[b * line_ + line_ / 2] > 0)
      take_from(histogram + left * line_, histogram + b * line_, line_);
  return histogram;
}

}  // namespace polyrule
