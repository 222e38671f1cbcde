#include "search/head_lanes.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/lanes.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kVector = 16, kMostHeads = 2400;  // all of seven labels, the pairs of thirty-four
using Vector = Lanes<std::int32_t, kVector>;

POLYRULE_VECTOR_CLONES
void add_gains(const std::int32_t* gains, std::size_t n, std::int32_t weight, std::uint32_t* sums) {
  const Vector zero{};
  for (std::size_t l = 0; l < n; l += kVector) {
    const Vector gain = load<Vector>(gains + l) * weight;
    store(sums + l, load<Vector>(sums + l) + gain);
    store(sums + n + l, load<Vector>(sums + n + l) + larger(gain, zero));
  }
}

POLYRULE_VECTOR_CLONES
std::int32_t reach_all(const std::uint32_t* from, const std::uint32_t* to, const std::uint32_t* all,
                       const std::int32_t* nothing, std::size_t n, std::int32_t* out) {
  Vector top = fill<Vector>(std::int32_t{-1});
  for (std::size_t l = 0; l < n; l += kVector) {
    const Vector rise = load<Vector>(to + n + l) - load<Vector>(from + n + l);
    const Vector rest = all ? load<Vector>(all + l) - load<Vector>(to + l) : load<Vector>(from + l);
    const Vector bound = load<Vector>(nothing + l) + rest + rise;
    store(out + l, bound);
    top = larger(top, bound);
  }
  std::int32_t largest = -1;
  for (std::size_t l = 0; l < kVector; ++l) largest = std::max<std::int32_t>(largest, top[l]);
  return largest;
}

}  // namespace

std::unique_ptr<const HeadLanes> HeadLanes::of(const Node& node, const State& state, const Form& form) {
  std::unique_ptr<HeadLanes> lanes(new HeadLanes);
  if (form.kind != HeadKind::example || !lanes->list_heads(node, form.max_head)) return nullptr;
  for (Count size = 2; size <= Count(lanes->heads_.back().size()); ++size) lanes->unit_ = std::lcm(lanes->unit_, size);
  if (lanes->unit_ * state.working_weight >= Count{1} << 30) return nullptr;
  const std::size_t n = lanes->lanes_ = (lanes->heads_.size() + kVector - 1) / kVector * kVector;
  lanes->nothing_.assign(n, 0);
  lanes->pattern_of_.resize(node.slots);
  std::map<std::vector<int>, std::uint32_t> patterns;
  std::vector<Count> weights;  // by pattern
  std::vector<int> outcomes(node.labels.size());
  for_each_bit(state.working, [&](std::size_t row) {
    for (std::size_t e = 0; e < outcomes.size(); ++e) outcomes[e] = state.outcome(node.labels[e].label, row);
    const std::uint32_t pattern =
        patterns.try_emplace(outcomes, static_cast<std::uint32_t>(patterns.size())).first->second;
    weights.resize(patterns.size(), 0);
    weights[pattern] += state.weights[row];
    if (node.cover.test(row)) lanes->pattern_of_[node.slot(static_cast<Row>(row))] = pattern;
  });
  lanes->gains_.resize(patterns.size() * n, 0);
  for (const auto& [outcomes, pattern] : patterns)
    for (std::size_t h = 0; h < lanes->heads_.size(); ++h) {
      const std::int32_t outside = lanes->value_of(lanes->heads_[h], outcomes, false);
      lanes->nothing_[h] += outside * static_cast<std::int32_t>(weights[pattern]);
      lanes->gains_[pattern * n + h] = lanes->value_of(lanes->heads_[h], outcomes, true) - outside;
    }
  return lanes;
}

// Size by size, as long as there is room. False if that is not enough to tell anything of all heads.
bool HeadLanes::list_heads(const Node& node, std::size_t max_size) {
  std::vector<std::uint32_t> literals;
  for (std::uint32_t e = 0; e < node.labels.size(); ++e)
    for (std::uint32_t v = 0; v < 2; ++v)
      if (node.labels[e].usable(int(v))) literals.push_back(2 * e + v);
  std::vector<Head> last = {{}};
  for (std::size_t size = 1; size <= max_size && !last.empty(); ++size) {
    std::vector<Head> next;
    for (const Head& head : last)
      for (const std::uint32_t literal : literals) {
        if (!head.empty() && literal / 2 <= head.back() / 2) continue;
        if (heads_.size() + next.size() == kMostHeads) {
          parts_ = size - 1;
          return parts_ > 1;
        }
        next.push_back(head);
        next.back().push_back(literal);
      }
    heads_.insert(heads_.end(), next.begin(), next.end());
    last = std::move(next);
  }
  return true;
}

// What an example is worth to a head, in units; `outcomes`: those of its labels.
std::int32_t HeadLanes::value_of(const Head& head, const std::vector<int>& outcomes, bool covered) const {
  Count right = 0, counted = 0;
  for (const std::uint32_t literal : head) {
    const int outcome = outcomes[literal / 2];
    if (covered && outcome >= kAbsentSet) continue;
    ++counted;
    right += covered ? is_right(outcome, int(literal % 2)) : outcome == kAbsent || outcome == kAbsentSet;
  }
  if (counted == 0) return speaks_for_larger(head) ? static_cast<std::int32_t>(unit_) : 0;
  return static_cast<std::int32_t>(unit_ / counted * right);
}

void HeadLanes::add(const std::uint32_t* slots, std::size_t count, const std::uint32_t* weights,
                    std::uint32_t* sums) const {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t slot = slots[i] & kEntry;
    add_gains(gains_.data() + pattern_of_[slot] * lanes_, lanes_,
              weights ? static_cast<std::int32_t>(weights[slot]) : 1, sums);
  }
}

std::int32_t HeadLanes::reach(const std::uint32_t* from, const std::uint32_t* to, const std::uint32_t* all,
                              std::vector<std::int32_t>& out) const {
  out.resize(lanes_);
  return reach_all(from, to, all, nothing_.data(), lanes_, out.data());
}

}  // namespace polyrule
