#include "search/lists.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <span>

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
  std::vector<Word> parts[3];

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
template <class Counter>
class LiteralSearch {
 public:
  LiteralSearch(const Node& node, const State& state, const Members& members, const Form& form,
                const Sizes<Counter>& sizes, LabelCounts<Counter>* kept, bool in_classes, ListRoom<Counter>& room,
                double capacity, Count min_coverage, std::size_t wanted, const Fraction& level)
      : node_(node), state_(state), members_(members), form_(form), sizes_(sizes.get()), kept_(kept != nullptr),
        rough_(in_classes && !members.classes().exact()), least_(rough_ ? members.classes().least : 1),
        most_(rough_ ? members.classes().most : 1), counts_(node, state, members, sizes.all(), kept, in_classes),
        room_(room), capacity_(capacity), min_coverage_(min_coverage), wanted_(wanted), target_(form, level),
        gains_(form, level), held_(room.held) {
    room.absent.resize(node.cover.words());
    for (std::size_t k = 0; k < members_.counters(); k += kVector)
      largest_.push_back(
          static_cast<Count>(std::ceil(double(*std::max_element(sizes_ + k, sizes_ + k + kVector)) * most_)));
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
      if (label.allowed[v]) {
        const double reach = vectors_ > 0 ? look_at(label, v) : beyond[v];
        note(v, std::max(beyond[v], reach), vectors_ > 0 ? level_ : level);
      }
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
    gains_ = Gains(form_, level);
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
    beyond = -std::numeric_limits<double>::infinity();
    for (std::size_t g = largest_.size(); g > least; --g) {
      Wide bound = gains_.empty_sum(label);
      for (int k = 0; k < kKinds; ++k)
        if (gains_.slope[v][k] > 0) bound += gains_.slope[v][k] * std::min(label.kinds[k], largest_[g - 1]);
      if (bound >= 0 && largest_[g - 1] > 0) return g;
      beyond = std::max(beyond, double(bound) / double(level_.den));
    }
    return least;
  }

  void count_positives(const NodeLabel& label) {
    has_set_ = label.kinds[kPresentSet] > 0 && needs_set();
    has_absent_ = false;
    unset_at_ = nullptr;
    if (rough_) list_parts(label);
    present_at_ = counts_.count(label, Part::present, vectors_, room_.present);
    present_set_at_ =
        has_set_ ? counts_.count(label, Part::present_set, vectors_, room_.present_set) : room_.none.get();
    // Where the unset absent rows are counted at little cost, there is no need for bounds, and what the literal reaches
    // is known exactly.
    if (kept_ && counts_.work(label, Part::absent) * vectors_ <= kWorthCounting)
      unset_at_ = counts_.count(label, Part::absent, vectors_, room_.unset);
  }

  // Returns the literal's reach at the level, which may rise before.
  double look_at(const NodeLabel& label, int v) {
    for (bool tried = false;;) {
      double scale = 1;
      const LiteralLanes lanes = lanes_of(label, v, scale);
      ListLane below = kNever;
      const std::size_t count = bound_conditions(lanes, sizes_, present_at_, present_set_at_, unset_at_,
                                                 vectors_ * kVector, room_.found.get(), below);
      double reach = double(below) / scale;
      if (count == 0) return reach;
      if (prepare_unset(label, count) && rough_) continue;
      const std::span<const std::uint32_t> found(room_.found.get(), count);
      if (rough_ && wanted_ == 1 && !tried && count > 2) {
        // What the most promising one is worth rules out most others.
        tried = true;
        const auto most = std::max_element(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
          return rough_gain(lanes, a) < rough_gain(lanes, b);
        });
        if (const auto kinds = kinds_of(label, *most); kinds && (*kinds)[v] > 0) {
          const Fraction value = literal_value(form_, literal_counts(label, *kinds, v));
          if (compare(value, level_) > 0) {
            set_level(make_fraction(value.num, value.den));
            continue;
          }
        }
      }
      for (const std::uint32_t k : found) {
        const auto kinds = kinds_of(label, k);
        if (!kinds) continue;
        const Wide gain = gains_.sum(label, *kinds, v);
        reach = std::max(reach, double(gain) / double(level_.den));
        if (gain < 0 || (*kinds)[v] <= 0) continue;
        const Fraction value = literal_value(form_, literal_counts(label, *kinds, v));
        better_ = better_ || compare(value, level_) > 0;
        hold(k, value, (*kinds)[v], label.label);
      }
      return reach;
    }
  }

  // What counts add to G, at most; `scale` is what G is multiplied with. Where sums do not fit into lanes, bounds are
  // rounded up.
  LiteralLanes lanes_of(const NodeLabel& label, int v, double& scale) const {
    // Rows where the label is unknown, and present ones that are set where they are not told apart, count like absent
    // ones that are set.
    const Count rest =
        node_.weight - label.kinds[kAbsent] - label.kinds[kPresent] - (has_set_ ? label.kinds[kPresentSet] : 0);
    double up[kKinds], down[kKinds], largest = 0;
    for (int k = 0; k < kKinds; ++k) {
      const double slope = double(gains_.slope[v][k]);
      up[k] = slope * (slope > 0 ? most_ : least_);
      down[k] = slope * (slope > 0 ? least_ : most_);
      if (k == kAbsentSet && is_vague()) up[k] = std::max(0.0, up[k]), down[k] = std::min(0.0, down[k]);
      largest += (k == kAbsentSet ? 2 : 1) * std::max(std::abs(up[k]), std::abs(down[k]));
    }
    const double empty = double(gains_.empty_sum(label)), whole = double(gains_.sum(label, label.kinds, v));
    largest = std::abs(empty) + std::abs(whole) + largest * (double(node_.weight) / least_ + 1);
    const double by = largest < capacity_ ? 1 : 0.9 * capacity_ / largest;
    const auto above = [&](double x) { return static_cast<ListLane>(std::ceil(x * by)) + (by < 1); };
    const auto fill = [&](LiteralWeights& out, const auto& lane) {
      out.present = lane(kPresent);
      out.present_set = lane(kPresentSet);
      out.absent_set = lane(kAbsentSet);
      out.absent = lane(kAbsent) - out.absent_set;
    };
    const auto most = [&](Count weight) { return static_cast<ListLane>(double(weight) / least_ + 1e-6); };
    LiteralLanes lanes{{}, {}, most(label.kinds[kAbsent]), most(rest), false};
    fill(lanes.covered, [&](int k) { return static_cast<ListLane>(std::ceil(up[k] * by)); });
    lanes.covered.empty = above(empty);
    if (rough_) {
      LiteralWeights& out = lanes.left_out;
      fill(out, [&](int k) { return static_cast<ListLane>(std::floor(down[k] * by)); });
      out.empty =
          above(whole) -
          static_cast<ListLane>(Count(out.present) * counted_[0] + Count(out.present_set) * counted_[1] +
                                Count(out.absent_set) * (counted_[2] + counted_[3]) + Count(out.absent) * counted_[2]);
      lanes.both = unset_at_ || (out.absent > 0) == (lanes.covered.absent > 0);
    }
    scale = double(level_.den) * by;
    return lanes;
  }

  Count rough_gain(const LiteralLanes& lanes, std::uint32_t k) const {
    const Count others = Count(sizes_[k]) - Count(present_at_[k]) - Count(present_set_at_[k]);
    const Count unset = unset_at_ ? Count(unset_at_[k]) : std::min<Count>(others, lanes.all_absent);
    const auto sum = [&](const LiteralWeights& w) {
      return w.empty + Count(w.present) * Count(present_at_[k]) + Count(w.present_set) * Count(present_set_at_[k]) +
             Count(w.absent_set) * others + Count(w.absent) * unset;
    };
    return lanes.both ? std::min(sum(lanes.covered), sum(lanes.left_out)) : sum(lanes.covered);
  }

  // Where it matters, rows of an unknown label are told from those that lack it only after the look at all conditions.
  bool is_vague() const { return state_.has_unknown && (form_.num[3] != 0 || form_.den[3] != 0); }

  // What a condition covers of a label, exactly; none if it covers too little. To be called after prepare_unset.
  std::optional<KindCounts> kinds_of(const NodeLabel& label, std::uint32_t k) {
    KindCounts kinds;
    const Count rest =
        node_.weight - label.kinds[kAbsent] - label.kinds[kPresent] - (has_set_ ? label.kinds[kPresentSet] : 0);
    Count others;
    if (rough_) {
      kinds[kPresent] = weigh(k, room_.parts[0], label.kinds[kPresent]);
      kinds[kPresentSet] = has_set_ ? weigh(k, room_.parts[1], label.kinds[kPresentSet]) : 0;
      kinds[kAbsent] = weigh(k, room_.absent, label.kinds[kAbsent]);
      others = kinds[kAbsent] + (rest > 0 ? weigh(k, room_.parts[2], rest) : 0);
      if (others + kinds[kPresent] + kinds[kPresentSet] < min_coverage_) return {};
    } else {
      kinds[kPresent] = present_at_[k];
      kinds[kPresentSet] = present_set_at_[k];
      others = Count(sizes_[k]) - kinds[kPresent] - kinds[kPresentSet];
      const Count least = std::max<Count>(0, others - rest), most = std::min<Count>(others, label.kinds[kAbsent]);
      kinds[kAbsent] = least == most ? least
                       : unset_at_   ? Count(unset_at_[k])
                                     : members_.count_among(k, room_.absent.data());
    }
    kinds[kAbsentSet] = is_vague() ? members_.count_among(k, room_.absent_set.data()) : others - kinds[kAbsent];
    return kinds;
  }

  // The weight of a condition's rows among some that weigh `all`: of these, or of the others, whichever are fewer.
  Count weigh(std::uint32_t k, const std::vector<Word>& among, Count all) const {
    if (members_.is_label(k) || !members_.all_in_records()) return members_.count_among(k, among.data());
    const Word* const rows = members_.bits_of(k);
    const Count inside = count_common(among.data(), rows, among.size()), whole = count_bits(among.data(), among.size());
    if (2 * inside <= whole) return state_.weigh_common(among.data(), rows);
    return all - state_.weigh_common(among.data(), among.data(), rows, true);
  }

  // The rows of a label's parts in the node. `parts`: present and unset, present and set if they are told apart, all
  // but these and the absent ones that are unset.
  void list_parts(const NodeLabel& label) {
    const std::size_t words = room_.absent.size();
    const Word *truth = state_.truth[label.label], *set = state_.set[label.label], *cover = node_.cover.data();
    for (std::size_t w = 0; w < words; ++w)
      room_.absent[w] = cover[w] & part_rows(state_, label.label, Part::absent, w);
    room_.absent_set.resize(is_vague() ? words : 0);
    for (std::size_t w = 0; w < room_.absent_set.size(); ++w)
      room_.absent_set[w] = cover[w] & ~truth[w] & set[w] & state_.known_word(label.label, w);
    has_absent_ = true;
    if (!rough_) return;
    for (std::vector<Word>& rows : room_.parts) rows.resize(words);
    for (std::size_t w = 0; w < words; ++w) {
      room_.parts[0][w] = cover[w] & truth[w] & ~set[w];
      room_.parts[1][w] = has_set_ ? cover[w] & truth[w] & set[w] : 0;
      room_.parts[2][w] = cover[w] & ~room_.parts[0][w] & ~room_.parts[1][w] & ~room_.absent[w];
    }
    const WeightClasses& classes = members_.classes();
    counted_[0] = classes.weigh(room_.parts[0].data());
    counted_[1] = has_set_ ? classes.weigh(room_.parts[1].data()) : 0;
    counted_[2] = classes.weigh(room_.absent.data());
    counted_[3] = classes.weigh(room_.parts[2].data());
  }

  // Makes ready to find the kinds of `count` conditions. Whether the unset absent rows of all conditions have been
  // counted, because that is cheaper.
  bool prepare_unset(const NodeLabel& label, std::size_t count) {
    if (!has_absent_) list_parts(label);
    const std::size_t work = count * room_.absent.size() * (rough_ ? 8 : 1);
    if (unset_at_ || 4 * counts_.rows(label, Part::absent) * vectors_ > work) return false;
    counts_.count_some([&](std::size_t w) { return room_.absent[w]; }, vectors_, room_.unset);
    unset_at_ = room_.unset.get();
    return true;
  }

  const Node& node_;
  const State& state_;
  const Members& members_;
  const Form& form_;
  const Counter* sizes_;
  const bool kept_;            // whether counts of the empty body are
  const bool rough_;           // whether counts are those of classes: what passes is weighed
  const double least_, most_;  // what a count stands for
  NodeCounts<Counter> counts_;
  ListRoom<Counter>& room_;
  const double capacity_;
  const Count min_coverage_;
  const std::size_t wanted_;
  Fraction level_;
  Target target_;
  Gains gains_;
  std::vector<BestLiterals>& held_;
  std::vector<std::uint32_t> numbers_;  // of those that are held
  std::vector<Count> largest_;          // weight of a condition at most, by vector of conditions
  std::size_t vectors_ = 0;             // that the label under search needs
  bool has_set_ = false, has_absent_ = false, better_ = false;
  Count counted_[4] = {};  // of the label's parts in the node, where counts are those of classes
  // Counts of the label under search; `unset_at_` is null if the unset absent rows are not counted yet.
  const Counter *present_at_ = nullptr, *present_set_at_ = nullptr, *unset_at_ = nullptr;
};

}  // namespace

template <class Counter>
void Sizes<Counter>::follow(const Members& members, const Node& node, Count least, bool in_classes) {
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
  members.count(fewer ? left : node.rows, members.vectors(), counts.get(), in_classes);
  const Count whole = in_classes ? members.classes().weigh(node.cover.data()) : node.weight;
  const double each = in_classes ? members.classes().most : 1;
  all_.resize(size);
  usable_.resize(size);
  for (std::size_t k = 0; k < size; ++k) {
    all_[k] = static_cast<Counter>(fewer ? all_[k] - counts[k] : counts[k]);
    usable_[k] = Count(all_[k]) == whole || double(all_[k]) * each < double(least) ? Counter(0) : all_[k];
  }
  path_id_ = node.path_id;
  cover_ = node.cover;
}

ListSearch::ListSearch(const Members& members, const State& state, const Limits& limits, Count min_coverage,
                       int threads)
    : members_(members), state_(state), limits_(limits), min_coverage_(min_coverage), threads_(threads),
      short_(members, state, false), long_(members, state, false), classed_(members, state, true),
      bounds_(state, members.has_labels(), limits.bounds != 0) {}

bool ListSearch::search(const Query& query, Shortlist& best) {
  if (members_.size() == 0) return false;
  if (!state_.unit) search_as(query, classed_, best);
  else if (is_short()) search_as(query, short_, best);
  else search_as(query, long_, best);
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
  store.sizes.follow(members_, node, min_coverage_, false);
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
      worker.reset(
          new Worker{{node, state_, members_, store.sizes.all(), kept, false}, {}, {}, std::vector<Count>(size, 0)});
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

template <class Counter>
void ListSearch::search_as(const Query& query, Store<Counter>& store, Shortlist& best) {
  const auto& [watch, node, form] = query;
  auto& [in_classes, sizes, counts, rooms] = store;
  using Search = LiteralSearch<Counter>;
  sizes.follow(members_, node, min_coverage_, in_classes);
  rooms.resize(static_cast<std::size_t>(threads_));
  LabelCounts<Counter>* const kept = kept_counts(store);
  const auto start = [&](std::size_t worker) {
    if (!rooms[worker]) rooms[worker] = std::make_shared<ListRoom<Counter>>(members_);
    return std::make_unique<Search>(node, state_, members_, form, sizes, kept, store.in_classes, *rooms[worker],
                                    limits_.lane_capacity, min_coverage_, best.size(), best.level());
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
