#include "search/lists.hpp"

#include <mutex>

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

// The best conditions of the labels shown so far.
template <class Counter, class Lane>
class LiteralSearch {
 public:
  LiteralSearch(const Node& node, const State& state, const Members& members, const Form& form, const Counter* sizes,
                LabelCounts<Counter>* kept, ListRoom<Counter>& room, double capacity, std::size_t wanted,
                const Fraction& level)
      : node_(node), state_(state), members_(members), form_(form), sizes_(sizes), kept_(kept != nullptr),
        counts_(node, state, members, kept), room_(room), capacity_(capacity), wanted_(wanted), target_(form, level),
        lane_gains_(form, level), held_(room.held) {
    room.absent.resize(node.cover.words());
    for (std::size_t k = 0; k < members_.counters(); k += kVector)
      largest_.push_back(*std::max_element(sizes + k, sizes + k + kVector));
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
LabelCounts<Counter>* ListSearch::kept(Store<Counter>& store) const {
  return state_.rows >= limits_.kept_rows && store.counts.fits() ? &store.counts : nullptr;
}

void ListSearch::offer_pure(const Watch& watch, const Node& node, Shortlist& best) {
  if (members_.size() == 0) return;
  is_short() ? offer_pure(watch, node, short_, best) : offer_pure(watch, node, long_, best);
}

template <class Counter>
void ListSearch::offer_pure(const Watch& watch, const Node& node, Store<Counter>& store, Shortlist& best) {
  struct Worker {
    NodeCounts<Counter> counts;
    LineArray<Counter> present, absent;
    std::vector<Count> totals;  // by condition
  };
  store.sizes.follow(members_, node, min_coverage_);
  const std::size_t size = members_.counters(), vectors = members_.vectors();
  const std::size_t work = node.labels.size() * (size + node.rows.size() * vectors / 8);
  const int threads = work < limits_.threaded_work ? 1 : threads_;
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads_));
  over_all(watch, node.labels.size(), threads, 1, [&](int w, std::size_t i) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker) {
      worker.reset(new Worker{{node, state_, members_, kept(store)}, {}, {}, std::vector<Count>(size, 0)});
      for (LineArray<Counter>* room : {&worker->present, &worker->absent}) room->resize(size);
    }
    auto& [counts, present_room, absent_room, totals] = *worker;
    const NodeLabel& label = node.labels[i];
    const Counter* const present = counts.count(label, Part::present, vectors, present_room);
    const Counter* absent = absent_room.get();
    const std::size_t unset = counts.rows(label, Part::present) + counts.rows(label, Part::absent);
    if (node.rows.size() - unset < counts.whole_work(label, Part::absent)) {  // the rest is quicker to count
      const auto rest = [&](std::size_t word) {
        return node.cover.data()[word] & (state_.set[label.label][word] | ~state_.known_word(label.label, word));
      };
      counts.count_some(rest, vectors, absent_room);
      for (std::size_t k = 0; k < size; ++k)
        absent_room[k] = static_cast<Counter>(store.sizes.all()[k] - present[k] - absent_room[k]);
    } else {
      absent = counts.count(label, Part::absent, vectors, absent_room);
    }
    add_pure(present, absent, size, label.allowed[1], label.allowed[0], totals.data());
  });
  for (std::size_t k = 0; k < members_.size(); ++k) {
    Count total = 0;
    for (const auto& worker : workers) total += worker ? worker->totals[k] : 0;
    if (store.sizes.get()[k] > 0 && total >= best.least_tp()) best.offer({{1, 1}, total, members_[k]});
  }
}

template <class Counter, class Lane>
void ListSearch::search_as(const Query& query, Store<Counter>& store, Shortlist& best) {
  const auto& [watch, node, form, whole] = query;
  auto& [sizes, counts, rooms] = store;
  using Search = LiteralSearch<Counter, Lane>;
  sizes.follow(members_, node, min_coverage_);
  const double capacity = sizeof(Lane) == 4 ? limits_.lane_capacity : kWideCapacity;
  rooms.resize(static_cast<std::size_t>(threads_));
  const auto start = [&](std::size_t worker) {
    if (!rooms[worker]) rooms[worker] = std::make_shared<ListRoom<Counter>>(members_);
    return std::make_unique<Search>(node, state_, members_, form, sizes.get(), kept(store), *rooms[worker], capacity,
                                    best.size(), best.level());
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
