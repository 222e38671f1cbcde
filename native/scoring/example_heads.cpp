#include "scoring/example_heads.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/lanes.hpp"
#include "core/natural.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kLanes = 8;

POLYRULE_VECTOR_CLONES double dot(const double* a, const double* b, std::size_t count) {
  using Eight = Lanes<double, kLanes>;
  Eight sum = fill<Eight>(0.0);
  for (std::size_t i = 0; i < count; i += kLanes) {
    Eight left, right;
    std::memcpy(&left, a + i, sizeof left);
    std::memcpy(&right, b + i, sizeof right);
    sum = sum + left * right;
  }
  double total = 0;
  for (std::size_t i = 0; i < kLanes; ++i) total += sum[i];
  return total;
}

}  // namespace

ExampleHeads::ExampleHeads(const Node& node, const State& state, const Form& form, const TimeCheck& time_check)
    : form_(form), time_check_(time_check), total_(node.weight) {
  for (const NodeLabel& label : node.labels) {
    labels_ += label.any();
    for (int v = 1; v >= 0; --v)
      if (label.usable(v)) literals_.push_back({label.label, v, label.outcomes[v], label.outcomes[1 - v]});
  }
  rounding_ = 1e-11 * double(total_);
  if (form_.den[1] != form_.den[2]) merge_examples(node, state);
}

bool ExampleHeads::applies(const Node& node) {
  return std::all_of(node.labels.begin(), node.labels.end(), [&](const NodeLabel& label) {
    return !label.any() || label.outcomes[kPresent] + label.outcomes[kAbsent] == node.weight;
  });
}

// Examples with the same labels are one.
void ExampleHeads::merge_examples(const Node& node, const State& state) {
  std::vector<std::uint32_t> labels;
  for (const Literal& literal : literals_)
    if (labels.empty() || labels.back() != literal.label) labels.push_back(literal.label);
  std::map<std::vector<Word>, Count> patterns;
  std::vector<Word> row(words_for(labels.size()));
  for (const Row i : node.rows) {
    std::fill(row.begin(), row.end(), Word{0});
    for (std::size_t l = 0; l < labels.size(); ++l)
      if (state.truth.test(labels[l], i)) row[l >> 6] |= Word{1} << (l & 63);
    patterns[row] += state.weights[i];
  }
  examples_ = patterns.size();
  stride_ = (examples_ + kLanes - 1) / kLanes * kLanes;
  wrong_.assign(literals_.size() * stride_, 0.0);
  for (const auto& [bits, weight] : patterns) {
    const std::size_t at = weights_.size();
    weights_.push_back(weight);
    for (std::size_t c = 0, l = 0; c < literals_.size(); ++c) {
      while (labels[l] != literals_[c].label) ++l;
      const int truth = static_cast<int>(bits[l >> 6] >> (l & 63) & 1);
      if (truth != literals_[c].value) wrong_[c * stride_ + at] = double(weight);
    }
  }
}

ExampleHeads::Found ExampleHeads::best() {
  if (literals_.empty()) return {};
  if (form_.den[1] == form_.den[2]) return {best_single_values(), false};
  const std::size_t max_size = std::min(form_.max_head, labels_);
  // A start: of every size the labels that are wrong least often.
  Numbers by_errors;
  for (std::uint32_t c = 0; c < literals_.size(); ++c) {
    if (!by_errors.empty() && literals_[by_errors.back()].label == literals_[c].label) {
      if (literals_[c].fp < literals_[by_errors.back()].fp) by_errors.back() = c;
    } else {
      by_errors.push_back(c);
    }
  }
  std::stable_sort(by_errors.begin(), by_errors.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return literals_[a].fp < literals_[b].fp; });
  struct Size {
    double bound;
    std::size_t size;
  };
  std::vector<Size> sizes;
  Count errors = 0;
  for (std::size_t k = 1; k <= max_size; ++k) {
    errors += literals_[by_errors[k - 1]].fp;
    const double one = double(form_.den[2]) / double(denominator(k, 1));
    sizes.push_back({double(errors) * one, k});
  }
  std::sort(sizes.begin(), sizes.end(),
            [](const Size& a, const Size& b) { return a.bound != b.bound ? a.bound < b.bound : a.size > b.size; });
  for (const Size& size : sizes) {
    if (has_best_ && size.bound > best_.loss + rounding_) break;
    losses_ = losses(size.size);
    offer(Numbers(by_errors.begin(), by_errors.begin() + static_cast<std::ptrdiff_t>(size.size)));
  }
  for (const Size& size : sizes) {
    if (size.bound > best_.loss + rounding_) break;
    search(size.size);
  }
  return {head_of(best_), most_right_ > best_.tp};
}

// With b = c a head is worth the mean of its literals.
Head ExampleHeads::best_single_values() const {
  Head head;
  Count max_tp = 0;
  for (const Literal& literal : literals_) max_tp = std::max(max_tp, literal.tp);
  for (const Literal& literal : literals_) {
    const bool twice = !head.literals.empty() && head.literals.back().label == literal.label;
    if (literal.tp == max_tp && !twice && head.literals.size() < form_.max_head)
      head.literals.push_back({literal.label, literal.value, literal.tp, literal.fp});
  }
  head.tp = max_tp * static_cast<Count>(head.literals.size());
  head.value = make_fraction(Wide(form_.num[1]) * max_tp, Wide(form_.den[1]) * total_);
  return head;
}

Head ExampleHeads::head_of(const KnownHead& solution) const {
  Head head;
  for (const std::uint32_t c : solution.literals)
    head.literals.push_back({literals_[c].label, literals_[c].value, literals_[c].tp, literals_[c].fp});
  head.tp = solution.tp;
  head.errors = solution.errors;
  constexpr Count kSteps = Count{1} << 40;  // what is shown meanwhile need not be exact
  const double value = double(form_.num[1]) / double(form_.den[1]) * (1 - solution.loss / double(total_));
  head.value = {Wide(Count(value * double(kSteps))), Wide(kSteps)};
  return head;
}

Count ExampleHeads::denominator(std::size_t size, std::size_t wrong) const {
  return form_.den[1] * static_cast<Count>(size) - (form_.den[1] - form_.den[2]) * static_cast<Count>(wrong);
}

ExampleHeads::Losses ExampleHeads::losses(std::size_t size) const {
  Losses out;
  out.size = size;
  for (std::size_t e = 0; e <= size; ++e) {
    out.at.push_back(double(form_.den[2]) * double(e) / double(denominator(size, e)));
    if (e > 0) out.step.push_back(out.at[e] - out.at[e - 1]);
  }
  return out;
}

void ExampleHeads::search(std::size_t size) {
  losses_ = losses(size);
  Numbers everything(literals_.size()), head_so_far;
  for (std::uint32_t c = 0; c < everything.size(); ++c) everything[c] = c;
  descend(head_so_far, std::vector<std::uint16_t>(stride_, 0), std::move(everything));
}

// Sums of lines: what the candidates add, in order, and the bound for `open` of them.
void ExampleHeads::bound_by_lines(Lines& lines, const std::vector<std::uint16_t>& wrong, const Numbers& candidates,
                                  std::size_t open) const {
  std::vector<double> slope(stride_, 0.0);
  lines.base = 0;
  for (std::size_t i = 0; i < examples_; ++i) {
    const std::size_t at = lines.at[i];
    slope[i] = losses_.step[at];
    lines.base += double(weights_[i]) * (losses_.at[at] - slope[i] * (double(at) - double(wrong[i])));
  }
  lines.gains.resize(literals_.size());
  for (const std::uint32_t c : candidates) lines.gains[c] = dot(wrong_weights(c), slope.data(), stride_);
  lines.order = candidates;
  std::sort(lines.order.begin(), lines.order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lines.gains[a] != lines.gains[b] ? lines.gains[a] < lines.gains[b] : a < b;
  });
  lines.bound = lines.base;
  for (std::size_t i = 0; i < open && i < lines.order.size(); ++i) lines.bound += lines.gains[lines.order[i]];
}

void ExampleHeads::descend(Numbers& head_so_far, const std::vector<std::uint16_t>& wrong, Numbers candidates) {
  const std::size_t open = losses_.size - head_so_far.size();
  if (candidates.size() < open) return;
  time_check_.step();
  const int rounds = open == 1 ? 1 : head_so_far.empty() ? 12 : 4;
  Lines lines, best;
  lines.at.resize(examples_);
  std::vector<double> guess(wrong.begin(), wrong.end());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < examples_; ++i)
      lines.at[i] = static_cast<std::uint16_t>(std::min(guess[i], double(losses_.size - 1)));
    bound_by_lines(lines, wrong, candidates, open);
    if (is_hopeless(lines.bound, lines, wrong, head_so_far, lines.order.data(), lines.order.size(), open)) return;
    // A literal that is in no head as good as the best is dropped.
    const double last = lines.gains[lines.order[open - 1]];
    std::erase_if(candidates, [&](std::uint32_t c) {
      return lines.gains[c] > last && lines.bound - last + lines.gains[c] > best_.loss + rounding_;
    });
    if (round == 0 || lines.bound > best.bound) best = lines;
    if (round + 1 == rounds) break;
    // The guess moves less and less towards what is best under the lines (the method of Frank and Wolfe).
    const double share = 2.0 / (round + 2);
    for (std::size_t i = 0; i < examples_; ++i) guess[i] += share * (double(wrong[i]) - guess[i]);
    for (std::size_t j = 0; j < open; ++j) {
      const double* bad = wrong_weights(lines.order[j]);
      for (std::size_t i = 0; i < examples_; ++i) guess[i] += bad[i] > 0 ? share : 0;
    }
  }
  std::vector<char> is_candidate(literals_.size(), 0);
  for (const std::uint32_t c : candidates) is_candidate[c] = 1;
  std::erase_if(best.order, [&](std::uint32_t c) { return !is_candidate[c]; });
  if (best.order.size() < open) return;
  if (open > 1) {  // the choice under the lines is a head, too
    Numbers head = head_so_far;
    for (const std::uint32_t c : best.order) {
      const bool has = std::any_of(head.begin(), head.end(),
                                   [&](std::uint32_t d) { return literals_[d].label == literals_[c].label; });
      if (!has && head.size() < losses_.size) head.push_back(c);
    }
    if (head.size() == losses_.size) offer(std::move(head));
  }
  std::vector<std::uint16_t> next(wrong);
  for (std::size_t i = 0; i + open <= best.order.size(); ++i) {
    double bound = best.base;
    for (std::size_t j = i; j < i + open; ++j) bound += best.gains[best.order[j]];
    if (bound > best_.loss + rounding_) break;
    const std::uint32_t c = best.order[i];
    if (is_hopeless(bound, best, wrong, head_so_far, best.order.data() + i, best.order.size() - i, open)) continue;
    head_so_far.push_back(c);
    if (open == 1) {
      offer(head_so_far);
    } else {
      const double* bad = wrong_weights(c);
      for (std::size_t e = 0; e < examples_; ++e) next[e] = static_cast<std::uint16_t>(wrong[e] + (bad[e] > 0));
      Numbers left;
      for (std::size_t j = i + 1; j < best.order.size(); ++j)
        if (literals_[best.order[j]].label != literals_[c].label) left.push_back(best.order[j]);
      descend(head_so_far, next, std::move(left));
    }
    head_so_far.pop_back();
  }
}

// Whether no head with the chosen literals and `open` of the candidates, which are in the order of the lines, is of any
// interest. What is too near to tell is computed exactly: lines through two losses are whole multiples of them.
bool ExampleHeads::is_hopeless(double bound, const Lines& lines, const std::vector<std::uint16_t>& wrong,
                               const Numbers& head_so_far, const std::uint32_t* first, std::size_t candidates,
                               std::size_t open) const {
  if (bound > best_.loss + rounding_) return true;
  if (bound < best_.loss - rounding_ || !loses_ties(head_so_far, first, candidates, open)) return false;
  std::vector<Count> ahead(examples_);  // of the place where the line is laid, by example
  for (std::size_t i = 0; i < examples_; ++i) ahead[i] = Count(wrong[i]) - Count(lines.at[i]);
  for (std::size_t j = 0; j < open; ++j) {
    const double* bad = wrong_weights(first[j]);
    for (std::size_t i = 0; i < examples_; ++i) ahead[i] += bad[i] > 0;
  }
  std::vector<Count> multiples(losses_.size + 1, 0);
  for (std::size_t i = 0; i < examples_; ++i) {
    multiples[lines.at[i]] += weights_[i] * (1 - ahead[i]);
    multiples[lines.at[i] + std::size_t{1}] += weights_[i] * ahead[i];
  }
  return compare_losses(multiples, best_.errors) >= 0;
}

// Whether such a head, if it is just as good as the best one, comes after it and has no more true positives than any
// head known to be as good.
bool ExampleHeads::loses_ties(const Numbers& head_so_far, const std::uint32_t* first, std::size_t candidates,
                              std::size_t open) const {
  if (losses_.size > best_.literals.size()) return false;
  std::vector<Count> right;
  for (std::size_t i = 0; i < candidates; ++i) right.push_back(literals_[first[i]].tp);
  std::partial_sort(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(open), right.end(), std::greater<>());
  Count tp = 0;
  for (const std::uint32_t c : head_so_far) tp += literals_[c].tp;
  for (std::size_t i = 0; i < open; ++i) tp += right[i];
  if (tp > most_right_) return false;
  if (losses_.size < best_.literals.size() || tp < best_.tp) return true;
  // The first labels in order that such a head may have.
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i < candidates; ++i) labels.push_back(literals_[first[i]].label);
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  if (labels.size() < open) return true;
  labels.resize(open);
  for (const std::uint32_t c : head_so_far) labels.push_back(literals_[c].label);
  std::sort(labels.begin(), labels.end());
  return labels > label_numbers(best_.literals);
}

std::vector<std::uint32_t> ExampleHeads::label_numbers(const Numbers& literals) const {
  std::vector<std::uint32_t> labels;
  for (const std::uint32_t c : literals) labels.push_back(literals_[c].label);
  return labels;
}

// A head of the size that is being searched.
void ExampleHeads::offer(Numbers literals) {
  std::sort(literals.begin(), literals.end());
  KnownHead head;
  std::vector<std::uint16_t> wrong(examples_, 0);
  for (const std::uint32_t c : literals) {
    head.tp += literals_[c].tp;
    const double* bad = wrong_weights(c);
    for (std::size_t i = 0; i < examples_; ++i) wrong[i] = static_cast<std::uint16_t>(wrong[i] + (bad[i] > 0));
  }
  head.errors.assign(losses_.size + 1, 0);
  for (std::size_t i = 0; i < examples_; ++i) head.errors[wrong[i]] += weights_[i];
  for (std::size_t e = 0; e <= losses_.size; ++e) head.loss += double(head.errors[e]) * losses_.at[e];
  head.literals = std::move(literals);
  const double above = has_best_ ? head.loss - best_.loss : -1;
  const int order =
      std::abs(above) > rounding_ || !has_best_ ? (above < 0 ? -1 : 1) : compare_losses(head.errors, best_.errors);
  if (order > 0) return;
  most_right_ = order < 0 ? head.tp : std::max(most_right_, head.tp);
  if (order < 0 || outranks(head_of(head).literals, head_of(best_).literals)) best_ = std::move(head);
  has_best_ = true;
}

// Losses by weights for each number of wrong literals, exactly; the heads may be of different sizes.
int ExampleHeads::compare_losses(const std::vector<Count>& a, const std::vector<Count>& b) const {
  if (a == b) return 0;
  std::vector<std::pair<Count, std::uint32_t>> terms;
  for (const auto* errors : {&a, &b})
    for (std::size_t e = 1; e < errors->size(); ++e)
      if ((*errors)[e] != 0)
        terms.emplace_back((errors == &a ? 1 : -1) * (*errors)[e] * static_cast<Count>(e),
                           static_cast<std::uint32_t>(denominator(errors->size() - 1, e)));
  return sign_of_sum(terms);
}

}  // namespace polyrule
