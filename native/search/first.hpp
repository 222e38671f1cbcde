// The best first condition of every literal on a numeric column, kept between rules.
//
// A rule only changes the labels of its head, and rows that leave the working set are mostly done with. So what a
// single condition can make of the other literals stays true, and the next rule starts from what is known: only
// literals that changed are searched again, each at a value of its own, until its best value is known exactly.
#pragma once

#include <optional>
#include <vector>

#include "judge/literals.hpp"

namespace polyrule {

struct FirstCondition {
  bool known = false;  // whether no first condition exceeds `value`
  bool below = false;  // whether none reaches it, either
  bool exact = false;  // whether those on `columns`, and no others, reach it
  Fraction value;
  std::vector<std::uint32_t> columns;
  std::optional<Condition> witness;  // one that was the best, to start from next time

  bool may_reach(const Fraction& level) const {
    const int order = known ? compare(value, level) : 1;
    return order > 0 || (order == 0 && !below);
  }
};

class FirstConditions {
 public:
  explicit FirstConditions(std::size_t labels) : known_(labels * 2) {}

  FirstCondition& at(std::size_t label, int value) { return known_[label * 2 + std::size_t(value)]; }

  // Forgets what has become stale since the last call.
  void update(const State& state, const Form& form) {
    const bool same_form = num_ == form.num && den_ == form.den;
    if (!same_form) known_.assign(known_.size(), {});
    else if (working_version_ != state.working_version) rows_left(state, form);
    for (std::size_t l = 0; l < state.labels; ++l)
      if (same_form && label_version_[l] != state.label_version[l])
        for (int v = 0; v < 2; ++v) {
          FirstCondition fresh;
          fresh.witness = at(l, v).witness;
          at(l, v) = fresh;
        }
    num_ = form.num;
    den_ = form.den;
    label_version_ = state.label_version;
    working_version_ = state.working_version;
    working_ = state.working;
  }

 private:
  // One that lacks a label which is set there counted for it only as a true negative; if these do not matter, the
  // values stay, though some conditions may be gone.
  void rows_left(const State& state, const Form& form) {
    const bool negatives_matter = form.num[3] != 0 || form.den[3] != 0;
    for (std::size_t l = 0; l < state.labels; ++l) {
      bool touched = negatives_matter;
      for (std::size_t w = 0; w < state.working.words() && !touched; ++w) {
        const Word left = working_.data()[w] & ~state.working.data()[w] & state.known_word(l, w);
        touched = (left & (state.truth[l][w] | ~state.set[l][w])) != 0;
      }
      for (int v = 0; v < 2; ++v) {
        at(l, v).known = at(l, v).known && !touched;
        at(l, v).exact = false;
      }
    }
  }

  std::vector<FirstCondition> known_;
  std::array<Count, 5> num_{}, den_{};  // what they were found for
  std::vector<std::uint64_t> label_version_;
  std::uint64_t working_version_ = 0;
  Bits working_;
};

}  // namespace polyrule
