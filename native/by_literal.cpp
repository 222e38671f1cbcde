#include "by_literal.hpp"

#include <algorithm>

#include "engine.hpp"
#include "pure.hpp"
#include "units.hpp"

namespace polyrule {

namespace {

typedef std::uint16_t Shorts __attribute__((vector_size(16), may_alias));
typedef std::int32_t Lanes __attribute__((vector_size(32), may_alias));
constexpr std::size_t kBlock = 4;  // vectors that are looked at together

inline __attribute__((always_inline)) Lanes load(const std::uint16_t* from) {
  return __builtin_convertvector(*reinterpret_cast<const Shorts*>(from), Lanes);
}

}  // namespace

POLYRULE_VECTOR_CLONES
std::size_t bound_conditions(const LiteralWeights& weights, const std::uint16_t* sizes, const std::uint16_t* present,
                             const std::uint16_t* present_set, const std::uint16_t* absent, std::size_t counters,
                             std::uint32_t* found, std::int32_t& below) {
  const Lanes zero = {}, never = zero + kNeverReached;
  const Lanes most = zero + weights.all_absent, set = zero + weights.all_absent_set;
  const bool unset_helps = weights.absent > 0;
  Lanes highest = never;
  std::size_t count = 0;
  for (std::size_t k = 0; k < counters; k += kBlock * kLanes) {
    Lanes bounds[kBlock], any = {};
    for (std::size_t b = 0; b < kBlock; ++b) {
      const std::size_t at = k + b * kLanes;
      const Lanes size = load(sizes + at), with = load(present + at), with_set = load(present_set + at);
      const Lanes others = size - with - with_set;
      const Lanes low = others - set > zero ? others - set : zero, high = others < most ? others : most;
      const Lanes unset = absent ? load(absent + at) : unset_helps ? high : low;
      const Lanes bound = weights.empty + weights.present * with + weights.present_set * with_set +
                          weights.absent_set * others + weights.absent * unset;
      bounds[b] = size > zero ? bound : never;
      const Lanes reaches = bounds[b] >= zero;
      any |= reaches;
      const Lanes rest = reaches ? never : bounds[b];
      highest = rest > highest ? rest : highest;
    }
    bool one = false;
    for (std::size_t i = 0; i < kLanes; ++i) one |= any[i] != 0;
    if (!one) continue;
    for (std::size_t b = 0; b < kBlock; ++b)
      for (std::size_t i = 0; i < kLanes; ++i)
        if (bounds[b][i] >= 0) found[count++] = static_cast<std::uint32_t>(k + b * kLanes + i);
  }
  for (std::size_t i = 0; i < kLanes; ++i) below = std::max(below, highest[i]);
  return count;
}

POLYRULE_VECTOR_CLONES
void subtract_from(const std::uint16_t* all, std::uint16_t* counts, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) counts[k] = static_cast<std::uint16_t>(all[k] - counts[k]);
}

// Covers along a rule are nested: where most rows stay, those that have left are taken off.
const ConditionSizes& Engine::sizes_of(const Node& node) {
  const Members& members = state_.members;
  std::vector<Row> left;
  const bool below = sizes_path_ == node.path_id && sizes_cover_.words() == node.cover.words();
  if (below)
    for (std::size_t w = 0; w < node.cover.words(); ++w)
      for_each_bit(sizes_cover_.data()[w] & ~node.cover.data()[w], w * 64,
                   [&](std::size_t i) { left.push_back(static_cast<Row>(i)); });
  const bool fewer = below && left.size() < node.rows.size();
  const std::vector<Row>& rows = fewer ? left : node.rows;
  LineArray<std::uint16_t> counts;
  counts.resize(members.counters());
  tally(members.data(), members.stride(), rows.data(), rows.size(), members.vectors(), counts.get());
  all_sizes_.resize(members.counters());
  sizes_.resize(members.counters());
  for (std::size_t k = 0; k < members.counters(); ++k) {
    std::uint16_t& size = all_sizes_.get()[k];
    size = static_cast<std::uint16_t>(fewer ? size - counts.get()[k] : counts.get()[k]);
    sizes_.get()[k] = size == node.rows.size() ? std::uint16_t{0} : size;
  }
  sizes_path_ = node.path_id;
  sizes_cover_ = node.cover;
  return sizes_;
}

// The best condition of a node, or nothing if only ties are left to be found, of any literal.
template <class Int>
std::optional<Best> Engine::search_by_literal(const Watch& watch, Node& node, const std::vector<NodeLabel>& live,
                                              const Form& form, const Head& incumbent) {
  const Best start{incumbent.value, incumbent.tp, false, {}};
  const bool pure = only_pure(Gains<Int>(form, Fraction{1, 1}, state_.working_weight));
  if (pure) {
    const bool reached = compare(incumbent.value, {1, 1}) == 0;
    const Best least{{1, 1}, reached ? incumbent.tp : 0, false, {}};
    if (node.is_root && live.size() > 1 && state_.rows >= list_limits.kept_rows && PureTable::fits(state_)) {
      const Best found = pure_table_.best(state_, form.negative, least, threads_);
      if (found.any || reached) return found;
    } else if (reached) {
      return best_pure(watch, node, state_, live, least);
    }
  }
  const Target<Int> target(form, incumbent.value, state_.working_weight);
  if (target.gains.only_ties()) return std::nullopt;

  // What the incumbent's labels reach rules out most of the others; then the most promising first.
  std::vector<std::pair<double, NodeLabel>> ranked;
  for (const NodeLabel& label : live) {
    double promise = -std::numeric_limits<double>::infinity();
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v])
        promise = std::max(promise, path_[label.label * 2 + std::size_t(v)].optimistic(label, v, target));
    for (const HeadLiteral& literal : incumbent.literals)
      if (literal.label == label.label) promise = std::numeric_limits<double>::infinity();
    ranked.push_back({promise, label});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](auto& a, auto& b) { return a.first > b.first; });

  const ConditionSizes& sizes = sizes_of(node);
  using Search = LiteralSearch<Int>;
  const bool keeps = state_.rows >= list_limits.kept_rows && LabelCounts::fits(state_);
  LabelCounts* const kept = keeps ? &label_counts_ : nullptr;
  if (kept) kept->refresh(state_);
  std::vector<std::unique_ptr<Search>> searches(static_cast<std::size_t>(threads_));
  searches[0].reset(new Search(node, state_, form, sizes, start, kept));
  // Drops the literals of a label that cannot reach the level; false if none is left.
  const auto can_reach = [&](const Search& search, NodeLabel& label) {
    for (int v = 0; v < 2; ++v)
      label.allowed[v] = label.usable(v) && search.target().gains.bound(label, v) >= 0 &&
                         path_[label.label * 2 + std::size_t(v)].can_reach(label, v, search.target());
    return label.allowed[0] || label.allowed[1];
  };
  std::atomic<bool> fading{false};
  const auto look = [&](Search& search, const NodeLabel& label) {
    search.look(label, [&](int v, double reach, const Fraction& level) {
      Prospect& prospect = path_[label.label * 2 + std::size_t(v)];
      prospect.reach = reach;
      prospect.value = double(level.num) / double(level.den);
      std::copy(label.kinds, label.kinds + 4, prospect.kinds);
    });
    if (search.target().gains.only_ties()) fading = true;
  };
  if (!ranked.empty() && can_reach(*searches[0], ranked[0].second)) look(*searches[0], ranked[0].second);
  std::vector<NodeLabel> rest;
  for (std::size_t i = 1; i < ranked.size(); ++i)
    if (can_reach(*searches[0], ranked[i].second)) rest.push_back(ranked[i].second);

  const int threads = rest.size() < list_limits.threaded_labels ? 1 : threads_;
  std::mutex guard;
  Fraction shared = searches[0]->level();
  over_all(watch, rest.size(), threads, 1, [&](int worker, std::size_t i) {
    if (fading) return;
    auto& search = searches[static_cast<std::size_t>(worker)];
    if (!search) search.reset(new Search(node, state_, form, sizes, start, kept));
    if (threads > 1) {
      const std::lock_guard lock(guard);
      search->raise(shared);
    }
    if (NodeLabel label = rest[i]; can_reach(*search, label)) look(*search, label);
    if (threads > 1) {
      const std::lock_guard lock(guard);
      if (compare(search->level(), shared) > 0) shared = search->level();
    }
  });
  if (fading && pure) return best_pure(watch, node, state_, live, {{1, 1}, 0, false, {}});
  if (fading) return std::nullopt;
  for (std::size_t i = 1; i < searches.size(); ++i)
    if (searches[i]) searches[0]->join(*searches[i]);
  return searches[0]->best();
}

template std::optional<Best> Engine::search_by_literal<Count>(const Watch&, Node&, const std::vector<NodeLabel>&,
                                                              const Form&, const Head&);
template std::optional<Best> Engine::search_by_literal<Wide>(const Watch&, Node&, const std::vector<NodeLabel>&,
                                                             const Form&, const Head&);

}  // namespace polyrule
