// The search among conditions that are whole lists of rows (data/members.hpp), one label after the other.
//
// A label's positive rows are mostly few. Counting them for every condition at once, with the known sizes of the
// conditions, gives every condition an upper bound on G (judge/literals.hpp): how many of the other rows are unset lies
// between two bounds. Only where that is not negative are the unset rows counted.
#pragma once

#include <memory>
#include <vector>

#include "core/arrays.hpp"
#include "core/parallel.hpp"
#include "data/members.hpp"
#include "search/label_counts.hpp"
#include "search/prospects.hpp"
#include "search/searcher.hpp"

namespace polyrule {

// The weight of each condition in a node; 0 for those that do not divide it or cover too little. Covers along a rule
// are nested: where most rows stay, those that have left are taken off.
template <class Counter>
class Sizes {
 public:
  void follow(const Members& members, const Node& node, Count least);
  const Counter* get() const { return usable_.get(); }

 private:
  LineArray<Counter> all_, usable_;
  Bits cover_;
  std::uint64_t path_id_ = 0;
};

template <class Counter>
struct ListRoom;

class ListSearch : public Searcher {
 public:
  ListSearch(const Members& members, const State& state, const Limits& limits, Count min_coverage, int threads);

  // What is known of the empty body is brought up to date.
  void begin_rule(const Form& form) override;
  bool search(const Query& query, Shortlist& best) override;

 private:
  template <class Counter>
  using Rooms = std::vector<std::shared_ptr<ListRoom<Counter>>>;  // by thread

  template <class Counter, class Lane>
  void search_as(const Watch& watch, const Node& node, const std::vector<NodeLabel>& labels, const Form& form,
                 Sizes<Counter>& sizes, LabelCounts<Counter>& kept, Rooms<Counter>& rooms, Shortlist& best);

  const Members& members_;
  const State& state_;
  const Limits& limits_;
  const Count min_coverage_;
  const int threads_;
  Sizes<std::uint16_t> short_sizes_;
  Sizes<std::uint32_t> long_sizes_;
  LabelCounts<std::uint16_t> short_counts_;
  LabelCounts<std::uint32_t> long_counts_;
  Rooms<std::uint16_t> short_rooms_;
  Rooms<std::uint32_t> long_rooms_;
  Prospects root_, path_;
  std::array<Count, 5> num_{}, den_{};  // what the root was searched for
  std::uint64_t working_version_ = 0;
  std::vector<std::uint64_t> label_version_;
};

}  // namespace polyrule
