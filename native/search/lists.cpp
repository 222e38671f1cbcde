#include "search/lists.hpp"

#include <algorithm>
#include <mutex>

#include "core/machine.hpp"
#include "search/list_literals.hpp"

namespace polyrule {

namespace {

POLYRULE_CLONES
std::uint32_t count_bits_of(const Word* record, const std::vector<Word>& rows) {
  std::uint32_t number = 0;
  for (std::size_t w = 0; w < rows.size(); ++w)
    number += static_cast<std::uint32_t>(std::popcount(rows[w] & record[w]));
  return number;
}

}  // namespace

template <class Counter>
void Sizes<Counter>::follow(const ConditionRows& condition_rows, const Node& node, Count min_weight, bool in_classes) {
  if (path_id_ == node.path_id && cover_ == node.cover) return;
  const bool below = path_id_ == node.path_id && !node.is_root();
  std::vector<Word> gone(below ? node.cover.words() : 0);
  for (std::size_t w = 0; w < gone.size(); ++w) gone[w] = cover_.data()[w] & ~node.cover.data()[w];
  const std::vector<Row> left = list_rows(gone);
  const bool fewer = below && left.size() < node.rows.size();
  const std::size_t size = condition_rows.counters();
  LineArray<Counter> counts;
  counts.resize(size);
  condition_rows.count(fewer ? left : node.rows, condition_rows.vectors(), counts.get(), in_classes);
  const Count whole = in_classes ? condition_rows.classes().weigh(node.cover.data()) : node.weight;
  const double each = in_classes ? condition_rows.classes().max_ratio : 1;
  const Count fewest = each == 1 ? min_weight : static_cast<Count>(double(min_weight) / each * (1 - 1e-12));
  const auto whole_count = static_cast<Counter>(whole),
             min_count = static_cast<Counter>(std::clamp<Count>(fewest, 0, std::numeric_limits<Counter>::max()));
  all_.resize(size);
  usable_.resize(size);
  for (std::size_t k = 0; k < size && fewer; ++k) counts[k] = static_cast<Counter>(all_[k] - counts[k]);
  for (std::size_t k = 0; k < size; ++k) {
    all_[k] = counts[k];
    usable_[k] = counts[k] == whole_count || counts[k] < min_count ? Counter(0) : counts[k];
  }
  path_id_ = node.path_id;
  cover_ = node.cover;
}

ListSearch::ListSearch(const ConditionRows& condition_rows, const State& state, const Limits& limits,
                       Count min_coverage, int threads)
    : condition_rows_(condition_rows), state_(state), limits_(limits), min_coverage_(min_coverage), threads_(threads),
      short_(condition_rows, state, false), long_(condition_rows, state, false), classed_(condition_rows, state, true),
      bounds_(state, condition_rows.has_labels(), limits.bounds != 0) {}

bool ListSearch::search(const Query& query, Shortlist& best) {
  if (condition_rows_.size() == 0) return false;
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
  if (condition_rows_.size() == 0 || node.rows.empty()) return;
  is_short() ? offer_pure(watch, node, records, short_, best) : offer_pure(watch, node, records, long_, best);
}

// By condition, of how many labels its covered rows are true positives, if each label counts as `labels` says.
template <class Counter>
std::vector<Count> ListSearch::sum_labels(const Node& node, const Records& records,
                                          const std::vector<Word>& labels) const {
  std::vector<std::uint32_t> numbers;  // by row
  for (const Row row : node.rows) numbers.push_back(count_bits_of(records.row(row), labels));
  const std::uint32_t largest = *std::max_element(numbers.begin(), numbers.end());
  std::vector<Count> sums(condition_rows_.counters(), 0);
  LineArray<Counter> counts;
  counts.resize(sums.size());
  std::vector<Row> rows;
  for (std::uint32_t bit = 0; largest >> bit != 0; ++bit) {
    pick(node.rows, [&](std::size_t i) { return numbers[i] >> bit & 1; }, rows);
    condition_rows_.count(rows, condition_rows_.vectors(), counts.get());
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += Count(counts[k]) << bit;
  }
  return sums;
}

// Labels with one value only keep it under every condition, so they are summed up together. The others are looked at
// one by one, for all conditions at once.
template <class Counter>
void ListSearch::offer_pure(const Watch& watch, const Node& node, const Records& records, Store<Counter>& store,
                            Shortlist& best) {
  store.sizes.follow(condition_rows_, node, min_coverage_, false);
  std::vector<Word> pure(2 * records.words(), 0);
  std::vector<NodeLabel> impure;
  for (const NodeLabel& label : node.labels) {
    if (label.outcomes[0] > 0 && label.outcomes[1] > 0) impure.push_back(label);
    else
      for (int v = 0; v < 2; ++v)
        if (label.usable(v)) pure[(v ? 0 : records.words()) + label.label / 64] |= Word{1} << label.label % 64;
  }
  std::vector<Count> totals = sum_labels<Counter>(node, records, pure);
  std::size_t end = 0;  // of the conditions that reach enough if all they cover is right
  for (std::size_t k = 0; k < condition_rows_.size(); ++k)
    if (totals[k] + Count(store.sizes.get()[k]) * Count(impure.size()) >= best.least_tp()) end = k + 1;
  if (end > 0) purify(watch, node, impure, (end + 255) / 256, store, totals);
  for (std::uint32_t k = 0; k < condition_rows_.size(); ++k)
    if (store.sizes.get()[k] > 0 && totals[k] >= best.least_tp()) best.offer({{1, 1}, totals[k], condition_rows_[k]});
}

// Adds the true positives of labels that have one value only under a condition, label by label, for the first vectors
// of conditions.
template <class Counter>
void ListSearch::purify(const Watch& watch, const Node& node, const std::vector<NodeLabel>& labels, std::size_t vectors,
                        Store<Counter>& store, std::vector<Count>& all_totals) {
  struct Worker {
    NodeCounts<Counter> counts;
    LineArray<Counter> present, absent;
    std::vector<Count> totals;  // by condition
  };
  const std::size_t size = vectors * 256;
  LabelCounts<Counter>* const root_counts = kept_counts(store);
  const std::size_t work = labels.size() * (size + node.rows.size() * vectors / 8);
  const int threads = work < limits_.threaded_work ? 1 : threads_;
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads_));
  over_all(watch, labels.size(), threads, 1, [&](int w, std::size_t i) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker) {
      worker.reset(new Worker{
          {node, state_, condition_rows_, store.sizes.all(), root_counts, false}, {}, {}, std::vector<Count>(size, 0)});
      for (LineArray<Counter>* room : {&worker->present, &worker->absent}) room->resize(condition_rows_.counters());
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
  sizes.follow(condition_rows_, node, min_coverage_, in_classes);
  rooms.resize(static_cast<std::size_t>(threads_));
  LabelCounts<Counter>* const root_counts = kept_counts(store);
  const auto start = [&](std::size_t worker) {
    if (!rooms[worker]) rooms[worker] = std::make_shared<ListRoom<Counter>>(condition_rows_);
    return std::make_unique<Search>(node, state_, condition_rows_, form, sizes, root_counts, store.in_classes,
                                    *rooms[worker], limits_.lane_capacity, min_coverage_, best.size(), best.level());
  };
  const std::vector<NodeLabel> ranked = bounds_.ranked(node.labels, Target(form, best.level()), node.leading);
  if (ranked.empty()) return;
  const auto look = [&](Search& search, NodeLabel label) {
    if (!bounds_.restrict_to_reachable(label, search.target())) return;
    search.look(label,
                [&](int v, double reach, const Fraction& level) { bounds_.note(label, v, reach, as_double(level)); });
  };
  std::vector<std::unique_ptr<Search>> searches(static_cast<std::size_t>(threads_));
  searches[0] = start(0);
  look(*searches[0], ranked[0]);
  std::vector<NodeLabel> rest;
  double work = 0;
  for (std::size_t i = 1; i < ranked.size(); ++i)
    if (NodeLabel label = ranked[i]; bounds_.restrict_to_reachable(label, searches[0]->target())) {
      rest.push_back(label);
      work +=
          double(label.outcomes[kPresent]) * double(condition_rows_.vectors()) + double(condition_rows_.counters()) / 8;
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
