#include "scoring/function_heads.hpp"

#include <algorithm>

namespace polyrule {

namespace {

// By number of the first numbers and of those taken: the largest sum, or (`smallest`) the smallest.
std::vector<Count> best_sums(const std::vector<Count>& numbers, std::size_t width, bool smallest) {
  std::vector<Count> out((numbers.size() + 1) * width, 0), best;
  for (std::size_t from = 0; from <= numbers.size(); ++from) {
    for (std::size_t k = 1; k < width; ++k)
      out[from * width + k] = out[from * width + k - 1] + (k <= best.size() ? best[k - 1] : 0);
    if (from == numbers.size()) break;
    const Count next = numbers[from];
    const auto at = smallest ? std::upper_bound(best.begin(), best.end(), next)
                             : std::upper_bound(best.begin(), best.end(), next, std::greater<>());
    best.insert(at, next);
    if (best.size() >= width) best.pop_back();
  }
  return out;
}

}  // namespace

Head FunctionHeads::best(const std::vector<Literal>& literals, const double* level) {
  best_ = {};
  has_value_ = level != nullptr;
  if (level) value_ = *level;
  std::size_t labels = 0;
  for (std::size_t i = 0; i < literals.size(); ++i)
    labels += i == 0 || literals[i].literal.label != literals[i - 1].literal.label;
  const std::size_t sizes = std::min(form_.max_head, labels);
  literals_ = literals;
  start(literals);
  make_tables(sizes);
  head_.clear();
  for (std::size_t k = sizes; k > 0; --k)
    if (!is_hopeless(corner(literals_.size(), k), literals_.size(), k)) choose(literals_.size(), k, {});
  return std::move(best_);
}

// Heads to begin with: single literals, and the labels with the most right in the balance.
void FunctionHeads::start(const std::vector<Literal>& literals) {
  const auto balance = [](const Literal& literal) { return literal.counts.tp - literal.counts.fp; };
  std::vector<Literal> leaders;
  for (const Literal& literal : literals) {
    if (leaders.empty() || leaders.back().literal.label != literal.literal.label) leaders.push_back(literal);
    else if (balance(literal) > balance(leaders.back())) leaders.back() = literal;
  }
  std::stable_sort(leaders.begin(), leaders.end(), [&](auto& a, auto& b) { return balance(a) > balance(b); });
  leaders.resize(std::min(leaders.size(), form_.max_head));
  std::vector<Counts> heads;
  Counts sum;
  for (const Literal& literal : leaders) heads.push_back(sum = sum + literal.counts);
  for (const Literal& literal : literals) heads.push_back(literal.counts);
  form_.monotone_bounds->learn(heads);
  head_.clear();
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    head_.push_back(leaders[i]);
    offer(heads[i], form_.monotone_bounds->value(heads[i]));
  }
  for (const Literal& literal : literals) {
    head_ = {literal};
    offer(literal.counts, form_.monotone_bounds->value(literal.counts));
  }
}

void FunctionHeads::make_tables(std::size_t sizes) {
  std::stable_sort(literals_.begin(), literals_.end(), [](const Literal& a, const Literal& b) {
    return a.counts.fp != b.counts.fp ? a.counts.fp < b.counts.fp : a.counts.tp > b.counts.tp;
  });
  width_ = sizes + 1;
  std::vector<Count> tp, tn, fn;
  least_fp_.assign(1, 0);
  for (const Literal& literal : literals_) {
    tp.push_back(literal.counts.tp);
    tn.push_back(literal.counts.tn);
    fn.push_back(literal.counts.fn);
    least_fp_.push_back(least_fp_.back() + literal.counts.fp);
  }
  most_tp_ = best_sums(tp, width_, false);
  most_tn_ = best_sums(tn, width_, false);
  least_fn_ = best_sums(fn, width_, true);
}

void FunctionHeads::choose(std::size_t from, std::size_t open, const Counts& counts) {
  time_check_.step();
  for (std::size_t r = open - 1; r < from; ++r) {
    const Literal& last = literals_[r];
    const bool has = std::any_of(head_.begin(), head_.end(),
                                 [&](const Literal& literal) { return literal.literal.label == last.literal.label; });
    if (has) continue;
    const Counts sum = counts + last.counts;
    head_.push_back(last);
    if (!is_hopeless(sum + corner(r, open - 1), r, open - 1)) {
      if (open == 1) offer(sum, form_.monotone_bounds->value(sum));
      else choose(r, open - 1, sum);
    }
    head_.pop_back();
  }
}

// Whether no head with the chosen literals and `open` of the first `from` is of any interest; its counts are no better
// than `bound`.
bool FunctionHeads::is_hopeless(const Counts& bound, std::size_t from, std::size_t open) {
  if (!has_value_) return false;
  form_.monotone_bounds->begin(value_, max_count_);
  const MonotoneBounds::Answer answer = form_.monotone_bounds->look(bound);
  return answer == MonotoneBounds::Answer::below ||
         (answer == MonotoneBounds::Answer::tie && loses_tie(bound.tp, from, open));
}

// Whether such a head, with at most `tp` true positives, comes after the best one if it is just as good.
bool FunctionHeads::loses_tie(Count tp, std::size_t from, std::size_t open) const {
  if (!best_.any()) return false;  // what must be reached may still be
  const std::size_t size = head_.size() + open;
  if (size != best_.literals.size()) return size < best_.literals.size();
  if (tp != best_.tp) return tp < best_.tp;
  // It has as many true positives as can be: the literals with the most, and of those that are level the first labels.
  std::vector<const Literal*> left;
  for (std::size_t i = 0; i < from; ++i) left.push_back(&literals_[i]);
  std::sort(left.begin(), left.end(), [](const Literal* a, const Literal* b) {
    if (a->counts.tp != b->counts.tp) return a->counts.tp > b->counts.tp;
    return a->literal.label != b->literal.label ? a->literal.label < b->literal.label
                                                : a->literal.value > b->literal.value;
  });
  std::vector<HeadLiteral> first;
  for (const Literal& literal : head_) first.push_back(literal.literal);
  for (std::size_t i = 0; i < open; ++i) first.push_back(left[i]->literal);
  sort_by_label(first);
  for (std::size_t i = 0; i + 1 < size; ++i)
    if (first[i].label == first[i + 1].label) return false;  // no head; those that are come later, but which?
  return !outranks(first, best_.literals);
}

// The chosen literals as a head.
void FunctionHeads::offer(const Counts& counts, double value) {
  if (has_value_ && value < value_) return;
  Head head;
  head.value = {Valuer::in_order(value), 1};
  head.tp = counts.tp;
  for (const Literal& literal : head_) head.literals.push_back(literal.literal);
  sort_by_label(head.literals);
  if (best_.any() && value == value_ && !outranks(head.literals, best_.literals)) return;
  best_ = std::move(head);
  has_value_ = true;
  value_ = value;
}

}  // namespace polyrule
