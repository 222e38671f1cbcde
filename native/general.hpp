// The search over conditions that works for every form: every boundary of every feature gets a quick test in doubles, and
// the candidates that pass get an exact head.
#pragma once

#include <algorithm>
#include <vector>

#include "columns.hpp"
#include "filter.hpp"
#include "heads.hpp"
#include "walk.hpp"

namespace polyrule {

struct Scored {
  Fraction value;
  Count tp = 0;
  Condition condition;
};

inline bool better(const Scored& a, const Scored& b) {
  const int order = compare(a.value, b.value);
  if (order != 0) return order > 0;
  if (a.tp != b.tp) return a.tp > b.tp;
  return comes_before(a.condition, b.condition);
}

// The best few candidates, in order.
class Shortlist {
 public:
  // With an incumbent, only candidates that beat it by value, then true positives, are kept.
  Shortlist(std::size_t size, const Head* incumbent) : size_(size), incumbent_(incumbent) {}

  // What a candidate must reach to be of any interest; null if nothing.
  const Fraction* level() const {
    const Fraction* last = entries_.size() < size_ ? nullptr : &entries_.back().value;
    if (!incumbent_) return last;
    return last && compare(*last, incumbent_->value) > 0 ? last : &incumbent_->value;
  }

  // Whether a candidate that ties with the level and has at most `tp` true positives can be kept.
  bool tie_may_enter(double tp, const Condition& condition) const {
    const Scored* last = entries_.size() < size_ ? nullptr : &entries_.back();
    const int order = !incumbent_ || !last ? (last ? 1 : -1) : compare(last->value, incumbent_->value);
    if (order <= 0 && incumbent_ && tp <= double(incumbent_->tp)) return false;
    if (order < 0) return true;
    return tp > double(last->tp) || (tp == double(last->tp) && comes_before(condition, last->condition));
  }

  // True if the level may have changed.
  bool offer(Scored found) {
    if (incumbent_) {
      const int order = compare(found.value, incumbent_->value);
      if (order < 0 || (order == 0 && found.tp <= incumbent_->tp)) return false;
    }
    const auto at = std::upper_bound(entries_.begin(), entries_.end(), found, better);
    entries_.insert(at, std::move(found));
    if (entries_.size() > size_) entries_.pop_back();
    return entries_.size() == size_;
  }

  const std::vector<Scored>& entries() const { return entries_; }

 private:
  std::size_t size_;
  const Head* incumbent_;
  std::vector<Scored> entries_;
};

// Sums of all labels over the rows on one side of a boundary. Rows of a label's usual kind are known from their weight.
class Sums {
 public:
  Sums(const Node& node, const State& state) : node_(node), state_(state) {
    for (int usual = 0; usual < 4; ++usual)
      for (int kind = 0; kind < 4; ++kind) unusual_[usual][kind] = Filter::by_kind(kind) - Filter::by_kind(usual);
    for (const NodeLabel& label : node.labels) {
      usual_.push_back(Filter::by_kind(label.usual));
      Four all{0, 0, 0, 0};
      for (int k = 0; k < 4; ++k) all += Filter::by_kind(k) * double(label.kinds[k]);
      node_all_.push_back(all);
    }
    all_ = node_all_;
    sum_.resize(usual_.size());
  }

  Count moved() const { return moved_; }

  void begin() {
    std::fill(sum_.begin(), sum_.end(), Four{0, 0, 0, 0});
    moved_ = 0;
  }

  void add(Row row) {
    const Count w = state_.unit ? 1 : state_.weights[row];
    moved_ += w;
    for (std::uint32_t t = node_.first[row]; t < node_.last[row]; ++t) {
      const std::size_t e = node_.touches[t] >> 2;
      sum_[e] += unusual_[node_.labels[e].usual][node_.touches[t] & 3] * double(w);
    }
  }

  // The rows added so far are all that have no value: what is left is the whole of the feature.
  void leave_out() {
    for (std::size_t e = 0; e < all_.size(); ++e) all_[e] = node_all_[e] - here(e);
  }
  void leave_out_none() { all_ = node_all_; }

  // The rows added so far are all but the block; remember the block, and add it later.
  void keep_rest(Count total) {
    rest_.resize(all_.size());
    rest_weight_ = total - moved_;
    for (std::size_t e = 0; e < all_.size(); ++e) rest_[e] = all_[e] - here(e) - usual_[e] * double(rest_weight_);
  }
  Count rest_weight() const { return rest_weight_; }
  void add_rest() {
    for (std::size_t e = 0; e < all_.size(); ++e) sum_[e] += rest_[e];
    moved_ += rest_weight_;
  }

  // Sums of a label if the rows added so far are covered, and if the others are.
  Four inside(std::size_t e) const { return here(e); }
  Four outside(std::size_t e) const { return all_[e] - here(e); }

 private:
  Four here(std::size_t e) const { return sum_[e] + usual_[e] * double(moved_); }

  const Node& node_;
  const State& state_;
  Four unusual_[4][4];
  std::vector<Four> usual_, node_all_, all_, sum_, rest_;
  Count moved_ = 0, rest_weight_ = 0;
};

class GeneralScan {
 public:
  GeneralScan(const Node& node, const State& state, Columns& columns, const Form& form, double min_coverage,
              Shortlist shortlist, const Patience& patience)
      : node_(node), state_(state), columns_(columns), form_(form), judge_(node.labels, state, form, patience),
        filter_(node.labels, state, form), sums_(node, state), min_coverage_(min_coverage),
        shortlist_(std::move(shortlist)), kinds_(node.labels.size() * 4),
        question_(form.valuer ? kAskAtOnce + 2 * node.labels.size() : 0) {
    for (const NodeLabel& label : node.labels) {
      present_.push_back(double(label.present));
      absent_.push_back(double(state.working_weight - label.present));
    }
    raise();
  }

  const Shortlist& shortlist() const { return shortlist_; }

  void feature(std::size_t index) {
    index_ = static_cast<std::uint32_t>(index);
    walk_feature(columns_[index]);
  }

  void label(std::size_t label) { walk_label(label); }

  // Judge the candidates that still wait for their values. Call at the end.
  void finish() {
    if (!asked_.empty()) answer();
  }

 private:
  void walk_label(std::size_t label) {
    for (int value = 0; value < 2; ++value) {
      begin();
      const Word *set = state_.set[label], *ones = state_.ones[label];
      for (std::size_t w = 0; w < node_.cover.words(); ++w)
        for_each_bit(node_.cover.data()[w] & set[w] & (value ? ones[w] : ~ones[w]), w * 64,
                     [&](std::size_t i) { sums_.add(static_cast<Row>(i)); });
      joined({Test::label, false, static_cast<std::uint32_t>(label), double(value)});
    }
  }

  void walk_feature(Column& column) {
    list(column);
    sums_.begin();
    for (const Row row : column.missing)
      if (node_.cover.test(row)) sums_.add(row);
    const Count missing = sums_.moved();
    total_ = node_.weight - missing;
    if (missing) sums_.leave_out();
    else sums_.leave_out_none();
    block_weight_ = 0;
    if (column.blocked) {
      sums_.begin();
      for (std::size_t i = 0; i < size_; ++i) sums_.add(rows_[i] & kRowMask);
      sums_.keep_rest(total_);
      block_weight_ = sums_.rest_weight();
    }
    if (column.nominal) nominal(column);
    else numeric(column, missing > 0);
  }

  // The covered rows of a feature by ascending value, marked where a distinct value starts, without its block.
  void list(Column& column) {
    if (column.ordered) {
      const Sequence sequence = covered_sequence(column, node_, state_);
      rows_ = sequence.rows;
      size_ = sequence.size;
      return;
    }
    listed_.clear();
    places_.clear();
    double last = 0;
    for (std::size_t p = 0; p < column.rows.size(); ++p) {
      const Row row = column.row_at(p);
      if (!node_.cover.test(row)) continue;
      const double value = column.value_at(p);
      listed_.push_back(row | (listed_.empty() || value != last ? kStarts : 0));
      places_.push_back(static_cast<std::uint32_t>(p));
      last = value;
    }
    rows_ = listed_.data();
    size_ = listed_.size();
  }

  double value_of(const Column& column, std::size_t i) const {
    return column.ordered ? column.dense[rows_[i] & kRowMask] : column.value_at(places_[i]);
  }

  std::size_t add_equal(std::size_t i) {
    do sums_.add(rows_[i] & kRowMask);
    while (++i < size_ && !(rows_[i] & kStarts));
    return i;
  }

  void nominal(const Column& column) {
    for (std::size_t i = 0; i < size_;) {
      begin();
      const double value = value_of(column, i);
      i = add_equal(i);
      joined({Test::category, false, index_, value});
    }
    if (block_weight_ == 0) return;
    begin();
    sums_.add_rest();
    joined({Test::category, false, index_, column.block});
  }

  void numeric(const Column& column, bool misses) {
    if (total_ == 0) return;
    bool block_left = block_weight_ > 0;
    const bool listed_first = size_ > 0 && !(block_left && column.block < value_of(column, 0));
    begin();
    if (misses && columns_.any_below(index_, listed_first ? value_of(column, 0) : column.block, state_.working))
      left({Test::above, true, index_, 0});
    double edge = 0;
    for (std::size_t i = 0; i < size_ || block_left;) {
      if (block_left && (i == size_ || value_of(column, i) > column.block)) {
        edge = column.block;
        sums_.add_rest();
        block_left = false;
      } else {
        const std::size_t first = i;
        i = add_equal(i);
        const Count moved = sums_.moved();
        if (moved != total_ && double(moved) < joins_from_ && double(moved) < leaves_from_) continue;
        edge = value_of(column, first);
      }
      if (sums_.moved() == total_) break;
      joined({Test::at_most, false, index_, edge});
      left({Test::above, false, index_, edge});
    }
    if (misses && columns_.any_above(index_, edge, state_.working)) joined({Test::at_most, false, index_, edge});
  }

  void begin() {
    sums_.begin();
    joins_from_ = leaves_from_ = 0;
  }

  // The rows added so far, or all others, are a candidate.
  void joined(const Condition& condition) {
    const Count weight = sums_.moved();
    if (weight == 0 || weight == node_.weight || double(weight) < joins_from_) return;
    consider(condition, weight, [&](std::size_t e) { return sums_.inside(e); }, false, joins_from_);
  }

  void left(const Condition& condition) {
    const Count weight = total_ - sums_.moved();
    if (weight == 0 || double(sums_.moved()) < leaves_from_) return;
    consider(condition, weight, [&](std::size_t e) { return sums_.outside(e); }, true, leaves_from_);
  }

  template <class At>
  void consider(const Condition& condition, Count weight, At&& at, bool leaving, double& from) {
    if (double(weight) < min_coverage_) return;
    if (form_.formula == Formula::function) {
      ask(condition, at);
      return;
    }
    double wait = 0, tp = 0;
    const Filter::Verdict verdict = filter_.judge(at, leaving, wait, tp);
    from = double(sums_.moved()) + wait;
    if (verdict == Filter::Verdict::no) return;
    if (verdict == Filter::Verdict::tie && !shortlist_.tie_may_enter(tp, condition)) return;
    for (std::size_t e = 0; e < node_.labels.size(); ++e) Filter::kinds(at(e), kinds_.data() + e * 4);
    solve(condition);
  }

  // Values of a function are asked for in batches; a candidate waits until the answers are there.
  template <class At>
  void ask(const Condition& condition, At&& at) {
    const std::size_t most = node_.labels.size() * 2;
    if (!question_.has_room(most)) answer();
    asked_.push_back({condition, question_.size()});
    literals_.resize(std::max(literals_.size(), question_.size() + most));
    Asked* entry = literals_.data() + question_.size();
    for (std::size_t e = 0; e < node_.labels.size(); ++e) {
      const NodeLabel& label = node_.labels[e];
      const Four sums = at(e);
      const double tn = absent_[e] - sums[3], fn = present_[e] - sums[2];
      if (label.allowed[1] && sums[0] > 0) {
        question_.add(sums[0], sums[1], tn, fn);
        *entry++ = {static_cast<std::uint32_t>(e), sums[0]};
      }
      if (label.allowed[0] && sums[1] > 0) {
        question_.add(sums[1], sums[0], tn, fn);
        *entry++ = {static_cast<std::uint32_t>(e), sums[1]};
      }
    }
  }

  void answer() {
    const std::size_t end = question_.size();
    const double* values = form_.valuer->ask(question_).data();
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      const std::size_t first = asked_[i].first, last = i + 1 < asked_.size() ? asked_[i + 1].first : end;
      double best = -Filter::kInfinity;
      for (std::size_t k = first; k < last; ++k) best = std::max(best, values[k]);
      if (first == last || (has_level_ && best < least_)) continue;
      std::vector<HeadLiteral> tied;
      for (std::size_t k = first; k < last; ++k)
        if (values[k] == best) HeadJudge::join(tied, {literals_[k].e, 0, Count(literals_[k].tp), 0});
      judge_.cut(tied);
      if (shortlist_.offer({{Valuer::in_order(best), 1}, HeadJudge::total_tp(tied), asked_[i].condition})) raise();
    }
    asked_.clear();
  }

  void solve(const Condition& condition) {
    Bits cover;
    if (form_.kind == HeadKind::subset) cover = rows_of(condition);
    const Head head = judge_.solve(kinds_.data(), cover, shortlist_.level());
    if (head.any() && shortlist_.offer({head.value, head.tp, condition})) raise();
  }

  void raise() {
    const Fraction* level = shortlist_.level();
    has_level_ = level != nullptr;
    if (!level) return;
    if (form_.valuer) least_ = Valuer::from_order(static_cast<Count>(level->num));
    filter_.set_level(*level);
  }

  Bits rows_of(const Condition& condition) const {
    if (condition.test != Test::label) return columns_.covered(condition, node_.cover);
    Bits out(state_.rows);
    const Word *set = state_.set[condition.index], *ones = state_.ones[condition.index];
    for (std::size_t w = 0; w < out.words(); ++w)
      out.data()[w] = node_.cover.data()[w] & set[w] & (condition.edge ? ones[w] : ~ones[w]);
    return out;
  }

  const Node& node_;
  const State& state_;
  Columns& columns_;
  const Form& form_;
  HeadJudge judge_;
  Filter filter_;
  Sums sums_;
  double min_coverage_;
  Shortlist shortlist_;
  bool has_level_ = false;
  double least_ = 0;  // the value of a function that must be reached

  std::uint32_t index_ = 0;
  const std::uint32_t* rows_ = nullptr;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> listed_, places_;
  Count total_ = 0, block_weight_ = 0;
  double joins_from_ = 0, leaves_from_ = 0;  // the weights moved before which no candidate of a side can count
  std::vector<Count> kinds_;

  struct Waiting {
    Condition condition;
    std::size_t first;  // of its literals
  };
  struct Asked {
    std::uint32_t e;
    double tp;
  };
  static constexpr std::size_t kAskAtOnce = 16'384;
  Question question_;
  std::vector<Waiting> asked_;
  std::vector<Asked> literals_;
  std::vector<double> present_, absent_;
};

}  // namespace polyrule
