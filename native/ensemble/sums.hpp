// Sums of slopes per bin, of some rows and a block of labels. They are whole numbers below 2^53, so neither threads nor
// the order of rows can change them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"
#include "ensemble/gain.hpp"

namespace polyrule {

using Sum = double;                               // whole numbers
using Part = std::int32_t;                        // sums of so few rows that they fit
constexpr std::size_t kEight = 8, kSixteen = 16;  // labels are added up eight at a time, each with two slopes
constexpr std::size_t kOneBlock = 32;             // labels that are never divided
constexpr std::size_t kFew = 4;                   // features
inline std::size_t in_eights(std::size_t count) { return (count + kEight - 1) / kEight * kEight; }

// A block of labels. Sums are lines of gradients, then curvatures, each filled up to eights with labels that have none.
struct Labels {
  const std::int64_t* labels;
  std::size_t wide;
  std::size_t half() const { return in_eights(wide); }
  std::size_t line() const { return 2 * half(); }
};

// What one thread works with, feature after feature. Where a line of sums begins, a cache line does.
struct Desk {
  std::vector<std::size_t> features;  // few, to be counted together: each row's slopes are then fetched once
  LineArray<Sum> sums[kFew];          // lines of all bins of each, those of missing values last
  LineArray<Part> part;
  LineArray<Sum> known;
  std::vector<std::int32_t> place;  // of listed rows that are looked at ...
  std::vector<Code> code;           // ... and their codes
};

class Counter {
 public:
  Counter(const Bins& bins, const Slopes& slopes, const std::int32_t* rows, std::size_t count);

  // Takes up other labels: copies the slopes of its rows.
  void turn_to(const Labels& block);
  // Finds the sums of the desk's features.
  void count(Desk& desk) const;
  const Sum* total() const { return total_.get(); }

 private:
  void count_dense(const std::size_t* places, std::size_t number, Desk& desk) const;
  void count_listed(std::size_t place, Desk& desk) const;
  std::size_t cells(std::size_t feature) const { return (static_cast<std::size_t>(bins_.count[feature]) + 1) * line_; }

  const Bins& bins_;
  const Slopes& slopes_;
  const std::int32_t* rows_;
  const std::size_t count_;
  std::vector<std::int32_t> place_;  // per example: where it is among the rows, or -1
  std::size_t line_ = 0;
  LineArray<Part> sums_;      // lines of slopes, row after row,
  LineArray<Sum> total_;      // and their sum
  std::size_t together_ = 1;  // rows whose sums fit into 32 bits
};

}  // namespace polyrule
