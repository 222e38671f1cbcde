#include "search/lists.hpp"

#include <algorithm>
#include <mutex>

#include "core/machine.hpp"
#include "search/list_bounds.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kVector = 256;          // conditions that are counted together
constexpr std::size_t kWorthCounting = 8000;  // rows times vectors, to have exact counts instead of bounds

}  // namespace

// What a search needs room for, kept from node to node. Between two searches nothing is held.
template <class Counter>
struct ListRoom {
  LineArray<Counter> present, present_set, unset, none;
  LineArray<std::uint32_t> found;
  std::vector<BestLiterals> held;  // by condition
  std::vector<Word> absent, absent_set;

  explicit ListRoom(const Members& members) : held(members.size()) {
    for (LineArray<Counter>* counts : {&present, &present_set, &unset}) counts->resize(members.counters());
    none.assign(members.counters(), 0);
    found.resize(members.counters());
  }
};

namespace {

POLYRULE_CLONES
std::uint32_t count_bits_of(const Word* record, const std::vector<Word>& some) {
  std::uint32_t number = 0;
  for (std::size_t w = 0; w < some.size(); ++w)
    number += static_cast<std::uint32_t>(std::popcount(some[w] & record[w]));
  return number;
}

// The best conditions of the labels shown so far.
template <class Counter, class Lane>
class LiteralSearch {
 public:
  LiteralSearch(const Node& node, const State& state, const Members& members, const Form& form,
                const Sizes<Counter>& sizes, LabelCounts<Counter>* kept, ListRoom<Counter>& room, double capacity,
                std::size_t wanted, const Fraction& level)
      : node_(node), state_(state), members_(members), form_(form), sizes_(sizes.get()), kept_(kept != nullptr),
        counts_(node, state, members, sizes.all(), kept), room_(room), capacity_(capacity), wanted_(wanted),
        target_(form, level), lane_gains_(form, level), held_(room.held) {
    room.absent.resize(node.cover.words());
    for (std::size_t k = 0; k < members_.counters(); k += kVector)
      largest_.push_back(*std::max_element(sizes_ + k, sizes_ + k + kVector));
    set_level(level);
  }

  ~LiteralSearch() {
    for (const std::uint32_t k : numbers_) held_[k] = {};
  }

  const Fraction& level() const { return level_; }
  const Target& target() const { return target_; }
  void raise(const Fraction& level) {
    if (compare(level, level_) > 0) set_level(level);
  }

  // All conditions for the literals of a label. note(value, reach, level): what no condition exceeds (memory.hpp).
  template <class Note>
  void look(const NodeLabel& label, Note&& note) {
    const Fraction level = level_;
    double beyond[2];
    vectors_ = 0;
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v]) vectors_ = std::max(vectors_, vectors_for(label, v, 0, beyond[v]));
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v]) vectors_for(label, v, vectors_, beyond[v]);
    if (vectors_ > 0) count_positives(label);
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v]) note(v, std::max(beyond[v], vectors_ > 0 ? look_at(label, v) : beyond[v]), level);
    rise();
  }

  // Adds what another search has found for other labels.
  void join(const LiteralSearch& other) {
    raise(other.level_);
    for (const std::uint32_t k : other.numbers_) {
      const BestLiterals& more = other.held_[k];
      hold(k, more.value, more.tp, more.label);
    }
    better_ = true;
    rise();
  }

  void offer_all(Shortlist& best) const {
    for (const std::uint32_t k : numbers_)
      if (best.admits(held_[k].value, held_[k].tp)) best.offer({held_[k].value, held_[k].tp, members_[k]});
  }

 private:
  void set_level(const Fraction& level) {
    level_ = level;
    target_ = Target(form_, level);
    const LaneLevel lanes(form_, double(node_.weight), state_, level, capacity_);
    scale_ = double(lanes.value.den);
    lane_gains_ = Gains(form_, lanes.value);
    std::erase_if(numbers_, [&](std::uint32_t k) {
      const bool out = compare(held_[k].value, level) < 0;
      if (out) held_[k] = {};
      return out;
    });
  }

  // The level is the value of the last condition wanted.
  void rise() {
    if (!better_ || numbers_.size() < wanted_) return;
    better_ = false;
    if (wanted_ == 1) {
      Fraction top = level_;
      for (const std::uint32_t k : numbers_)
        if (compare(held_[k].value, top) > 0) top = held_[k].value;
      return set_level(make_fraction(top.num, top.den));
    }
    std::vector<Fraction> values;
    for (const std::uint32_t k : numbers_) values.push_back(held_[k].value);
    std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(wanted_ - 1), values.end(),
                     [](const Fraction& a, const Fraction& b) { return compare(a, b) > 0; });
    const Fraction& last = values[wanted_ - 1];
    if (compare(last, level_) > 0) set_level(make_fraction(last.num, last.den));
  }

  void hold(std::uint32_t k, const Fraction& value, Count tp, std::uint32_t label) {
    if (!held_[k].any()) numbers_.push_back(k);
    held_[k].meet(value, tp, label);
  }

  // Whether values tell present rows from absent ones where the label is set. At one level they may weigh the same.
  bool needs_set() const { return form_.num[3] != form_.num[4] || form_.den[3] != form_.den[4]; }

  // Up to which vector of conditions there is one large enough for the literal, but not less than `least`. `beyond`
  // gets what those after it cannot exceed.
  std::size_t vectors_for(const NodeLabel& label, int v, std::size_t least, double& beyond) const {
    beyond = double(kNever<Lane>) / scale_;
    for (std::size_t g = largest_.size(); g > least; --g) {
      Wide bound = lane_gains_.empty_sum(label);
      for (int k = 0; k < kKinds; ++k)
        if (lane_gains_.slope[v][k] > 0)
          bound += lane_gains_.slope[v][k] * std::min<Count>(label.kinds[k], largest_[g - 1]);
      if (bound >= 0 && largest_[g - 1] > 0) return g;
      beyond = std::max(beyond, double(bound) / scale_);
    }
    return least;
  }

  void count_positives(const NodeLabel& label) {
    has_set_ = label.kinds[kPresentSet] > 0 && needs_set();
    has_absent_ = false;
    unset_at_ = nullptr;
    present_at_ = counts_.count(label, Part::present, vectors_, room_.present);
    present_set_at_ =
        has_set_ ? counts_.count(label, Part::present_set, vectors_, room_.present_set) : room_.none.get();
    // Where the unset absent rows are counted at little cost, there is no need for bounds, and what the literal reaches
    // is known exactly.
    if (kept_ && counts_.work(label, Part::absent) * vectors_ <= kWorthCounting)
      unset_at_ = counts_.count(label, Part::absent, vectors_, room_.unset);
  }

  // Returns the literal's reach.
  double look_at(const NodeLabel& label, int v) {
    LiteralWeights<Lane> weights;
    const auto& slope = lane_gains_.slope[v];
    const auto lane = [](Wide x) { return static_cast<Lane>(x); };
    weights.empty = lane(lane_gains_.empty_sum(label));
    weights.present = lane(slope[kPresent]);
    weights.present_set = lane(slope[kPresentSet]);
    // Where it matters, rows of an unknown label are told from those that lack it only after this look.
    const bool vague = state_.has_unknown && (form_.num[3] != 0 || form_.den[3] != 0);
    const Wide absent_set = vague ? std::max<Wide>(0, slope[kAbsentSet]) : slope[kAbsentSet];
    weights.absent_set = lane(absent_set);
    weights.absent = lane(slope[kAbsent] - absent_set);
    weights.all_absent = lane(label.kinds[kAbsent]);
    // Rows where the label is unknown, and present ones that are set where they are not told apart, count like absent
    // ones that are set.
    weights.all_absent_set =
        lane(node_.weight - label.kinds[kAbsent] - label.kinds[kPresent] - (has_set_ ? label.kinds[kPresentSet] : 0));
    Lane below = kNever<Lane>;
    const std::size_t count = bound_conditions(weights, sizes_, present_at_, present_set_at_, unset_at_,
                                               vectors_ * kVector, room_.found.get(), below);
    Count most_gain = below;
    if (count > 0) prepare_unset(label, count);
    if (count > 0 && vague) {
      const Word *truth = state_.truth[label.label], *set = state_.set[label.label];
      room_.absent_set.resize(room_.absent.size());
      for (std::size_t w = 0; w < room_.absent_set.size(); ++w)
        room_.absent_set[w] = node_.cover.data()[w] & ~truth[w] & set[w] & state_.known_word(label.label, w);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t k = room_.found[i];
      KindCounts kinds;
      kinds[kPresent] = present_at_[k];
      kinds[kPresentSet] = present_set_at_[k];
      const Count others = Count(sizes_[k]) - kinds[kPresent] - kinds[kPresentSet];
      const Count least = std::max<Count>(0, others - Count(weights.all_absent_set));
      const Count most = std::min<Count>(others, label.kinds[kAbsent]);
      kinds[kAbsent] = least == most ? least
                       : unset_at_   ? Count(unset_at_[k])
                                     : members_.count_among(k, room_.absent.data());
      kinds[kAbsentSet] = vague ? members_.count_among(k, room_.absent_set.data()) : others - kinds[kAbsent];
      const Count gain = Count(weights.empty) + Count(weights.present) * kinds[kPresent] +
                         Count(weights.present_set) * kinds[kPresentSet] + Count(slope[kAbsent]) * kinds[kAbsent] +
                         Count(slope[kAbsentSet]) * kinds[kAbsentSet];
      most_gain = std::max(most_gain, gain);
      if (gain < 0 || kinds[v] <= 0) continue;
      const Fraction value = literal_value(form_, literal_counts(label, kinds, v));
      const int order = compare(value, level_);
      better_ = better_ || order > 0;
      if (order >= 0) hold(k, value, kinds[v], label.label);
    }
    return double(most_gain) / scale_;
  }

  // Makes ready to count the unset absent rows of `count` conditions, all at once if that is cheaper.
  void prepare_unset(const NodeLabel& label, std::size_t count) {
    if (unset_at_) return;
    const Word *truth = state_.truth[label.label], *set = state_.set[label.label];
    if (!has_absent_)
      for (std::size_t w = 0; w < room_.absent.size(); ++w)
        room_.absent[w] = node_.cover.data()[w] & ~truth[w] & ~set[w] & state_.known_word(label.label, w);
    has_absent_ = true;
    const auto rows = static_cast<std::size_t>(label.kinds[kAbsent]);
    if (4 * rows * vectors_ > count * room_.absent.size()) return;
    counts_.count_some([&](std::size_t w) { return room_.absent[w]; }, vectors_, room_.unset);
    unset_at_ = room_.unset.get();
  }

  const Node& node_;
  const State& state_;
  const Members& members_;
  const Form& form_;
  const Counter* sizes_;
  const bool kept_;  // whether counts of the empty body are
  NodeCounts<Counter> counts_;
  ListRoom<Counter>& room_;
  const double capacity_;
  const std::size_t wanted_;
  Fraction level_;
  Target target_;
  Gains lane_gains_;
  double scale_ = 1;
  std::vector<BestLiterals>& held_;
  std::vector<std::uint32_t> numbers_;  // of those that are held
  std::vector<Counter> largest_;        // size of a condition, by vector of conditions
  std::size_t vectors_ = 0;             // that the label under search needs
  bool has_set_ = false, has_absent_ = false, better_ = false;
  // Counts of the label under search; `unset_at_` is null if the unset absent rows are not counted yet.
  const Counter *present_at_ = nullptr, *present_set_at_ = nullptr, *unset_at_ = nullptr;
};

}  // namespace

template <class Counter>
void Sizes<Counter>::follow(const Members& members, const Node& node, Count least) {
  if (path_id_ == node.path_id && cover_ == node.cover) return;
  std::vector<Row> left;
  const bool below = path_id_ == node.path_id && !node.is_root();
  if (below)
    for (std::size_t w = 0; w < node.cover.words(); ++w)
      for_each_bit(cover_.data()[w] & ~node.cover.data()[w], w * 64,
                   [&](std::size_t i) { left.push_back(static_cast<Row>(i)); });
  const bool fewer = below && left.size() < node.rows.size();
  const std::size_t size = members.counters();
  LineArray<Counter> counts;
  counts.resize(size);
  members.count(fewer ? left : node.rows, members.vectors(), counts.get());
  all_.resize(size);
  usable_.resize(size);
  for (std::size_t k = 0; k < size; ++k) {
    all_[k] = static_cast<Counter>(fewer ? all_[k] - counts[k] : counts[k]);
    usable_[k] = Count(all_[k]) == node.weight || Count(all_[k]) < least ? Counter(0) : all_[k];
  }
  path_id_ = node.path_id;
  cover_ = node.cover;
}

ListSearch::ListSearch(const Members& members, const State& state, const Limits& limits, Count min_coverage,
                       int threads)
    : members_(members), state_(state), limits_(limits), min_coverage_(min_coverage), threads_(threads),
      short_{{}, {members, state}, {}}, long_{{}, {members, state}, {}},
      bounds_(state, members.has_labels(), limits.bounds != 0) {}

bool ListSearch::search(const Query& query, Shortlist& best) {
  if (members_.size() == 0) return false;
  if (!LaneLevel::fits(query.form, state_, limits_.lane_capacity / 16))
    search_as<std::uint32_t, std::int64_t>(query, long_, best);
  else if (is_short()) search_as<std::uint16_t, std::int32_t>(query, short_, best);
  else search_as<std::uint32_t, std::int32_t>(query, long_, best);
  if (query.node.is_root()) bounds_.keep_root();
  return false;
}

template <class Counter>
LabelCounts<Counter>* ListSearch::kept_counts(Store<Counter>& store) const {
  if (state_.rows < limits_.kept_rows || !store.counts.fits()) return nullptr;
  store.counts.follow();
  return &store.counts;
}

void ListSearch::offer_pure(const Watch& watch, const Node& node, const Records& records, Shortlist& best) {
  if (members_.size() == 0 || node.rows.empty()) return;
  is_short() ? offer_pure(watch, node, records, short_, best) : offer_pure(watch, node, records, long_, best);
}

// By condition, of how many labels its covered rows are true positives, if each label counts as `labels` says.
template <class Counter>
std::vector<Count> ListSearch::sum_labels(const Node& node, const Records& records,
                                          const std::vector<Word>& labels) const {
  std::vector<std::uint32_t> numbers;  // by row
  for (const Row row : node.rows) numbers.push_back(count_bits_of(records.row(row), labels));
  const std::uint32_t most = *std::max_element(numbers.begin(), numbers.end());
  std::vector<Count> sums(members_.counters(), 0);
  LineArray<Counter> counts;
  counts.resize(sums.size());
  for (std::uint32_t bit = 0; most >> bit != 0; ++bit) {
    std::vector<Row> some;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] >> bit & 1) some.push_back(node.rows[i]);
    members_.count(some, members_.vectors(), counts.get());
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += Count(counts[k]) << bit;
  }
  return sums;
}

// Labels with one value only keep it under every condition, so they are summed up together. The others are looked at
// one by one: for few conditions those alone, else all conditions at once.
template <class Counter>
void ListSearch::offer_pure(const Watch& watch, const Node& node, const Records& records, Store<Counter>& store,
                            Shortlist& best) {
  store.sizes.follow(members_, node, min_coverage_);
  std::vector<Word> pure(2 * records.words(), 0), all = pure;
  std::vector<NodeLabel> mixed;
  for (const NodeLabel& label : node.labels) {
    const bool is_mixed = label.kinds[0] > 0 && label.kinds[1] > 0;
    if (is_mixed) mixed.push_back(label);
    for (int v = 0; v < 2; ++v)
      if (label.usable(v)) {
        const std::size_t word = (v ? 0 : records.words()) + label.label / 64;
        all[word] |= Word{1} << label.label % 64;
        if (!is_mixed) pure[word] |= Word{1} << label.label % 64;
      }
  }
  std::vector<Count> totals = sum_labels<Counter>(node, records, pure);
  const std::vector<Count> bounds = mixed.empty() ? totals : sum_labels<Counter>(node, records, all);
  std::vector<std::uint32_t> open;
  for (std::uint32_t k = 0; k < members_.size(); ++k)
    if (store.sizes.get()[k] > 0 && bounds[k] >= best.least_tp()) open.push_back(k);
  if (open.empty()) return;
  const std::size_t by_label = members_.counters() + node.rows.size() * members_.vectors();  // work, about
  if (open.size() * node.cover.words() < by_label) purify_some(node, mixed, open, totals);
  else purify_all(watch, node, mixed, store, totals);
  for (const std::uint32_t k : open)
    if (totals[k] >= best.least_tp()) best.offer({{1, 1}, totals[k], members_[k]});
}

// Adds the true positives of labels that have one value only under a condition, condition by condition.
void ListSearch::purify_some(const Node& node, const std::vector<NodeLabel>& labels,
                             const std::vector<std::uint32_t>& conditions, std::vector<Count>& totals) const {
  Bits rows[2] = {node.cover, node.cover};
  for (const NodeLabel& label : labels) {
    for (int v = 0; v < 2; ++v)
      for (std::size_t w = 0; w < node.cover.words(); ++w)
        rows[v].data()[w] = node.cover.data()[w] & part_rows(state_, label.label, v ? Part::present : Part::absent, w);
    for (const std::uint32_t k : conditions) {
      const Count counts[2] = {members_.count_among(k, rows[0].data()), members_.count_among(k, rows[1].data())};
      for (int v = 0; v < 2; ++v)
        if (label.allowed[v] && counts[1 - v] == 0) totals[k] += counts[v];
    }
  }
}

// The same label by label.
template <class Counter>
void ListSearch::purify_all(const Watch& watch, const Node& node, const std::vector<NodeLabel>& labels,
                            Store<Counter>& store, std::vector<Count>& all_totals) {
  struct Worker {
    NodeCounts<Counter> counts;
    LineArray<Counter> present, absent;
    std::vector<Count> totals;  // by condition
  };
  const std::size_t size = members_.counters(), vectors = members_.vectors();
  LabelCounts<Counter>* const kept = kept_counts(store);
  const std::size_t work = labels.size() * (size + node.rows.size() * vectors / 8);
  const int threads = work < limits_.threaded_work ? 1 : threads_;
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads_));
  over_all(watch, labels.size(), threads, 1, [&](int w, std::size_t i) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker) {
      worker.reset(new Worker{{node, state_, members_, store.sizes.all(), kept}, {}, {}, std::vector<Count>(size, 0)});
      for (LineArray<Counter>* room : {&worker->present, &worker->absent}) room->resize(size);
    }
    auto& [counts, present_room, absent_room, totals] = *worker;
    const NodeLabel& label = labels[i];
    const Counter* const present = counts.count(label, Part::present, vectors, present_room);
    const Counter* const absent = counts.count(label, Part::absent, vectors, absent_room, present);
    add_pure(present, absent, size, label.allowed[1], label.allowed[0], totals.data());
  });
  for (const auto& worker : workers)
    for (std::size_t k = 0; worker && k < size; ++k) all_totals[k] += worker->totals[k];
}

template <class Counter, class Lane>
void ListSearch::search_as(const Query& query, Store<Counter>& store, Shortlist& best) {
  const auto& [watch, node, form] = query;
  auto& [sizes, counts, rooms] = store;
  using Search = LiteralSearch<Counter, Lane>;
  sizes.follow(members_, node, min_coverage_);
  const double capacity = sizeof(Lane) == 4 ? limits_.lane_capacity : kWideCapacity;
  rooms.resize(static_cast<std::size_t>(threads_));
  LabelCounts<Counter>* const kept = kept_counts(store);
  const auto start = [&](std::size_t worker) {
    if (!rooms[worker]) rooms[worker] = std::make_shared<ListRoom<Counter>>(members_);
    return std::make_unique<Search>(node, state_, members_, form, sizes, kept, *rooms[worker], capacity, best.size(),
                                    best.level());
  };
  const std::vector<NodeLabel> ranked = bounds_.ranked(node.labels, Target(form, best.level()), node.leading);
  if (ranked.empty()) return;
  const auto look = [&](Search& search, NodeLabel label) {
    if (!bounds_.narrow(label, search.target())) return;
    search.look(label,
                [&](int v, double reach, const Fraction& level) { bounds_.note(label, v, reach, as_double(level)); });
  };
  std::vector<std::unique_ptr<Search>> searches(static_cast<std::size_t>(threads_));
  searches[0] = start(0);
  look(*searches[0], ranked[0]);
  std::vector<NodeLabel> rest;
  double work = 0;
  for (std::size_t i = 1; i < ranked.size(); ++i)
    if (NodeLabel label = ranked[i]; bounds_.narrow(label, searches[0]->target())) {
      rest.push_back(label);
      work += double(label.kinds[kPresent]) * double(members_.vectors()) + double(members_.counters()) / 8;
    }
  const int threads = work < double(limits_.threaded_work) ? 1 : threads_;
  std::mutex guard;
  Fraction shared = searches[0]->level();
  over_all(watch, rest.size(), threads, 1, [&](int worker, std::size_t i) {
    auto& search = searches[static_cast<std::size_t>(worker)];
    if (!search) search = start(static_cast<std::size_t>(worker));
    if (threads > 1) {
      const std::lock_guard lock(guard);
      search->raise(shared);
    }
    look(*search, rest[i]);
    if (threads > 1) {
      const std::lock_guard lock(guard);
      if (compare(search->level(), shared) > 0) shared = search->level();
    }
  });
  for (std::size_t i = 1; i < searches.size(); ++i)
    if (searches[i]) searches[0]->join(*searches[i]);
  searches[0]->offer_all(best);
}

}  // namespace polyrule
