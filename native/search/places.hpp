// Where every row lies in every sorted column, in 16 bits: what a search that remembers places (races.hpp) needs to
// tell which of them a row concerns.
#pragma once

#include <vector>

#include "data/columns.hpp"
#include "data/state.hpp"

namespace polyrule {

class Places {
 public:
  using Place = std::uint16_t;
  static constexpr std::size_t kMostRows = 65535;
  static constexpr Place kNowhere = 65535;  // of a row without a value

  bool built() const { return !slot_.empty(); }
  // Only rows of the working set have a place.
  void build(const Columns& columns, const State& state);

  // Sorted columns are numbered by their own slots.
  std::size_t slots() const { return size_.size(); }
  std::size_t slot(std::size_t column) const { return slot_[column]; }
  std::size_t size(std::size_t slot) const { return size_[slot]; }
  const Place* of_rows(std::size_t slot) const { return place_.data() + slot * rows_; }
  const Place* rows_at(std::size_t slot) const { return order_.data() + slot * rows_; }

 private:
  std::size_t rows_ = 0;
  std::vector<std::size_t> slot_, size_;
  std::vector<Place> place_, order_;
};

}  // namespace polyrule
