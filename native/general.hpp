// The search over conditions that works for every fast form: every boundary of every feature gets a quick test in
// integers, and the candidates that pass get an exact head.
#pragma once

#include <algorithm>
#include <vector>

#include "columns.hpp"
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

  bool may_enter(const HeadJudge& judge, const Count* kinds) const {
    if (incumbent_ && !judge.can_reach(kinds, incumbent_->value)) return false;
    return entries_.size() < size_ || judge.can_reach(kinds, entries_.back().value);
  }

  void offer(Scored found) {
    if (incumbent_) {
      const int order = compare(found.value, incumbent_->value);
      if (order < 0 || (order == 0 && found.tp <= incumbent_->tp)) return;
    }
    const auto at = std::upper_bound(entries_.begin(), entries_.end(), found, better);
    entries_.insert(at, std::move(found));
    if (entries_.size() > size_) entries_.pop_back();
  }

  const std::vector<Scored>& entries() const { return entries_; }

 private:
  std::size_t size_;
  const Head* incumbent_;
  std::vector<Scored> entries_;
};

class GeneralScan {
 public:
  GeneralScan(const Node& node, const State& state, Columns& columns, const Form& form, double min_coverage,
              Shortlist shortlist)
      : node_(node), state_(state), columns_(columns), judge_(node.labels, state, form),
        needs_cover_(form.kind == HeadKind::subset), min_coverage_(min_coverage), shortlist_(std::move(shortlist)),
        all_(node.labels.size() * 4), sum_(all_.size()), here_(all_.size()) {}

  const Shortlist& shortlist() const { return shortlist_; }

  void feature(std::size_t index) {
    Column& column = columns_[index];
    index_ = static_cast<std::uint32_t>(index);
    listed_.clear();
    if (column.ordered) {
      const Sequence sequence = covered_sequence(column, node_, state_);
      for (std::size_t i = 0; i < sequence.size; ++i) listed_.push_back(sequence.row(i));
    } else {
      for (std::size_t p = 0; p < column.rows.size(); ++p)
        if (node_.cover.test(column.rows[p])) listed_.push_back(static_cast<std::uint32_t>(p));
    }
    // Everything with a value: the cover without its missing rows.
    begin();
    for (const Row row : column.missing)
      if (node_.cover.test(row)) add(row);
    const Count missing = moved_;
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i] = node_.labels[i / 4].kinds[i % 4] - at(i);
    total_ = node_.weight - missing;
    begin();
    for (const std::uint32_t p : listed_) add(row_of(column, p));
    block_weight_ = total_ - moved_;
    block_ = sum_;
    if (column.nominal) nominal(column);
    else numeric(column, missing > 0);
  }

  void label(std::size_t label) {
    for (int value = 0; value < 2; ++value) {
      begin();
      const Word *set = state_.set[label], *ones = state_.ones[label];
      for (std::size_t w = 0; w < node_.cover.words(); ++w)
        for_each_bit(node_.cover.data()[w] & set[w] & (value ? ones[w] : ~ones[w]), w * 64,
                     [&](std::size_t i) { add(static_cast<Row>(i)); });
      consider_sum({Test::label, false, static_cast<std::uint32_t>(label), double(value)});
    }
  }

 private:
  // Ordered columns are listed by row, the others by place.
  static Row row_of(const Column& column, std::uint32_t entry) { return column.ordered ? entry : column.rows[entry]; }
  static double value_of(const Column& column, std::uint32_t entry) {
    return column.ordered ? column.dense[entry] : column.value_at(entry);
  }

  void begin() {
    std::fill(sum_.begin(), sum_.end(), 0);
    moved_ = 0;
  }

  void add(Row row) {
    const Count w = state_.weights[row];
    moved_ += w;
    for (std::uint32_t t = node_.first[row]; t < node_.last[row]; ++t) {
      const std::size_t e = node_.touches[t] >> 2;
      sum_[e * 4 + (node_.touches[t] & 3)] += w;
      sum_[e * 4 + std::size_t(node_.labels[e].usual)] -= w;
    }
  }

  // Kinds of the rows added so far; usual rows are counted by their number only.
  Count at(std::size_t i) const { return sum_[i] + (int(i % 4) == node_.labels[i / 4].usual ? moved_ : 0); }

  void consider_sum(const Condition& condition) {
    if (moved_ == 0 || moved_ == node_.weight) return;
    for (std::size_t i = 0; i < here_.size(); ++i) here_[i] = at(i);
    consider(condition, moved_);
  }

  void consider_rest(const Condition& condition) {
    if (moved_ == total_) return;
    for (std::size_t i = 0; i < here_.size(); ++i) here_[i] = all_[i] - at(i);
    consider(condition, total_ - moved_);
  }

  void consider(const Condition& condition, Count weight) {
    if (double(weight) < min_coverage_ || !shortlist_.may_enter(judge_, here_.data())) return;
    Bits cover;
    if (needs_cover_) cover = rows_of(condition);
    const Head head = judge_.solve(here_.data(), cover);
    if (head.any()) shortlist_.offer({head.value, head.tp, condition});
  }

  Bits rows_of(const Condition& condition) const {
    if (condition.test != Test::label) return columns_.covered(condition, node_.cover);
    Bits out(state_.rows);
    const Word *set = state_.set[condition.index], *ones = state_.ones[condition.index];
    for (std::size_t w = 0; w < out.words(); ++w)
      out.data()[w] = node_.cover.data()[w] & set[w] & (condition.edge ? ones[w] : ~ones[w]);
    return out;
  }

  void nominal(const Column& column) {
    for (std::size_t i = 0; i < listed_.size();) {
      const double value = value_of(column, listed_[i]);
      begin();
      for (; i < listed_.size() && value_of(column, listed_[i]) == value; ++i) add(row_of(column, listed_[i]));
      consider_sum({Test::category, false, index_, value});
    }
    if (!column.blocked || block_weight_ == 0 || block_weight_ == node_.weight) return;
    sum_ = block_;
    moved_ = total_ - block_weight_;
    consider_rest({Test::category, false, index_, column.block});
  }

  void numeric(const Column& column, bool misses) {
    if (total_ == 0) return;
    const bool has_block = column.blocked && block_weight_ > 0;
    const auto smallest = [&] {
      const bool listed_first = !listed_.empty() && (!has_block || value_of(column, listed_[0]) < column.block);
      return listed_first ? value_of(column, listed_[0]) : column.block;
    };
    begin();
    if (misses && columns_.any_below(index_, smallest(), state_.working)) consider_rest({Test::above, true, index_, 0});
    std::size_t i = 0;
    bool block_left = has_block;
    double edge = 0;
    while (i < listed_.size() || block_left) {
      if (block_left && (i == listed_.size() || value_of(column, listed_[i]) > column.block)) {
        // The block joins as a whole: everything with a value minus all listed rows.
        for (std::size_t k = 0; k < sum_.size(); ++k) {
          const int usual = node_.labels[k / 4].usual;
          const Count listed = block_[k] + (int(k % 4) == usual ? total_ - block_weight_ : 0);
          sum_[k] += all_[k] - listed - (int(k % 4) == usual ? block_weight_ : 0);
        }
        moved_ += block_weight_;
        edge = column.block;
        block_left = false;
      } else {
        edge = value_of(column, listed_[i]);
        for (; i < listed_.size() && value_of(column, listed_[i]) == edge; ++i) add(row_of(column, listed_[i]));
      }
      if (moved_ == total_) break;
      consider_sum({Test::at_most, false, index_, edge});
      consider_rest({Test::above, false, index_, edge});
    }
    if (misses && columns_.any_above(index_, edge, state_.working)) consider_sum({Test::at_most, false, index_, edge});
  }

  const Node& node_;
  const State& state_;
  Columns& columns_;
  HeadJudge judge_;
  bool needs_cover_;
  double min_coverage_;
  Shortlist shortlist_;
  std::uint32_t index_ = 0;
  std::vector<std::uint32_t> listed_;
  std::vector<Count> all_, sum_, here_, block_;
  Count moved_ = 0, total_ = 0, block_weight_ = 0;
};

}  // namespace polyrule
