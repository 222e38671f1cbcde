// Sums of gradients and hessians per bin, of some rows and a block of labels. They are whole numbers below 2^53, so
// neither threads nor the order of rows can change them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "boosting/gain.hpp"
#include "core/arrays.hpp"

namespace polyrule {

using Sum = double;                               // whole numbers
using Part = std::int32_t;                        // sums of few rows
constexpr std::size_t kEight = 8, kSixteen = 16;  // labels are added up eight at a time, gradients and hessians
constexpr std::size_t kOneBlock = 32;             // columns that are never divided
constexpr std::size_t kFew = 4;                   // features
inline std::size_t in_eights(std::size_t count) { return (count + kEight - 1) / kEight * kEight; }

// A block of labels. Sums are lines of gradients, then hessians, each filled up to eights with zeros.
struct Labels {
  const std::int64_t* labels;
  std::size_t wide;
  std::size_t half() const { return in_eights(wide); }
  std::size_t line() const { return 2 * half(); }
};

// Memory of one thread. Lines of sums are aligned to cache lines.
struct Workspace {
  std::vector<std::size_t> features;  // few, to be counted together: each row's gradients are then fetched once
  LineArray<Sum> sums[kFew];          // lines of all bins of each, those of missing values last
  LineArray<Part> part;
  LineArray<Sum> known_sums;
  std::vector<std::int32_t> place;  // of listed rows
  std::vector<Code> code;           // and their codes
};

class Counter {
 public:
  Counter(const Bins& bins, const Gradients& gradients, const std::int32_t* rows, std::size_t count);

  // Copies the gradients of another block of labels.
  void turn_to(const Labels& block);
  // Computes the sums of the workspace's features.
  void count(Workspace& work) const;
  const Sum* total() const { return total_.get(); }

 private:
  void count_dense(const std::size_t* places, std::size_t number, Workspace& work) const;
  void count_listed(std::size_t place, Workspace& work) const;
  std::size_t cells(std::size_t feature) const { return (static_cast<std::size_t>(bins_.count[feature]) + 1) * line_; }

  const Bins& bins_;
  const Gradients& gradients_;
  const std::int32_t* rows_;
  const std::size_t count_;
  std::vector<std::int32_t> place_;  // per example: its place among the rows, or -1
  std::size_t line_ = 0;
  LineArray<Part> sums_;      // lines of gradients and hessians, row after row,
  LineArray<Sum> total_;      // and their sum
  std::size_t together_ = 1;  // rows whose sums fit into 32 bits
};

}  // namespace polyrule
