// Sums of gradients per bin: the loops that take most of the time of an ensemble's search, compiled for several
// processors. Whole numbers and single operations: all versions have equal results.
#include "boosting/sums.hpp"

#include <algorithm>
#include <bit>

#include "core/lanes.hpp"

namespace polyrule {
namespace {

constexpr std::size_t kNearest = 10'000;  // cells of few features that fit into the nearest cache

using Sixteen = Lanes<Part, kSixteen>;

// Adds the gradients of rows to the bins of one or a few features.
template <std::size_t number>
POLYRULE_INLINE void add_rows(Part* const* parts, const Code* const* codes, const std::int32_t* row,
                              const Part* __restrict sums, std::size_t rows, std::size_t line) {
  for (std::size_t k = 0; k < rows; ++k)
    for (std::size_t j = 0; j < line; j += kSixteen) {
      const Sixteen values = load<Sixteen>(sums + k * line + j);
      for (std::size_t n = 0; n < number; ++n) {
        Part* to = parts[n] + codes[n][row[k]] * line + j;
        store(to, load<Sixteen>(to) + values);
      }
    }
}

POLYRULE_VECTOR_CLONES void add_one(Part* const* parts, const Code* const* codes, const std::int32_t* row,
                                    const Part* sums, std::size_t rows, std::size_t line) {
  add_rows<1>(parts, codes, row, sums, rows, line);
}

POLYRULE_VECTOR_CLONES void add_few(Part* const* parts, const Code* const* codes, const std::int32_t* row,
                                    const Part* sums, std::size_t rows, std::size_t line) {
  Part* const histograms[] = {parts[0], parts[1], parts[2], parts[3]};
  const Code* const bins[] = {codes[0], codes[1], codes[2], codes[3]};
  add_rows<kFew>(histograms, bins, row, sums, rows, line);
}

POLYRULE_VECTOR_CLONES void add_listed(Part* __restrict histogram, const Code* code, const std::int32_t* place,
                                       const Part* __restrict sums, std::size_t entries, std::size_t line) {
  for (std::size_t e = 0; e < entries; ++e) {
    Part* __restrict to = histogram + code[e] * line;
    const Part* __restrict from = sums + static_cast<std::size_t>(place[e]) * line;
    for (std::size_t j = 0; j < line; j += kSixteen) store(to + j, load<Sixteen>(to + j) + load<Sixteen>(from + j));
  }
}

// Adds sums of 32 bits to wider ones, which begin with the first of them.
POLYRULE_VECTOR_CLONES void widen(Sum* __restrict to, const Part* __restrict from, std::size_t count, bool first) {
  if (first)
    for (std::size_t j = 0; j < count; ++j) to[j] = from[j];
  else
    for (std::size_t j = 0; j < count; ++j) to[j] += from[j];
}

POLYRULE_VECTOR_CLONES void add_to(Sum* __restrict to, const Sum* __restrict from, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] += from[j];
}

POLYRULE_VECTOR_CLONES void subtract(Sum* __restrict to, const Sum* __restrict from, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] -= from[j];
}

}  // namespace

Counter::Counter(const Bins& bins, const Gradients& gradients, const std::int32_t* rows, std::size_t count)
    : bins_(bins), gradients_(gradients), rows_(rows), count_(count) {
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
    const std::size_t from = static_cast<std::size_t>(rows_[k]) * gradients_.columns;
    for (std::size_t i = 0; i < block.wide; ++i) {
      const Part g = gradients_.gradient[from + static_cast<std::size_t>(block.labels[i])];
      const Part h = gradients_.hessian[from + static_cast<std::size_t>(block.labels[i])];
      to[i] = g, to[line_ / 2 + i] = h;
      bits |= static_cast<std::uint32_t>(g < 0 ? -g : g) | static_cast<std::uint32_t>(h);
    }
  }
  // The rows that fit into a sum of 32 bits: each number is below the next power of two.
  together_ = std::size_t{1} << std::max(0, 31 - static_cast<int>(std::bit_width(bits)));
  total_.resize(line_);
  LineArray<Part> part;
  for (std::size_t first = 0; first == 0 || first < count_; first += together_) {
    const std::size_t n_rows = std::min(together_, count_ - first);
    part.assign(line_, 0);
    for (std::size_t k = first; k < first + n_rows; ++k)
      for (std::size_t j = 0; j < line_; ++j) part[j] += sums_[k * line_ + j];
    widen(total_.get(), part.get(), line_, first == 0);
  }
}

void Counter::count(Workspace& work) const {
  std::size_t dense[kFew], number = 0, all = 0;
  for (std::size_t place = 0; place < work.features.size(); ++place) {
    work.sums[place].resize(cells(work.features[place]));
    if (bins_.slot[work.features[place]] < 0) count_listed(place, work);
    else dense[number++] = place, all += cells(work.features[place]);
  }
  if (number == kFew && all <= kNearest) return count_dense(dense, number, work);
  for (std::size_t n = 0; n < number; ++n) count_dense(dense + n, 1, work);
}

// Sums of 32 bits are added to wider ones before they overflow.
void Counter::count_dense(const std::size_t* places, std::size_t number, Workspace& work) const {
  Part* parts[kFew];
  const Code* codes[kFew];
  std::size_t all = 0;
  for (std::size_t n = 0; n < number; ++n) all += cells(work.features[places[n]]);
  for (std::size_t first = 0; first == 0 || first < count_; first += together_) {
    work.part.assign(all, 0);
    Part* part = work.part.get();
    for (std::size_t n = 0; n < number; part += cells(work.features[places[n++]])) {
      parts[n] = part;
      codes[n] = bins_.dense + static_cast<std::size_t>(bins_.slot[work.features[places[n]]]) * bins_.rows;
    }
    const std::size_t n_rows = std::min(together_, count_ - first);
    const Part* sums = sums_.get() + first * line_;
    number == kFew ? add_few(parts, codes, rows_ + first, sums, n_rows, line_)
                   : add_one(parts, codes, rows_ + first, sums, n_rows, line_);
    for (std::size_t n = 0; n < number; ++n)
      widen(work.sums[places[n]].get(), parts[n], cells(work.features[places[n]]), first == 0);
  }
}

void Counter::count_listed(std::size_t place, Workspace& work) const {
  const std::size_t f = work.features[place];
  work.place.clear();
  work.code.clear();
  for (std::int64_t e = bins_.starts[f]; e < bins_.starts[f + 1]; ++e) {
    const std::int32_t k = place_[static_cast<std::size_t>(bins_.listed_rows[e])];
    if (k < 0) continue;
    work.place.push_back(k);
    work.code.push_back(bins_.listed_codes[e]);
  }
  Sum* sums = work.sums[place].get();
  for (std::size_t first = 0; first == 0 || first < work.place.size(); first += together_) {
    const std::size_t n_listed = std::min(together_, work.place.size() - first);
    work.part.assign(cells(f), 0);
    add_listed(work.part.get(), work.code.data() + first, work.place.data() + first, sums_.get(), n_listed, line_);
    widen(sums, work.part.get(), cells(f), first == 0);
  }
  // The most common bin has the rest of the total; sums are whole numbers, so the difference is exact.
  Sum* most_common = sums + static_cast<std::size_t>(bins_.most_common[f]) * line_;
  add_to(most_common, total_.get(), line_);
  for (Sum* other = sums; other < sums + cells(f); other += line_)
    if (other != most_common) subtract(most_common, other, line_);
}

}  // namespace polyrule
