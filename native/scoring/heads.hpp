// The best head of one body, exactly, from the counts of its labels.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/watch.hpp"
#include "data/node.hpp"
#include "scoring/formula.hpp"
#include "scoring/function_heads.hpp"
#include "scoring/hamming_heads.hpp"
#include "scoring/literals.hpp"
#include "scoring/micro.hpp"

namespace polyrule {

// Finds heads for the bodies of one node. Counts come by label of the node.
class HeadJudge {
 public:
  HeadJudge(const std::vector<NodeLabel>& labels, const State& state, const Form& form,
            TimeCheck time_check = TimeCheck())
      : labels_(labels), state_(state), form_(form), rows_(coefficients(form, state.working_weight)),
        time_check_(time_check) {}

  // Shows the literals that may be in a head with their counts: label by label, `= 1` first.
  template <class Visit>
  void each_literal(const std::vector<OutcomeCounts>& outcomes, Visit&& visit) const {
    for (std::size_t e = 0; e < labels_.size(); ++e)
      for (int v = 1; v >= 0; --v)
        if (const Counts c = literal_counts(labels_[e], outcomes[e], v); labels_[e].allowed[v] && c.tp > 0)
          visit(HeadLiteral{labels_[e].label, v, c.tp, c.fp}, c);
  }

  // The best head, or none. `cover` is needed for subset accuracy and where examples are measured by themselves; a head
  // that does not reach `level` may be left out.
  Head solve(const std::vector<OutcomeCounts>& outcomes, const Bits& cover, const Fraction* level = nullptr) const {
    if (form_.kind == HeadKind::ratio) return solve_ratio(outcomes);
    if (form_.kind == HeadKind::micro) return solve_micro(outcomes, level);
    if (form_.kind == HeadKind::example)
      return HammingHeads(labels_, state_, form_.max_head, time_check_).solve(outcomes, cover, level);
    return solve_singles(outcomes, cover);
  }

 private:
  Fraction single_value(const Counts& c) const {
    if (form_.formula != Formula::none) return formula_value(form_, c);
    const Wide bottom = linear<Wide>(rows_.den, c);
    return bottom == 0 ? Fraction{0, 1} : Fraction{linear<Wide>(rows_.num, c), bottom};
  }

  // The values of all literals, where a function must be asked.
  std::vector<double> ask_singles(const std::vector<OutcomeCounts>& outcomes) const {
    if (form_.formula != Formula::function) return {};
    Question question(labels_.size() * 2);
    each_literal(outcomes, [&](const HeadLiteral&, const Counts& c) { question.add(c); });
    return form_.valuer->ask(question);
  }

  Head solve_micro(const std::vector<OutcomeCounts>& outcomes, const Fraction* level) const {
    std::vector<MicroHeads::Literal> literals;
    each_literal(outcomes, [&](const HeadLiteral& literal, const Counts& c) { literals.push_back({literal, c}); });
    if (literals.empty()) return {};
    if (form_.formula == Formula::function) {
      const Count max_count = state_.working_weight * static_cast<Count>(std::max<std::size_t>(1, labels_.size()));
      const double floor = level ? Valuer::from_order(static_cast<Count>(level->num)) : 0;
      return FunctionHeads(form_, max_count, time_check_).best(literals, level ? &floor : nullptr);
    }
    return MicroHeads(form_, time_check_).best(literals, form_.max_head, level);
  }

  Head solve_singles(const std::vector<OutcomeCounts>& outcomes, const Bits& cover) const {
    Head head;
    std::vector<HeadLiteral>& tied = head.literals;
    const std::vector<double> values = ask_singles(outcomes);
    std::size_t place = 0;
    each_literal(outcomes, [&](const HeadLiteral& literal, const Counts& c) {
      const Fraction value = values.empty() ? single_value(c) : Fraction{Valuer::in_order(values[place++]), 1};
      const int order = tied.empty() ? 1 : compare(value, head.value);
      if (order < 0) return;
      if (order > 0) tied.clear(), head.value = value;
      if (form_.kind == HeadKind::subset) tied.push_back(literal);
      else join(tied, literal);
    });
    if (tied.empty()) return head;
    if (form_.kind == HeadKind::subset) keep_largest_group(tied, cover);
    else keep_most_right(tied, form_.max_head);
    head.tp = total_tp(tied);
    head.value = make_fraction(head.value.num, head.value.den);
    return head;
  }

  // Only literals that are right on the same rows go together: the largest such group, then the one with more true
  // positives, then the first labels.
  void keep_largest_group(std::vector<HeadLiteral>& tied, const Bits& cover) const {
    struct Group {
      std::vector<Word> rows;
      std::vector<HeadLiteral> literals;
    };
    std::vector<Group> groups;
    std::unordered_multimap<Word, std::size_t> by_hash;
    std::vector<Word> rows(cover.words());
    for (const HeadLiteral& literal : tied) {
      Word hash = 1469598103934665603ULL;
      for (std::size_t w = 0; w < rows.size(); ++w) {
        const Word truth = state_.truth[literal.label][w], set = state_.set[literal.label][w], in = cover.data()[w];
        rows[w] = (in & ~set & (literal.value ? truth : ~truth)) | (state_.working.data()[w] & ~in & ~truth);
        hash = (hash ^ rows[w]) * 1099511628211ULL;
        hash ^= hash >> 29;
      }
      std::size_t at = groups.size();
      const auto [low, high] = by_hash.equal_range(hash);
      for (auto it = low; it != high && at == groups.size(); ++it)
        if (groups[it->second].rows == rows) at = it->second;
      if (at == groups.size()) {
        groups.push_back({rows, {}});
        by_hash.emplace(hash, at);
      }
      groups[at].literals.push_back(literal);
    }
    tied.clear();
    for (Group& group : groups) {
      keep_most_right(group.literals, form_.max_head);
      if (tied.empty() || outranks(group.literals, tied)) tied = group.literals;
    }
  }

  struct Term {
    std::size_t e;
    int value;
    Wide num, den, gain;
    Count tp, fp;
  };

  // Dinkelbach's iteration: take the literals that gain at the value reached so far, until the value stays.
  Head solve_ratio(const std::vector<OutcomeCounts>& outcomes) const {
    Wide base_num = rows_.num[0], base_den = rows_.den[0];
    std::vector<Term> terms;
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      Wide out_num = 0, out_den = 0;
      if (form_.scope != Scope::head) {
        const Counts out = form_.scope == Scope::full ? literal_counts(labels_[e], outcomes[e], 0)
                                                      : Counts{0, 0, labels_[e].absent, labels_[e].present};
        out_num = linear<Wide>(rows_.num, out, false);
        out_den = linear<Wide>(rows_.den, out, false);
        base_num += out_num;
        base_den += out_den;
      }
      for (int v = 1; v >= 0; --v)
        if (const Counts c = literal_counts(labels_[e], outcomes[e], v); labels_[e].allowed[v] && c.tp > 0)
          terms.push_back({e, v, linear<Wide>(rows_.num, c, false) - out_num,
                           linear<Wide>(rows_.den, c, false) - out_den, 0, c.tp, c.fp});
    }
    Head best;
    if (terms.empty()) return best;
    std::size_t distinct = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) distinct += i == 0 || terms[i].e != terms[i - 1].e;
    const std::size_t max_size = std::min(form_.max_head, distinct);
    if (form_.rho.empty()) return best_of_sizes(terms, base_num, base_den, 1, max_size);
    Fraction start;  // what the size before has reached
    for (std::size_t size = 1; size <= max_size; ++size) {
      time_check_.step(terms.size());
      Head head = best_of_sizes(terms, base_num, base_den, size, size, size > 1 ? &start : nullptr);
      start = head.value;
      const Count lift = form_.rho[head.literals.size()];
      head.value = make_fraction(head.value.num * lift, head.value.den * kLiftScale);
      const int order = best.any() ? compare(head.value, best.value) : 1;
      if (order >= 0) best = std::move(head);  // a larger head wins a tie
    }
    return best;
  }

  Head best_of_sizes(const std::vector<Term>& terms, Wide base_num, Wide base_den, std::size_t min_size,
                     std::size_t max_size, const Fraction* start = nullptr) const {
    const auto value_of = [&](const std::vector<Term>& selected) {
      Wide num = base_num, den = base_den;
      for (const Term& t : selected) num += t.num, den += t.den;
      return make_fraction(num, den);
    };
    // Any value will do to start from, such as that of the literals with the most true positives.
    std::vector<Term> selected;
    if (!start) selected = choose(terms, min_size, min_size, [](const Term& t) { return Wide(t.tp); });
    Fraction level = start ? *start : value_of(selected);
    for (;;) {
      selected =
          choose(terms, min_size, max_size, [&](const Term& t) { return t.num * level.den - level.num * t.den; });
      const Fraction next = value_of(selected);
      if (compare(next, level) == 0) break;
      level = next;
    }
    Head head;
    head.value = level;
    for (const Term& t : selected) head.literals.push_back({labels_[t.e].label, t.value, t.tp, t.fp});
    sort_by_label(head.literals);
    head.tp = total_tp(head.literals);
    return head;
  }

  // Largest sum of gains; on ties more labels, more true positives, first labels, `= 1` before `= 0`.
  template <class Gain>
  std::vector<Term> choose(const std::vector<Term>& terms, std::size_t min_size, std::size_t max_size,
                           Gain&& gain) const {
    std::vector<Term> gaining = terms;
    for (Term& t : gaining) t.gain = gain(t);
    std::vector<Term> selected;
    for (const Term& t : leaders(gaining, [](const Term& t) -> const Term& { return t; }))
      if (selected.size() < max_size && (selected.size() < min_size || t.gain >= 0)) selected.push_back(t);
    return selected;
  }

  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const Form& form_;
  const Coefficients rows_;
  TimeCheck time_check_;
};

}  // namespace polyrule
