// The search among conditions that are whole lists of rows (data/condition_rows.hpp), one label after the other.
//
// A label's positive rows are mostly few. Counting them for every condition at once, with the known sizes of the
// conditions, gives every condition an upper bound on G (scoring/literals.hpp): how many of the other rows are unset
// lies between two bounds. Only where that is not negative are the unset rows counted. Weights of many bits are counted
// by classes of rows with nearly the same weight, which bounds G as well; only what passes is weighed exactly.
#pragma once

#include <memory>
#include <vector>

#include "core/arrays.hpp"
#include "core/parallel.hpp"
#include "data/condition_rows.hpp"
#include "data/records.hpp"
#include "search/cache.hpp"
#include "search/label_counts.hpp"
#include "search/searcher.hpp"

namespace polyrule {

// The weight of each condition in a node; 0 for those that do not divide it or cover too little. Covers along a rule
// are nested: where most rows stay, those that have left are taken off.
template <class Counter>
class Sizes {
 public:
  void follow(const ConditionRows& condition_rows, const Node& node, Count min_weight, bool in_classes);
  const Counter* get() const { return usable_.get(); }
  const Counter* all() const { return all_.get(); }  // also those that are not usable

 private:
  LineArray<Counter> all_, usable_;
  Bits cover_;
  std::uint64_t path_id_ = 0;
};

template <class Counter>
struct ListRoom;

class ListSearch : public Searcher {
 public:
  ListSearch(const ConditionRows& condition_rows, const State& state, const Limits& limits, Count min_coverage,
             int threads);

  void begin_rule(const Form& form) override { bounds_.begin_rule(form); }
  bool search(const Query& query, Shortlist& best) override;

  // Offers the conditions of a node by the true positives of those literals that have no wrong row then.
  void offer_pure(const Watch& watch, const Node& node, const Records& records, Shortlist& best);

 private:
  // What counts of one width need.
  template <class Counter>
  struct Store {
    bool in_classes;  // whether rows count as their class does
    Sizes<Counter> sizes;
    LabelCounts<Counter> counts;
    std::vector<std::shared_ptr<ListRoom<Counter>>> rooms;  // by thread
    Store(const ConditionRows& condition_rows, const State& state, bool in_classes)
        : in_classes(in_classes), counts(condition_rows, state, in_classes) {}
  };

  template <class Counter>
  void search_as(const Query& query, Store<Counter>& store, Shortlist& best);
  template <class Counter>
  void offer_pure(const Watch& watch, const Node& node, const Records& records, Store<Counter>& store, Shortlist& best);
  template <class Counter>
  std::vector<Count> sum_labels(const Node& node, const Records& records, const std::vector<Word>& labels) const;
  template <class Counter>
  void purify(const Watch& watch, const Node& node, const std::vector<NodeLabel>& labels, std::size_t vectors,
              Store<Counter>& store, std::vector<Count>& all_totals);
  template <class Counter>
  LabelCounts<Counter>* kept_counts(Store<Counter>& store) const;  // null if counts of the empty body are not
  bool is_short() const { return state_.rows <= UINT16_MAX && state_.total_weight <= UINT16_MAX; }

  const ConditionRows& condition_rows_;
  const State& state_;
  const Limits& limits_;
  const Count min_coverage_;
  const int threads_;
  Store<std::uint16_t> short_;
  Store<std::uint32_t> long_, classed_;
  Bounds bounds_;
};

}  // namespace polyrule
