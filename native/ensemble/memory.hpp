// Sums per bin that are kept from one question to the next. Those of a set of rows follow from those of a larger or
// smaller set and of the rows in between; only these, or nothing, are then counted. Sums are whole numbers: none is
// lost on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/arrays.hpp"
#include "core/bits.hpp"
#include "ensemble/gain.hpp"
#include "ensemble/sums.hpp"

namespace polyrule {

// Sums of some rows and labels.
struct Kept {
  Bits rows;
  std::size_t count = 0;
  std::vector<std::int64_t> labels;  // ascending
  LineArray<Sum> total;              // one line
  LineArray<Sum> sums;               // lines of all features, bin after bin
  std::vector<std::uint8_t> known;   // per feature, whether its sums are there

  void begin(Bits of, std::size_t number, std::vector<std::int64_t> judging, std::size_t lines, std::size_t features);
  bool knows(const Asked& asked) const;
  Labels block() const { return {labels.data(), labels.size()}; }
};

// What has to be counted for an answer, and where the rest comes from.
struct Plan {
  Kept* kept = nullptr;              // where sums are kept, if anywhere
  std::vector<std::int64_t> labels;  // to be counted, ...
  std::vector<std::int32_t> rows;    // ... in these rows
  const Kept* base = nullptr;        // sums to begin with
  const Kept* between = nullptr;     // sums to add, in place of those that are counted
  Sum sign = 1;                      // with which they are added
};

// Belongs to one table and one solver. After a rule only the labels of its head have other gradients than before: the
// sums of all rows are then counted for these, everything else is forgotten.
class Memory {
 public:
  Plan plan(const Bins& bins, const Slopes& slopes, const Asked& asked, const std::int64_t* versions);
  // Keeps the sums of a feature, given those of a block of labels that were counted.
  void keep(const Plan& plan, std::size_t feature, const Labels& block, const Sum* counted, Desk& desk) const;
  void keep_total(const Plan& plan, const Labels& block, const Sum* counted) const;
  // The kept sums of a feature, of some of the labels: where they are if these labels follow each other.
  Lines lines(const Kept& kept, std::size_t feature, const Labels& block, LineArray<Sum>& room) const;

 private:
  const Sum* sums(const Kept& kept, std::size_t feature, const Labels& block, LineArray<Sum>& room) const;
  void renew(const Bins& bins, std::size_t labels, const std::int64_t* versions);
  Plan plan_root(const Bins& bins, const Asked& asked);
  Kept* find(const Bits& rows, const std::vector<std::int64_t>& labels) const;
  Kept* fresh();

  std::vector<std::size_t> first_;            // per feature, its first line
  std::vector<std::int64_t> versions_;        // per label, of the gradients that sums were made from
  std::vector<std::int64_t> stale_;           // labels whose sums over all rows are out of date
  Kept root_;                                 // of all rows and labels
  std::vector<std::unique_ptr<Kept>> kept_;   // of other rows, the oldest first, ...
  std::vector<std::unique_ptr<Kept>> spare_;  // ... and room for more
};

// Columns of some labels out of lines of sums; the lines themselves where these are all labels.
const Sum* columns(const Sum* lines, std::size_t count, const Labels& from, const Labels& wanted, LineArray<Sum>& room);

}  // namespace polyrule
