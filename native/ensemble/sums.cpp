// Adding up slopes per bin: the loops that take the time of an ensemble's search, compiled for several processors.
// Whole numbers and single operations: no version can come to other results.
#include "ensemble/sums.hpp"

#include <algorithm>
#include <bit>

#include "core/lanes.hpp"

namespace polyrule {
namespace {

constexpr std::size_t kNearest = 10'000;  // cells that few features may have together to stay in the nearest cache

using Sixteen = Lanes<Part, kSixteen>;

// Adds the slopes of rows to the bins of one or a few features.
template <std::size_t number>
POLYRULE_INLINE void add_rows(Part* const* parts, const Code* const* codes, const std::int32_t* row,
                              const Part* __restrict sums, std::size_t rows, std::size_t line) {
  for (std::size_t k = 0; k < rows; ++k)
    for (std::size_t j = 0; j < line; j += kSixteen) {
      const Sixteen own = load<Sixteen>(sums + k * line + j);
      for (std::size_t n = 0; n < number; ++n) {
        Part* to = parts[n] + codes[n][row[k]] * line + j;
        store(to, load<Sixteen>(to) + own);
      }
    }
}

POLYRULE_VECTOR_CLONES void add_one(Part* const* parts, const Code* const* codes, const std::int32_t* row,
                                    const Part* sums, std::size_t rows, std::size_t line) {
  add_rows<1>(parts, codes, row, sums, rows, line);
}

POLYRULE_VECTOR_CLONES void add_few(Part* const* parts, const Code* const* codes, const std::int32_t* row,
                                    const Part* sums, std::size_t rows, std::size_t line) {
  Part* const own[] = {parts[0], parts[1], parts[2], parts[3]};
  const Code* const bins[] = {codes[0], codes[1], codes[2], codes[3]};
  add_rows<kFew>(own, bins, row, sums, rows, line);
}

POLYRULE_VECTOR_CLONES void add_listed(Part* __restrict histogram, const Code* code, const std::int32_t* place,
                                       const Part* __restrict sums, std::size_t entries, std::size_t line) {
  for (std::size_t e = 0; e < entries; ++e) {
    Part* __restrict to = histogram + code[e] * line;
    const Part* __restrict from = sums + static_cast<std::size_t>(place[e]) * line;
    for (std::size_t j = 0; j < line; j += kSixteen) store(to + j, load<Sixteen>(to + j) + load<Sixteen>(from + j));
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

void Counter::count(Desk& desk) const {
  std::size_t dense[kFew], number = 0, all = 0;
  for (std::size_t place = 0; place < desk.features.size(); ++place) {
    desk.sums[place].resize(cells(desk.features[place]));
    if (bins_.slot[desk.features[place]] < 0) count_listed(place, desk);
    else dense[number++] = place, all += cells(desk.features[place]);
  }
  if (number == kFew && all <= kNearest) return count_dense(dense, number, desk);
  for (std::size_t n = 0; n < number; ++n) count_dense(dense + n, 1, desk);
}

// Sums of 32 bits are moved to where there is room for more before they overflow.
void Counter::count_dense(const std::size_t* places, std::size_t number, Desk& desk) const {
  Part* parts[kFew];
  const Code* codes[kFew];
  std::size_t all = 0;
  for (std::size_t n = 0; n < number; ++n) all += cells(desk.features[places[n]]);
  for (std::size_t first = 0; first == 0 || first < count_; first += together_) {
    desk.part.assign(all, 0);
    Part* part = desk.part.get();
    for (std::size_t n = 0; n < number; part += cells(desk.features[places[n++]])) {
      parts[n] = part;
      codes[n] = bins_.dense + static_cast<std::size_t>(bins_.slot[desk.features[places[n]]]) * bins_.rows;
    }
    const std::size_t some = std::min(together_, count_ - first);
    const Part* sums = sums_.get() + first * line_;
    number == kFew ? add_few(parts, codes, rows_ + first, sums, some, line_)
                   : add_one(parts, codes, rows_ + first, sums, some, line_);
    for (std::size_t n = 0; n < number; ++n)
      widen(desk.sums[places[n]].get(), parts[n], cells(desk.features[places[n]]), first == 0);
  }
}

void Counter::count_listed(std::size_t place, Desk& desk) const {
  const std::size_t f = desk.features[place];
  desk.place.clear();
  desk.code.clear();
  for (std::int64_t e = bins_.starts[f]; e < bins_.starts[f + 1]; ++e) {
    const std::int32_t k = place_[static_cast<std::size_t>(bins_.listed_rows[e])];
    if (k < 0) continue;
    desk.place.push_back(k);
    desk.code.push_back(bins_.listed_codes[e]);
  }
  Sum* sums = desk.sums[place].get();
  for (std::size_t first = 0; first == 0 || first < desk.place.size(); first += together_) {
    const std::size_t some = std::min(together_, desk.place.size() - first);
    desk.part.assign(cells(f), 0);
    add_listed(desk.part.get(), desk.code.data() + first, desk.place.data() + first, sums_.get(), some, line_);
    widen(sums, desk.part.get(), cells(f), first == 0);
  }
  // The usual bin has what is left of the total; sums are whole numbers, so that nothing is lost.
  Sum* usual = sums + static_cast<std::size_t>(bins_.usual[f]) * line_;
  add_to(usual, total_.get(), line_);
  for (Sum* other = sums; other < sums + cells(f); other += line_)
    if (other != usual && other[line_ / 2] > 0) take_from(usual, other, line_);
}

}  // namespace polyrule
