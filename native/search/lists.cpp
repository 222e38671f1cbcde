#include "search/lists.hpp"

#include <atomic>
#include <mutex>

namespace polyrule {

namespace {

constexpr std::size_t kVector = 256;  // conditions that are counted together

// What bounds G of one literal, in lanes: weights of the counts, and the counts of the node.
template <class Lane>
struct LiteralWeights {
  Lane empty, present, present_set, absent_set, absent;  // `absent`: what an unset row adds to a set one
  Lane all_absent, all_absent_set;
};

template <class Lane>
constexpr Lane kNever = std::numeric_limits<Lane>::lowest() / 4;

// Lists the conditions whose bound is not negative in `found` (room for `counters` numbers) and returns how many; `below`
// gets the largest bound of the others. Conditions of size 0 do not count. `absent` may be null; then G is only bounded.
template <class Counter, class Lane>
inline __attribute__((always_inline)) std::size_t bound_all(const LiteralWeights<Lane>& weights, const Counter* sizes,
                                                            const Counter* present, const Counter* present_set,
                                                            const Counter* absent, std::size_t counters,
                                                            std::uint32_t* found, Lane& below) {
  constexpr std::size_t kBlock = 32;
  const bool unset_helps = weights.absent > 0;
  std::size_t count = 0;
  Lane highest[kBlock];
  for (Lane& one : highest) one = kNever<Lane>;
  for (std::size_t k = 0; k < counters; k += kBlock) {
    Lane bounds[kBlock];
    int any = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const Lane size = static_cast<Lane>(sizes[k + i]), with = static_cast<Lane>(present[k + i]);
      const Lane with_set = static_cast<Lane>(present_set[k + i]), others = size - with - with_set;
      const Lane low = std::max<Lane>(0, others - weights.all_absent_set), high = std::min(others, weights.all_absent);
      const Lane unset = absent ? static_cast<Lane>(absent[k + i]) : unset_helps ? high : low;
      const Lane bound = weights.empty + weights.present * with + weights.present_set * with_set +
                         weights.absent_set * others + weights.absent * unset;
      bounds[i] = size > 0 ? bound : kNever<Lane>;
      const bool reaches = bounds[i] >= 0;
      any |= reaches;
      highest[i] = std::max(highest[i], reaches ? kNever<Lane> : bounds[i]);
    }
    if (!any) continue;
    for (std::size_t i = 0; i < kBlock; ++i)
      if (bounds[i] >= 0) found[count++] = static_cast<std::uint32_t>(k + i);
  }
  for (const Lane one : highest) below = std::max(below, one);
  return count;
}

POLYRULE_VECTOR_CLONES
std::size_t bound_conditions(const LiteralWeights<std::int32_t>& weights, const std::uint16_t* sizes,
                             const std::uint16_t* present, const std::uint16_t* present_set, const std::uint16_t* absent,
                             std::size_t counters, std::uint32_t* found, std::int32_t& below) {
  return bound_all(weights, sizes, present, present_set, absent, counters, found, below);
}

POLYRULE_VECTOR_CLONES
std::size_t bound_conditions(const LiteralWeights<std::int32_t>& weights, const std::uint32_t* sizes,
                             const std::uint32_t* present, const std::uint32_t* present_set, const std::uint32_t* absent,
                             std::size_t counters, std::uint32_t* found, std::int32_t& below) {
  return bound_all(weights, sizes, present, present_set, absent, counters, found, below);
}

POLYRULE_VECTOR_CLONES
std::size_t bound_conditions(const LiteralWeights<std::int64_t>& weights, const std::uint32_t* sizes,
                             const std::uint32_t* present, const std::uint32_t* present_set, const std::uint32_t* absent,
                             std::size_t counters, std::uint32_t* found, std::int64_t& below) {
  return bound_all(weights, sizes, present, present_set, absent, counters, found, below);
}

// The best conditions of the labels shown so far.
template <class Counter, class Lane>
class LiteralSearch {
 public:
  LiteralSearch(const Node& node, const State& state, const Members& members, const Form& form, const Counter* sizes,
                double capacity, std::size_t wanted, const Fraction& level)
      : node_(node), state_(state), members_(members), form_(form), sizes_(sizes), capacity_(capacity), wanted_(wanted),
        target_(form, level), lane_gains_(form, level), held_(members.size()), absent_(node.cover.words()) {
    for (LineArray<Counter>* counts : {&present_, &present_set_, &unset_}) counts->resize(members_.counters());
    none_.assign(members_.counters(), 0);
    found_.resize(members_.counters());
    for (std::size_t k = 0; k < members_.counters(); k += kVector)
      largest_.push_back(*std::max_element(sizes + k, sizes + k + kVector));
    set_level(level);
  }

  const Fraction& level() const { return level_; }
  const Target& target() const { return target_; }
  void raise(const Fraction& level) {
    if (compare(level, level_) > 0) set_level(level);
  }

  // All conditions for the literals of a label. note(value, reach, level): what no condition exceeds (prospects.hpp).
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
      const Held& more = other.held_[k];
      if (more.tp > 0) hold(k, more.value, more.tp, more.label);
    }
    rise();
  }

  void offer_all(Shortlist& best) const {
    for (const std::uint32_t k : numbers_)
      if (held_[k].tp > 0 && best.admits(held_[k].value, held_[k].tp))
        best.offer({held_[k].value, held_[k].tp, members_[k]});
  }

 private:
  // The best value of a condition so far, and the true positives of all labels that reach it.
  struct Held {
    Fraction value;
    Count tp = 0, label_tp = 0;
    std::uint32_t label = 0;  // the last of them
  };

  void set_level(const Fraction& level) {
    level_ = level;
    target_ = Target(form_, level);
    const LaneLevel lanes(form_, double(node_.weight), state_, level, capacity_);
    scale_ = double(lanes.value.den);
    lane_gains_ = Gains(form_, lanes.value);
    std::erase_if(numbers_, [&](std::uint32_t k) {
      const bool out = compare(held_[k].value, level) < 0;
      if (out) held_[k].tp = 0;
      return out;
    });
  }

  // The level is the value of the last condition wanted.
  void rise() {
    if (numbers_.size() < wanted_) return;
    std::vector<Fraction> values;
    for (const std::uint32_t k : numbers_) values.push_back(held_[k].value);
    std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(wanted_ - 1), values.end(),
                     [](const Fraction& a, const Fraction& b) { return compare(a, b) > 0; });
    const Fraction& last = values[wanted_ - 1];
    if (compare(last, level_) > 0) set_level(make_fraction(last.num, last.den));
  }

  void hold(std::uint32_t k, const Fraction& value, Count tp, std::uint32_t label) {
    Held& held = held_[k];
    const int order = held.tp == 0 ? 1 : compare(value, held.value);
    if (order < 0) return;
    if (held.tp == 0) numbers_.push_back(k);
    if (order > 0) {
      held = {value, tp, tp, label};
    } else if (held.label == label) {  // of a label's two literals, the one with more true positives counts
      held.tp += std::max<Count>(0, tp - held.label_tp);
      held.label_tp = std::max(held.label_tp, tp);
    } else {
      held = {held.value, held.tp + tp, tp, label};
    }
  }

  bool needs_set(int v) const { return target_.gains.slope[v][kPresentSet] != target_.gains.slope[v][kAbsentSet]; }

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
    const Word *truth = state_.truth[label.label], *set = state_.set[label.label];
    has_set_ = label.kinds[kPresentSet] > 0 && (needs_set(0) || needs_set(1));
    has_absent_ = false;
    unset_at_ = nullptr;
    present_set_at_ = none_.get();
    count_part([&](std::size_t w) { return truth[w] & ~set[w]; }, present_);
    if (has_set_) {
      count_part([&](std::size_t w) { return truth[w] & set[w]; }, present_set_);
      present_set_at_ = present_set_.get();
    }
  }

  template <class Part>
  void count_part(Part&& part, LineArray<Counter>& counts) {
    rows_.clear();
    for (std::size_t w = 0; w < node_.cover.words(); ++w)
      for_each_bit(node_.cover.data()[w] & part(w), w * 64,
                   [&](std::size_t i) { rows_.push_back(static_cast<Row>(i)); });
    members_.count(rows_, vectors_, counts.get());
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
    // Rows where the label is unknown, and present ones that are set where they are not told apart, count like absent ones
    // that are set.
    weights.all_absent_set = lane(node_.weight - label.kinds[kAbsent] - label.kinds[kPresent] -
                                  (has_set_ ? label.kinds[kPresentSet] : 0));
    Lane below = kNever<Lane>;
    const std::size_t count = bound_conditions(weights, sizes_, present_.get(), present_set_at_, unset_at_,
                                               vectors_ * kVector, found_.get(), below);
    double reach = double(below) / scale_;
    if (count > 0) prepare_unset(label, count);
    if (count > 0 && vague) {
      const Word *truth = state_.truth[label.label], *set = state_.set[label.label];
      absent_set_.resize(absent_.size());
      for (std::size_t w = 0; w < absent_set_.size(); ++w)
        absent_set_[w] = node_.cover.data()[w] & ~truth[w] & set[w] & state_.known_word(label.label, w);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t k = found_[i];
      KindCounts kinds;
      kinds[kPresent] = present_[k];
      kinds[kPresentSet] = present_set_at_[k];
      const Count others = Count(sizes_[k]) - kinds[kPresent] - kinds[kPresentSet];
      const Count least = std::max<Count>(0, others - Count(weights.all_absent_set));
      const Count most = std::min<Count>(others, label.kinds[kAbsent]);
      kinds[kAbsent] = least == most ? least : unset_at_ ? Count(unset_at_[k]) : members_.count_among(k, absent_.data());
      kinds[kAbsentSet] = vague ? members_.count_among(k, absent_set_.data()) : others - kinds[kAbsent];
      const Wide gain = lane_gains_.sum(label, kinds, v);
      reach = std::max(reach, double(gain) / scale_);
      if (gain < 0 || kinds[v] <= 0) continue;
      const Fraction value = literal_value(form_, literal_counts(label, kinds, v));
      if (compare(value, level_) >= 0) hold(k, value, kinds[v], label.label);
    }
    return reach;
  }

  // Makes ready to count the unset absent rows of `count` conditions, all at once if that is cheaper.
  void prepare_unset(const NodeLabel& label, std::size_t count) {
    if (unset_at_) return;
    const Word *truth = state_.truth[label.label], *set = state_.set[label.label];
    if (!has_absent_)
      for (std::size_t w = 0; w < absent_.size(); ++w)
        absent_[w] = node_.cover.data()[w] & ~truth[w] & ~set[w] & state_.known_word(label.label, w);
    has_absent_ = true;
    const auto rows = static_cast<std::size_t>(label.kinds[kAbsent]);
    if (4 * rows * vectors_ > count * absent_.size()) return;
    rows_.clear();
    for (std::size_t w = 0; w < absent_.size(); ++w)
      for_each_bit(absent_[w], w * 64, [&](std::size_t i) { rows_.push_back(static_cast<Row>(i)); });
    members_.count(rows_, vectors_, unset_.get());
    unset_at_ = unset_.get();
  }

  const Node& node_;
  const State& state_;
  const Members& members_;
  const Form& form_;
  const Counter* sizes_;
  const double capacity_;
  const std::size_t wanted_;
  Fraction level_;
  Target target_;
  Gains lane_gains_;
  double scale_ = 1;
  std::vector<Held> held_;              // by condition
  std::vector<std::uint32_t> numbers_;  // of those that are held
  std::vector<Row> rows_;
  LineArray<Counter> present_, present_set_, unset_, none_;
  std::vector<Counter> largest_;  // size of a condition, by vector of conditions
  std::size_t vectors_ = 0;       // that the label under search needs
  bool has_set_ = false, has_absent_ = false;
  // Counts of the label under search; `unset_at_` is null if the unset absent rows are not counted yet.
  const Counter *present_set_at_ = nullptr, *unset_at_ = nullptr;
  LineArray<std::uint32_t> found_;
  std::vector<Word> absent_;  // the covered rows that are absent and unset
  std::vector<Word> absent_set_;
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

ListSearch::ListSearch(const Members& members, const State& state, const Limits& limits, double min_coverage,
                       int threads)
    : members_(members), state_(state), limits_(limits), min_coverage_(min_coverage), threads_(threads),
      root_(state.labels), path_(state.labels), label_version_(state.labels, 0) {}

// What is known of a literal at the empty body stays true while its label and the working set do; only conditions on labels
// that have been set on more rows must be looked at again.
void ListSearch::begin_rule(const Form& form, bool label_conditions) {
  std::vector<std::size_t> changed;
  for (std::size_t l = 0; l < state_.labels; ++l)
    if (label_version_[l] != state_.label_version[l]) changed.push_back(l);
  const bool stale = working_version_ != state_.working_version || num_ != form.num || den_ != form.den ||
                     // looking at so many label conditions would cost more than the search that prospects may save
                     (label_conditions && changed.size() * 16 > state_.labels + 64);
  if (stale) root_.forget();
  for (const std::size_t l : changed) root_.forget(l);
  if (!stale && label_conditions)
    for (const std::size_t l : changed)
      for (int value = 0; value < 2; ++value) {
        Bits cover = state_.working;
        for (std::size_t w = 0; w < cover.words(); ++w) cover.data()[w] &= label_rows(state_, l, value != 0, w);
        const Count weight = state_.weigh(cover.data());
        for (std::size_t t = 0; t < state_.labels; ++t) {
          if (!root_.at(t, 0).known() && !root_.at(t, 1).known()) continue;
          NodeLabel label;
          label.present = state_.present[t];
          label.absent = state_.absent[t];
          const KindCounts kinds = state_.count_kinds(t, cover, weight);
          for (int v = 0; v < 2; ++v) {
            Prospect& prospect = root_.at(t, v);
            if (!prospect.known()) continue;
            const Counts c = literal_counts(label, kinds, v);
            const double gain = double(linear<Wide>(form.num, c)) - prospect.value * double(linear<Wide>(form.den, c));
            prospect.reach = std::max(prospect.reach, gain + 1e-6 + 1e-9 * std::abs(gain));
          }
        }
      }
  num_ = form.num;
  den_ = form.den;
  working_version_ = state_.working_version;
  label_version_ = state_.label_version;
  path_ = root_;
}

void ListSearch::search(const Watch& watch, const Node& node, const std::vector<NodeLabel>& labels, const Form& form,
                        bool keeps, Shortlist& best) {
  const bool is_short = state_.unit && state_.rows <= UINT16_MAX;
  if (LaneLevel::fits(form, state_, limits_.lane_capacity / 16))
    is_short ? search_as<std::uint16_t, std::int32_t>(watch, node, labels, form, short_sizes_, best)
             : search_as<std::uint32_t, std::int32_t>(watch, node, labels, form, long_sizes_, best);
  else
    search_as<std::uint32_t, std::int64_t>(watch, node, labels, form, long_sizes_, best);
  if (keeps) root_ = path_;
}

template <class Counter, class Lane>
void ListSearch::search_as(const Watch& watch, const Node& node, const std::vector<NodeLabel>& labels, const Form& form,
                           Sizes<Counter>& sizes, Shortlist& best) {
  using Search = LiteralSearch<Counter, Lane>;
  sizes.follow(members_, node, static_cast<Count>(std::ceil(min_coverage_)));
  const double capacity = sizeof(Lane) == 4 ? limits_.lane_capacity : 2e18;
  const auto start = [&] {
    return std::make_unique<Search>(node, state_, members_, form, sizes.get(), capacity, best.size(), best.level());
  };
  const std::vector<NodeLabel> ranked = path_.ranked(labels, Target(form, best.level()));
  if (ranked.empty()) return;
  const auto look = [&](Search& search, NodeLabel label) {
    if (!path_.narrow(label, search.target())) return;
    search.look(label, [&](int v, double reach, const Fraction& level) {
      path_.note(label, v, reach, as_double(level));
    });
  };
  std::vector<std::unique_ptr<Search>> searches(static_cast<std::size_t>(threads_));
  searches[0] = start();
  look(*searches[0], ranked[0]);
  std::vector<NodeLabel> rest;
  double work = 0;
  for (std::size_t i = 1; i < ranked.size(); ++i)
    if (NodeLabel label = ranked[i]; path_.narrow(label, searches[0]->target())) {
      rest.push_back(label);
      work += double(label.kinds[kPresent]) * double(members_.vectors()) + double(members_.counters()) / 8;
    }
  const int threads = work < double(limits_.threaded_work) ? 1 : threads_;
  std::mutex guard;
  Fraction shared = searches[0]->level();
  over_all(watch, rest.size(), threads, 1, [&](int worker, std::size_t i) {
    auto& search = searches[static_cast<std::size_t>(worker)];
    if (!search) search = start();
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
