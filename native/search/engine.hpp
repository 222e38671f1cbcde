// Grows rules one at a time and keeps the training state between them.
//
// Which searchers run for a node (docs/architecture.md): for measures where a head is worth as much as its best literal
// PureSearch, ListSearch and NumericSearch, in this order; for all others GeneralSearch.
#pragma once

#include <memory>
#include <optional>

#include "data/condition_rows.hpp"
#include "data/records.hpp"
#include "scoring/heads.hpp"
#include "search/general.hpp"
#include "search/lists.hpp"
#include "search/numeric.hpp"
#include "search/pure.hpp"

namespace polyrule {

struct GrowOptions {
  std::size_t beam_width = 1;
  bool label_conditions = true;
  Count min_coverage = 0;
  std::size_t max_conditions = SIZE_MAX;
};

using Body = std::vector<ShownCondition>;

struct Grown {
  Body body;
  Head head;
  Bits cover;
};

using LiteralChoice = std::optional<std::pair<std::size_t, int>>;

class Engine {
 public:
  Engine(Columns columns, State state, Form form, GrowOptions options, Limits limits, int threads);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const State& state() const { return state_; }
  const Form& form() const { return form_; }
  const Columns& columns() const { return columns_; }

  // The best rule; with a literal, the best rule with exactly that head. None if no literal has a true positive. Once
  // the deadline has passed (`watch.late`), the best body so far.
  std::optional<Grown> grow(const Watch& watch, LiteralChoice literal);
  // The best of the rules grown for each literal on its own.
  std::optional<Grown> grow_single(const Watch& watch);
  // Applies a rule to the training state.
  CommitResult commit(const Bits& cover, const std::vector<std::pair<std::size_t, int>>& head,
                      const StopThreshold& threshold, bool keep_covered);

 private:
  // A rule that was grown for one literal, with every step on its way, so that the next round can tell whether it would
  // be grown again. steps[k] is the body of the first k conditions; the condition that leads on from it is the next
  // one's.
  struct KeptRule {
    struct Step {
      Condition last;
      Fraction value;
      Count tp = 0, weight = 0;
      Bits cover;
    };
    Stamp stamp;
    std::optional<Grown> grown;
    std::vector<Step> steps;
  };

  Form form_for(const LiteralChoice& literal) const;
  Form alone(Form form, bool one_literal) const;
  bool is_mean_of_singles() const;
  std::optional<Grown> grow_with(const Watch& watch, const LiteralChoice& literal, std::vector<KeptRule::Step>* steps);
  bool still_best(const KeptRule& rule, std::size_t label, int value, std::span<const std::uint32_t> changed) const;
  bool is_plain(const Form& form) const;
  std::vector<NodeLabel> root_labels(const LiteralChoice& literal, const Form& form) const;
  // A body on its way: what it says, its best head, and where the search goes on.
  struct Live {
    Body body;
    Condition last;
    Head head;
    Node node;
  };
  std::optional<Grown> grow_body(const Watch& watch, const Form& form, std::vector<NodeLabel> labels,
                                 std::vector<KeptRule::Step>* steps);
  // The bodies that come after those of a level, the best first; what comes earlier wins ties.
  std::vector<Live> next_level(const Watch& watch, const Form& form, Node& root, std::vector<Live>& level);
  // Offers the best conditions of a node. Literals that are out of the race here and below are dropped from it.
  void search(const Query& query, Shortlist& best);
  // Where no condition can make a rule better: the best head for everything.
  std::optional<Grown> grow_without_conditions(const Watch& watch, const Form& form, std::vector<NodeLabel> labels);
  void begin_rule(const Form& form);
  Head solve(const Watch& watch, const Node& node, const Form& form) const;
  // After the deadline: a head that needs no long search, or none.
  Head solve_late(const Watch& watch, const Node& node, Form form) const;

  State state_;
  Columns columns_;
  const Form form_;
  const GrowOptions options_;
  const Limits limits_;
  const int threads_;
  ConditionRows condition_rows_;
  Sequences sequences_;
  ListSearch lists_;
  const std::unique_ptr<PureSearch> pure_;  // where it can be of use
  NumericSearch numeric_;
  GeneralSearch general_;
  std::uint64_t paths_ = 0;
  std::vector<KeptRule> rule_cache_;  // by literal, the rules of the last round of `grow_single`
};

}  // namespace polyrule
