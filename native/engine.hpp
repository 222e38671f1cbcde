// Grows rules one at a time and keeps the training state between them.
#pragma once

#include <optional>

#include "by_literal.hpp"
#include "columns.hpp"
#include "first.hpp"
#include "form.hpp"
#include "general.hpp"
#include "heads.hpp"
#include "lists.hpp"
#include "node.hpp"
#include "places.hpp"
#include "prospects.hpp"
#include "pure_table.hpp"
#include "races.hpp"
#include "runs.hpp"
#include "singles.hpp"
#include "state.hpp"
#include "watch.hpp"

namespace polyrule {

template <class Int>
class Sweep;

struct GrowLimits {
  std::size_t beam_width = 1;
  bool label_conditions = true;
  double min_coverage = 0;
  std::size_t max_conditions = SIZE_MAX;
};

// A condition as it is stored, with its threshold.
struct ShownCondition {
  Test test;
  std::uint32_t index;
  double value;
  bool operator==(const ShownCondition&) const = default;
};

struct Grown {
  std::vector<ShownCondition> body;
  Head head;
  Bits cover;
};

// A rule that was grown for one literal, with every step on its way, so that the next round can tell whether it would be
// grown again. steps[k] is the body of the first k conditions; the condition that leads on from it is the next one's.
struct KeptRule {
  struct Step {
    Condition last;
    Fraction value;
    Count tp = 0, weight = 0;
    Bits cover;
  };
  bool known = false;
  std::optional<Grown> grown;
  std::vector<Step> steps;
};

inline bool beats(const Head& a, const Head& b) {
  const int order = compare(a.value, b.value);
  return order > 0 || (order == 0 && a.tp > b.tp);
}

class Engine {
 public:
  Engine(Columns columns, State state, Form form, GrowLimits limits, int threads);

  State& state() { return state_; }
  const Form& form() const { return form_; }

  // The best rule; with a literal, the best rule with exactly that head. None if no literal has a true positive.
  std::optional<Grown> grow(const Watch& watch, std::optional<std::pair<std::size_t, int>> literal);
  // The best of the rules grown for each literal on its own.
  std::optional<Grown> grow_single(const Watch& watch);

 private:
  using Literal = std::optional<std::pair<std::size_t, int>>;

  Form form_for(const Literal& literal) const;
  std::optional<Grown> grow_with(const Watch& watch, const Literal& literal, std::vector<KeptRule::Step>* steps);
  bool still_best(const KeptRule& rule, std::size_t label, int value, const std::vector<std::size_t>& changed) const;
  bool allows_singles(const Form& form) const;
  std::vector<NodeLabel> root_labels(const Literal& literal, const Form& form) const;
  std::optional<Grown> greedy(const Watch& watch, const Form& form, std::vector<NodeLabel> labels,
                              std::vector<KeptRule::Step>* steps = nullptr);
  std::optional<Grown> beam(const Watch& watch, const Form& form, std::vector<NodeLabel> labels);
  std::optional<Condition> best_condition(const Watch& watch, Node& node, const Form& form, const Head& incumbent);
  template <class Int>
  std::optional<Condition> best_by_singles(const Watch& watch, Node& node, const Form& form, const Head& incumbent,
                                           bool& usable);
  template <class Int>
  std::optional<Best> search_in_parts(const Watch& watch, Node& node, const std::vector<NodeLabel>& live,
                                      const Form& form, const Head& incumbent, Fraction value);
  template <class Int>
  struct Worker;
  template <class Int>
  void judge_lists(Worker<Int>& worker, const Node& node, std::size_t column, const LabelList* label,
                   const Form& form, Sweep<Int>* look) const;
  std::optional<std::vector<NodeLabel>> apart_from(const Head& incumbent, const Node& node,
                                                   const std::vector<NodeLabel>& live);
  template <class Int>
  std::vector<NodeLabel> can_reach(const Node& node, const std::vector<NodeLabel>& labels, const Target<Int>& target);
  void rule_out(const Node& node, std::vector<NodeLabel>& labels, const Target<Count>& target);
  template <class Int>
  bool can_count(Worker<Int>& worker, const Node& node, std::size_t column);
  template <class Int>
  void rank_columns(const Node& node, const Form& form, const Best& start);
  template <class Int>
  void judge_counted(Worker<Int>& worker, const Node& node, const LabelList& list) const;
  // How the columns and labels of a node are searched.
  struct Ways {
    bool fits = false;          // the sums of gains into 32-bit lanes
    bool by_bits = false;       // all candidates are lists, judged for all labels at once
    bool raced = false;         // ties that are remembered from rule to rule
    bool labels_raced = false;  // those of all conditions on labels, as one unit
    bool runs = false;          // few literals, by their rows
    bool listed = false;        // conditions on labels, and columns that are kept as lists
    const Places* places = nullptr;
    std::vector<std::uint32_t> tested;  // labels with conditions
    std::size_t others = 0;             // units after the columns
  };
  template <class Int>
  Ways find_ways(Node& node, const Form& form, const Best& start);
  template <class Int>
  bool judge_unit(Worker<Int>& worker, const Node& node, const Form& form, const Ways& ways, std::size_t unit);
  bool is_within(const std::vector<bool>& within, const Ways& ways, std::size_t unit) const;
  template <class Int>
  void note_prospects(const Node& node, const std::vector<std::unique_ptr<Worker<Int>>>& workers, const Best& best,
                      bool all_swept);
  template <class Int>
  std::optional<Best> search_node(const Watch& watch, Node& node, const Form& form, const Best& start,
                                  const std::vector<bool>* within = nullptr);
  template <class Int>
  std::optional<Best> search_first(const Watch& watch, Node& root, const std::vector<NodeLabel>& live, const Form& form,
                                   const Head& incumbent);
  template <class Int>
  void find_first(const Watch& watch, Node& root, const Form& form,
                  const std::vector<std::pair<NodeLabel, int>>& literals);
  void update_first(const Node& root, const Form& form);
  void leave_first(const Form& form);
  std::optional<Bits> divides(const Node& root, const Condition& condition) const;
  std::optional<Fraction> value_of(const NodeLabel& label, int value, const Bits& cover, const Form& form) const;
  Fraction opening_value(const Node& root, const std::vector<NodeLabel>& live, const Form& form, Fraction least) const;
  std::uint32_t unit_of(const Condition& condition) const;
  // by_literal.hpp
  template <class Int>
  std::optional<Best> search_by_literal(const Watch& watch, Node& node, const std::vector<NodeLabel>& live,
                                        const Form& form, const Head& incumbent);
  const ConditionSizes& sizes_of(const Node& node);
  const NodeLists& lists_of(const Node& node);
  bool follow_races(const Node& node, const Form& form);
  template <class Int>
  std::optional<Best> perfect_condition(const Watch& watch, Node& node, const std::vector<NodeLabel>& live,
                                        const Form& form);
  bool only_ties(const Node& node) const;
  void list_labels(const Node& node);
  void open_path(const Form& form);
  void forget(const Node& node);
  std::vector<Scored> best_in_general(const Watch& watch, Node& node, const Form& form, const Head* incumbent,
                                      std::size_t size);
  template <class Scan>
  void over_units(const Watch& watch, const Node& node, std::size_t others, bool quick, Scan&& scan_unit);
  std::vector<std::uint32_t> tested_labels() const;
  Bits rows_of(const Condition& condition, const Bits& cover) const;
  Head solve(const Watch& watch, const Node& node, const Form& form) const;
  ShownCondition shown(const Condition& condition) const;
  std::vector<NodeLabel> describe_below(const Node& parent, const Node& child) const;

  Columns columns_;
  Lists lists_;
  NodeLists root_lists_, node_lists_;
  std::uint64_t root_lists_version_ = 0;
  std::vector<LabelList> label_lists_;  // of the node under search, once somebody has asked for them
  bool label_lists_known_ = false;
  Places places_;
  Races races_;
  std::uint64_t raced_path_ = 0;  // the rule under search that they are up to date for
  RunEnds runs_;
  // How many rows each condition covers in the last node that was asked for; see sizes_of.
  ConditionSizes all_sizes_, sizes_;
  std::uint64_t sizes_path_ = 0;
  Bits sizes_cover_;
  PureTable pure_table_;
  LabelCounts label_counts_;
  State state_;
  Form form_;
  GrowLimits limits_;
  int threads_;
  bool all_ordered_ = true;  // whether runs.hpp can be used for every column
  bool keeps_first_ = true;  // whether every column can be searched for first conditions to keep
  std::uint64_t paths_ = 0;
  std::vector<double> promise_;  // by column, the largest gain of the last search
  std::vector<std::size_t> order_;  // the columns that can be tested, the most promising first
  // By literal (2 * label + value): for the empty body, kept between rules, and along the rule under search.
  std::vector<Prospect> root_, path_;
  std::uint64_t root_version_ = 0;
  std::vector<std::uint64_t> root_changed_;
  // By literal: the best first conditions, what they were found for, and the first condition of the last rule.
  std::vector<FirstCondition> first_;
  Form first_form_;
  std::vector<std::uint64_t> first_changed_;
  std::uint64_t first_version_ = 0;
  Bits first_working_;
  std::optional<Condition> opening_;
  // By literal: the rules of the last round of `grow_single`.
  std::vector<KeptRule> kept_;
  std::uint64_t kept_version_ = 0;
  std::vector<std::uint64_t> kept_changed_;
};

}  // namespace polyrule
