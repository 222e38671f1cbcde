// Conditions on labels in the search among ties of the empty body (races.hpp): for every label = value that rules have
// set, how many unset rows every label has there, by truth. Kept from rule to rule like the races: a label that is set on a
// row changes the counts of the conditions that the row meets, and lets it meet one more.
#pragma once

#include <vector>

#include "singles.hpp"
#include "state.hpp"

namespace polyrule {

class LabelTies {
 public:
  static constexpr std::size_t kMostLabels = 1024;  // the table has 8 bytes for every two labels

  void begin(const State& state);

  // A row had the unset labels `before` and has those in `now`; null if it is not in the working set.
  void move(Row row, const Word* before, const Word* now);

  template <class Scan>
  void offer(bool negative, Scan& scan) const {
    for (std::size_t list = 0; list < sizes_.size(); ++list) {
      if (sizes_[list] == 0 || sizes_[list] == state_->working_weight) continue;
      const Count total = ties(list, negative);
      if (total > 0)
        scan.offer_tie(total, 0, [&](std::size_t) {
          return Condition{Test::label, false, static_cast<std::uint32_t>(list / 2), double(list % 2)};
        });
    }
  }

 private:
  void add(Row row, std::size_t label, const Word* labels, int sign);
  Count ties(std::size_t list, bool negative) const;

  const State* state_ = nullptr;
  std::size_t words_ = 0, stride_ = 0;
  std::vector<std::uint16_t> counts_;  // by condition (2 * label + value) and truth, by label
  std::vector<Count> sizes_;
  std::vector<Word> all_, change_;  // all labels; scratch
};

}  // namespace polyrule
