#include "judge/function_heads.hpp"

#include <algorithm>

namespace polyrule {

namespace {

Counts operator+(const Counts& a, const Counts& b) {
  return {a.tp + b.tp, a.fp + b.fp, a.tn + b.tn, a.fn + b.fn};
}

}  // namespace

Corners::Corners(const std::vector<MicroHeads::Literal>& literals) {
  std::vector<Count>* all[] = {&tp_, &fp_, &tn_, &fn_};
  std::uint32_t last = 0;
  for (const MicroHeads::Literal& literal : literals) {
    const Counts& c = literal.counts;
    if (!tp_.empty() && last == literal.literal.label) {
      tp_.back() = std::max(tp_.back(), c.tp);
      fp_.back() = std::min(fp_.back(), c.fp);
      continue;
    }
    last = literal.literal.label;
    tp_.push_back(c.tp);
    fp_.push_back(c.fp);
    tn_.push_back(c.tn);
    fn_.push_back(c.fn);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<Count>& column = *all[i];
    if (i % 2 == 0) std::sort(column.begin(), column.end(), std::greater<>());
    else std::sort(column.begin(), column.end());
    column.insert(column.begin(), 0);
    for (std::size_t k = 1; k < column.size(); ++k) column[k] += column[k - 1];
  }
}

Head FunctionHeads::best(std::vector<Literal> literals, const double* level) {
  best_ = {};
  has_best_ = level != nullptr;
  if (level) value_ = *level;
  start(literals);
  climb();
  branch(0, {});
  return std::move(best_);
}

// Labels with the most right in the balance come first; heads of the first k of them are tried to begin with.
void FunctionHeads::start(const std::vector<Literal>& literals) {
  labels_.clear();
  for (const Literal& literal : literals) {
    if (labels_.empty() || labels_.back().literals.front().literal.label != literal.literal.label) labels_.push_back({});
    labels_.back().literals.push_back(literal);
  }
  const auto balance = [](const Literal& literal) { return literal.counts.tp - literal.counts.fp; };
  for (Label& label : labels_)
    std::stable_sort(label.literals.begin(), label.literals.end(),
                     [&](auto& a, auto& b) { return balance(a) > balance(b); });
  std::stable_sort(labels_.begin(), labels_.end(), [&](const Label& a, const Label& b) {
    return balance(a.literals.front()) > balance(b.literals.front());
  });
  corners_.assign(labels_.size(), std::nullopt);
  std::vector<Counts> heads;
  Counts sum;
  for (const Label& label : labels_) heads.push_back(sum = sum + label.literals.front().counts);
  for (const Literal& literal : literals) heads.push_back(literal.counts);
  form_.ceilings->learn(heads);
  chosen_.clear();
  for (std::size_t i = 0; i < std::min(labels_.size(), form_.max_head); ++i) {
    chosen_.push_back(labels_[i].literals.front());
    offer(heads[i], form_.ceilings->value(heads[i]));
  }
  for (const Literal& literal : literals) {
    chosen_ = {literal};
    offer(literal.counts, form_.ceilings->value(literal.counts));
  }
  chosen_.clear();
}

const Corners& FunctionHeads::corners(std::size_t depth) {
  if (!corners_[depth]) {
    std::vector<Literal> left;
    for (std::size_t i = depth; i < labels_.size(); ++i)
      left.insert(left.end(), labels_[i].literals.begin(), labels_[i].literals.end());
    corners_[depth].emplace(left);
  }
  return *corners_[depth];
}

// Adds one literal after the other while that helps.
void FunctionHeads::climb() {
  while (best_.any() && best_.literals.size() < form_.max_head) {
    const Head from = best_;
    std::vector<Literal> head;
    Counts sum;
    for (const Label& label : labels_)
      for (const Literal& literal : label.literals)
        for (const HeadLiteral& has : from.literals)
          if (has.label == literal.literal.label && has.value == literal.literal.value) {
            head.push_back(literal);
            sum = sum + literal.counts;
          }
    std::vector<Counts> asked;
    std::vector<const Literal*> added;
    for (const Label& label : labels_)
      for (const Literal& literal : label.literals)
        if (!from.has(literal.literal.label)) {
          asked.push_back(sum + literal.counts);
          added.push_back(&literal);
        }
    form_.ceilings->learn(asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      chosen_ = head;
      chosen_.push_back(*added[i]);
      offer(asked[i], form_.ceilings->value(asked[i]));
    }
    chosen_.clear();
    if (best_.literals.size() == from.literals.size()) return;
  }
}

void FunctionHeads::branch(std::size_t depth, const Counts& counts) {
  patience_.step();
  if (depth == labels_.size() || chosen_.size() == form_.max_head || is_hopeless(depth, counts)) return;
  for (const Literal& literal : labels_[depth].literals) {
    const Counts sum = counts + literal.counts;
    chosen_.push_back(literal);
    if (has_best_) form_.ceilings->begin(value_, most_);
    if (!has_best_ || form_.ceilings->look(sum) != Ceilings::Answer::below) offer(sum, form_.ceilings->value(sum));
    branch(depth + 1, sum);
    chosen_.pop_back();
  }
  branch(depth + 1, counts);
}

// Whether nothing that adds at least one of the labels from `depth` on is of any interest.
bool FunctionHeads::is_hopeless(std::size_t depth, const Counts& counts) {
  if (!has_best_) return false;
  form_.ceilings->begin(value_, most_);
  const Corners& left = corners(depth);
  const std::size_t most = std::min(left.labels(), form_.max_head - chosen_.size());
  for (std::size_t open = 1; open <= most; ++open) {
    const Counts corner = counts + left.of(open);
    const Ceilings::Answer answer = form_.ceilings->look(corner);
    if (answer == Ceilings::Answer::below) continue;
    if (answer == Ceilings::Answer::perhaps || !loses_tie(depth, open, corner.tp)) return false;
  }
  return true;
}

// Whether a head with so many more labels that is just as good as the best comes after it.
bool FunctionHeads::loses_tie(std::size_t depth, std::size_t open, Count tp) const {
  if (!best_.any()) return false;  // the level itself may still be reached
  const std::size_t size = chosen_.size() + open;
  if (size != best_.literals.size()) return size < best_.literals.size();
  if (tp != best_.tp) return tp < best_.tp;
  // It has as many true positives as can be: the labels with the most, and of those that are level the first.
  struct Last {
    Count tp;
    std::uint32_t label;
    bool twice;  // both literals of the label have as many
  };
  std::vector<Last> last;
  for (std::size_t i = depth; i < labels_.size(); ++i) {
    const std::vector<Literal>& both = labels_[i].literals;
    last.push_back({both.front().counts.tp, both.front().literal.label, false});
    if (both.size() == 1) continue;
    last.back().twice = both[1].counts.tp == both[0].counts.tp;
    last.back().tp = std::max(both[0].counts.tp, both[1].counts.tp);
  }
  std::sort(last.begin(), last.end(),
            [](const Last& a, const Last& b) { return a.tp != b.tp ? a.tp > b.tp : a.label < b.label; });
  std::vector<std::uint32_t> labels;
  bool twice = false;
  for (std::size_t i = 0; i < open; ++i) {
    labels.push_back(last[i].label);
    twice = twice || last[i].twice;
  }
  for (const Literal& literal : chosen_) labels.push_back(literal.literal.label);
  std::sort(labels.begin(), labels.end());
  for (std::size_t i = 0; i < size; ++i)
    if (labels[i] != best_.literals[i].label) return labels[i] > best_.literals[i].label;
  // the same labels: only another sign could come first, or signs that were chosen before
  for (const Literal& literal : chosen_)
    for (const HeadLiteral& has : best_.literals)
      twice = twice || (has.label == literal.literal.label && has.value != literal.literal.value);
  return !twice;
}

// The chosen literals as a head.
void FunctionHeads::offer(const Counts& counts, double value) {
  if (has_best_ && value < value_) return;
  Head head;
  head.value = {Valuer::in_order(value), 1};
  head.tp = counts.tp;
  for (const Literal& literal : chosen_) head.literals.push_back(literal.literal);
  std::sort(head.literals.begin(), head.literals.end(), [](auto& a, auto& b) { return a.label < b.label; });
  const auto outranks = [&] {
    if (head.literals.size() != best_.literals.size()) return head.literals.size() > best_.literals.size();
    if (head.tp != best_.tp) return head.tp > best_.tp;
    for (std::size_t i = 0; i < head.literals.size(); ++i)
      if (head.literals[i].label != best_.literals[i].label)
        return head.literals[i].label < best_.literals[i].label;
    for (std::size_t i = 0; i < head.literals.size(); ++i)
      if (head.literals[i].value != best_.literals[i].value)
        return head.literals[i].value > best_.literals[i].value;
    return false;
  };
  if (best_.any() && value == value_ && !outranks()) return;
  best_ = std::move(head);
  has_best_ = true;
  value_ = value;
}

}  // namespace polyrule
