// A body on its way, and the steps by which it grows. The definition stands in kernels/growth.py.
#pragma once

#include <algorithm>
#include <vector>

#include "data/node.hpp"

namespace polyrule {

// "And" (no members), or one more member of a group: of the conditions from `first` on, so many are its members, of
// which at least `least` hold.
struct Step {
  std::size_t first = 0, members = 0, least = 0;
};

struct Body {
  std::vector<ShownCondition> conditions;  // members of the group side by side
  Step group = {};                         // none: no members

  // A group counts as one condition.
  std::size_t length() const { return conditions.size() - group.members + (group.members > 0); }

  std::vector<Step> steps(std::size_t max_conditions, std::size_t max_members) const {
    std::vector<Step> found;
    if (length() < max_conditions) found.push_back({});
    if (group.members > 0) {
      if (group.members < max_members) found.push_back(group);
      return found;
    }
    const std::size_t size = conditions.size();
    for (std::size_t k = 1; k < max_members && k <= size && conditions[size - k].test != Test::label; ++k)
      found.push_back({size - k, k, k});
    return found;
  }

  Body longer(const Step& step, const ShownCondition& condition) const {
    Body out = *this;
    const std::size_t at = step.members > 0 ? step.first + step.members : conditions.size();
    out.conditions.insert(out.conditions.begin() + std::ptrdiff_t(at), condition);
    if (step.members > 0) out.group = {step.first, step.members + 1, step.least};
    return out;
  }

  // Whether the bodies only differ in the order of conditions, or of members.
  bool same_as(const Body& other) const {
    const auto plain = [](const Body& body) {
      std::vector<ShownCondition> out = body.conditions;
      const auto first = out.begin() + std::ptrdiff_t(body.group.first);
      std::rotate(first, first + std::ptrdiff_t(body.group.members), out.end());
      return out;  // members last
    };
    if (conditions.size() != other.conditions.size() || group.members != other.group.members ||
        group.least != other.group.least)
      return false;
    const std::vector<ShownCondition> a = plain(*this), b = plain(other);
    const auto end = a.end() - std::ptrdiff_t(group.members), other_end = b.end() - std::ptrdiff_t(group.members);
    return std::is_permutation(a.begin(), end, b.begin()) && std::is_permutation(end, a.end(), other_end);
  }

  // The rows of the working set where all but the members hold and one member more would make a group of `step` hold.
  Bits border(const Step& step, const Columns& columns, const State& state) const {
    const auto among = [&](std::size_t i, const Bits& rows) {
      const ShownCondition& c = conditions[i];
      return covered_by({c.test, false, c.index, c.value}, rows, columns, state);
    };
    const std::size_t end = step.first + step.members;
    std::vector<Bits> held(step.least + 1, Bits(state.rows));  // rows where at least so many members hold
    held[0] = state.working;
    for (std::size_t i = 0; i < conditions.size(); ++i)
      if (i < step.first || i >= end) held[0] = among(i, held[0]);
    for (std::size_t i = step.first; i < end; ++i) {
      const Bits rows = among(i, held[0]);
      for (std::size_t k = step.least; k > 0; --k)
        for (std::size_t w = 0; w < rows.words(); ++w) held[k].data()[w] |= held[k - 1].data()[w] & rows.data()[w];
    }
    Bits out = held[step.least - 1];
    for (std::size_t w = 0; w < out.words(); ++w) out.data()[w] &= ~held[step.least].data()[w];
    return out;
  }
};

}  // namespace polyrule
