// Which literals of a body beat which.
//
// One literal beats another if every head that has the other, but not the label of the one, gets better once the one
// takes its place: a larger value, or as large a value with more true positives or with labels that come first. So if
// the best head has a literal, it has the labels of all literals that beat it (docs/theory.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/assert.hpp"
#include "scoring/micro_gains.hpp"

namespace polyrule {

class Dominance {
 public:
  static constexpr std::size_t kMost = 64;  // literals
  using Set = std::uint64_t;

  struct Label {
    std::vector<std::uint32_t> literals;
    Set literal_set = 0, dominated = 0;  // its literals, and what one of them beats
    std::size_t by = 0;                  // how many literals beat one of them
  };

  explicit Dominance(Formula formula) : formula_(formula) {}

  // Whether a head may win that is worth less than 0.
  void set_negative(bool negative) { negative_ = negative; }

  // Looks at literals in label order, at most kMost, for heads whose x lies in an interval.
  void look(const std::vector<MicroItem>& items, const double x[2]) {
    POLYRULE_ASSERT(items.size() <= kMost);
    labels_.clear();
    std::array<std::size_t, kMost> by{};  // how many beat a literal
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      if (i == 0 || items[i].e != items[i - 1].e) labels_.emplace_back();
      Label& label = labels_.back();
      label.literals.push_back(i);
      label.literal_set |= Set{1} << i;
      for (std::size_t j = 0; j < items.size(); ++j)
        if (beats(items[i], items[j], x)) label.dominated |= Set{1} << j, ++by[j];
    }
    for (Label& label : labels_)
      for (const std::uint32_t i : label.literals) label.by += by[i];
    std::stable_sort(labels_.begin(), labels_.end(), [](const Label& a, const Label& b) { return a.by < b.by; });
  }

  // For heads whose x lies in an interval.
  bool beats(const MicroItem& a, const MicroItem& b, const double x[2]) const {
    if (a.e == b.e) return false;
    const bool first = a.tp > b.tp || (a.tp == b.tp && a.place < b.place);
    const bool fewer = a.tp >= b.tp && a.fn <= b.fn;
    if (is_monotone(formula_, negative_)) return first && fewer && a.fp <= b.fp && a.tn >= b.tn;
    if (a.tp + a.fp != b.tp + b.fp || a.total != b.total) return false;
    if (formula_ == Formula::m_estimate) return first && a.tp + a.fn >= b.tp + b.fn;
    if (formula_ == Formula::kappa || formula_ == Formula::certainty) return false;
    if (first && fewer) return true;
    if (formula_ == Formula::lift) return false;
    const auto gains = [&](double at) {
      return (a.tp - b.tp) * (1 - at) - (a.fn - b.fn) * at > 1e-9 * (a.total + b.total);
    };
    return gains(x[0]) && gains(x[1]);
  }

  // No more heads than this agree with what beats what: of labels each of which is beaten by the one before, the first
  // few are in a head.
  double heads() const {
    struct Chain {
      const Label* last;
      double longest, all;  // heads of the whole chain, of any part
    };
    std::vector<Chain> chains;
    for (const Label& label : labels_) {
      auto chain = std::find_if(chains.begin(), chains.end(), [&](const Chain& c) {
        return (c.last->dominated & label.literal_set) == label.literal_set;
      });
      if (chain == chains.end()) chain = chains.insert(chains.end(), {nullptr, 1, 1});
      chain->last = &label;
      chain->longest *= double(label.literals.size());
      chain->all += chain->longest;
    }
    double all = 1;
    for (const Chain& chain : chains) all *= chain.all;
    return all;
  }

  // Those that are beaten come late.
  const std::vector<Label>& labels() const { return labels_; }

 private:
  Formula formula_;
  bool negative_ = true;
  std::vector<Label> labels_;
};

}  // namespace polyrule
