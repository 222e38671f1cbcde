// The search of numeric columns for the best conditions of a node.
//
// A node is searched part by part, the most promising literals first: what they reach rules out most of the others
// (cache.hpp). For the empty body, the best value of every literal is kept between rules.
#pragma once

#include <memory>
#include <vector>

#include "core/parallel.hpp"
#include "search/cache.hpp"
#include "search/searcher.hpp"
#include "search/sorted_columns.hpp"

namespace polyrule {

class NumericSearch : public Searcher {
 public:
  // `after_pure`: where a measure is at its best for pure literals, another search has looked for those already.
  NumericSearch(Columns& columns, const State& state, Sequences& sequences, const Limits& limits, Count min_coverage,
                int threads, bool after_pure);

  bool any() const { return !order_.empty(); }
  void begin_rule(const Form& form) override { bounds_.begin_rule(form); }
  bool search(const Query& query, Shortlist& best) override;

 private:
  // What parts of the literals reach: the largest value each was seen with, at or above the level, and on which columns
  // that was.
  struct Part {
    std::vector<std::pair<Literal, Fraction>> reached;
    std::vector<char> columns;
  };

  void search_in_parts(const Watch& watch, const Node& node, const Form& form, Shortlist& best);
  void search_first(const Watch& watch, const Node& root, const Form& form, Shortlist& best);
  void search_winners(const Watch& watch, const Node& node, const std::vector<Literal>& winners, const Form& form,
                      const Fraction& level, const std::vector<char>& within, Shortlist& best);
  void find_first(const Watch& watch, const Node& root, const Form& form, const std::vector<Literal>& literals);
  void search_part(const Watch& watch, const Node& node, const std::vector<Literal>& literals, const Form& form,
                   Shortlist& best, Part* part, const std::vector<char>* within);
  template <class Visit>
  void over_columns(const Watch& watch, const Node& node, std::size_t literals, Visit&& visit);
  std::size_t most_literals(const Node& node) const;

  Columns& columns_;
  const State& state_;
  const Limits& limits_;
  const Count min_coverage_;
  const int threads_;
  const bool after_pure_;
  Sequences& sequences_;
  std::vector<std::size_t> order_;  // the numeric columns, the most promising first
  std::vector<double> promise_;     // by column, the largest gain of the last search
  Bounds bounds_;
  FirstConditions first_;
};

}  // namespace polyrule
