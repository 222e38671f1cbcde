#include "search/places.hpp"

namespace polyrule {

void Places::build(const Columns& columns, const State& state) {
  const std::size_t rows = rows_ = state.rows;
  slot_.assign(columns.size(), SIZE_MAX);
  std::vector<std::size_t> ordered;
  for (std::size_t j = 0; j < columns.size(); ++j)
    if (columns[j].shape == Shape::sorted) slot_[j] = ordered.size(), ordered.push_back(j);
  place_.assign(ordered.size() * rows, kNowhere);
  order_.assign(ordered.size() * rows, 0);
  size_.assign(ordered.size(), 0);
  for (std::size_t k = 0; k < ordered.size(); ++k) {
    std::size_t& p = size_[k];
    for (const Row entry : columns[ordered[k]].rows) {
      const Row row = entry & kEntry;
      if (!state.working.test(row)) continue;
      place_[k * rows + row] = static_cast<Place>(p);
      order_[k * rows + p] = static_cast<Place>(row);
      ++p;
    }
  }
}

}  // namespace polyrule
