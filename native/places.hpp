// Where every row lies in every ordered column, in 16 bits: what a small cover needs to be put into order without a look
// at all other rows, and what a search that remembers places (races.hpp) needs to tell which of them a row concerns.
#pragma once

#include <vector>

#include "columns.hpp"
#include "state.hpp"

namespace polyrule {

// Tests lower this, so that covers of small data are put into order like small covers of large data.
struct PlaceLimits {
  std::size_t share = 4;  // of the rows that would have to be looked at otherwise: one in so many
};
inline PlaceLimits place_limits;

class Places {
 public:
  using Place = std::uint16_t;
  static constexpr std::size_t kMostRows = 65535;
  static constexpr Place kNowhere = 65535;  // of a row without a value

  bool built() const { return !slot_.empty(); }
  // Only rows of the working set have a place.
  void build(const Columns& columns, const State& state);

  // Ordered columns are numbered by their own slots.
  std::size_t slots() const { return size_.size(); }
  std::size_t slot(std::size_t column) const { return slot_[column]; }
  std::size_t size(std::size_t slot) const { return size_[slot]; }
  const Place* of_rows(std::size_t slot) const { return place_.data() + slot * rows_; }
  const Place* rows_at(std::size_t slot) const { return order_.data() + slot * rows_; }

  // The rows by ascending value, marked like the rows of an ordered column. `scratch` is all zero before and after.
  void put_in_order(std::size_t slot, const std::vector<Row>& rows, std::vector<Word>& scratch,
                    std::vector<std::uint32_t>& out) const;

 private:
  std::size_t rows_ = 0;
  std::vector<std::size_t> slot_, size_;
  std::vector<Place> place_, order_;
  std::vector<Word> starts_;  // by slot and place, whether a distinct value starts
};

}  // namespace polyrule
