// A quick test of bodies for a monotone function of the counts summed over a head: can any head reach a value? From
// what literals have at most, at one boundary or over a stretch of them.
//
// Of heads of k literals, look at the literal with the most false positives, the r-th in their order. The head has at
// least its FP and the k - 1 fewest, and at most its TP and the k - 1 most of the literals before it.
#include <algorithm>
#include <vector>

#include "scoring/monotone_bounds.hpp"
#include "search/filter.hpp"

namespace polyrule {

namespace {

class FunctionFilter : public Filter {
 public:
  explicit FunctionFilter(const Judged& judged)
      : labels_(judged.labels), form_(judged.form), sums_(judged.sums), singles_(judged.form.kind == HeadKind::counted),
        max_count_(judged.state.working_weight * static_cast<Count>(std::max<std::size_t>(1, judged.labels.size()))) {}

  void set_level(const Fraction& level) override { level_ = Valuer::from_order(static_cast<Count>(level.num)); }

  double judge(const Stretch& stretch) override {
    form_.monotone_bounds->begin(level_, max_count_);
    collect(stretch);
    tp_ = Count(kNone);
    const std::size_t sizes = std::min(form_.max_head, tn_.size());
    if (sizes == 0) return kNone;
    if (singles_) return judge_singles();
    std::sort(tn_.begin(), tn_.end(), std::greater<>());
    std::sort(fn_.begin(), fn_.end());
    std::sort(literals_.begin(), literals_.end(), [](auto& a, auto& b) { return a.fp < b.fp; });
    right_.clear();
    for (const Counts& literal : literals_) right_.push_back(literal.tp);
    std::sort(right_.begin(), right_.end(), std::greater<>());
    corners_.assign(1, {});
    for (std::size_t k = 0; k < sizes; ++k) {
      const Counts& last = corners_.back();
      corners_.push_back({last.tp + right_[k], last.fp + literals_[k].fp, last.tn + tn_[k], last.fn + fn_[k]});
    }
    for (std::size_t k = 1; k <= sizes; ++k)
      if (form_.monotone_bounds->look(corners_[k]) != MonotoneBounds::Answer::below && passes_by_worst(k, corners_[k]))
        return kAny;
    return double(tp_);
  }

 private:
  double judge_singles() {
    Counts best = literals_.front();
    for (const Counts& literal : literals_)
      best = {std::max(best.tp, literal.tp), std::min(best.fp, literal.fp), std::max(best.tn, literal.tn),
              std::min(best.fn, literal.fn)};
    if (form_.monotone_bounds->is_below(best)) return kNone;
    for (const Counts& literal : literals_)
      if (passes(literal)) return kAny;
    return double(tp_);
  }

  // Whether counts may be worth more than the level; those that are just worth it are noted.
  bool passes(const Counts& counts) {
    const MonotoneBounds::Answer answer = form_.monotone_bounds->look(counts);
    if (answer == MonotoneBounds::Answer::tie)  // single literals that tie make one head
      tp_ = singles_ ? std::max<Count>(0, tp_) + counts.tp : std::max(tp_, counts.tp);
    return answer == MonotoneBounds::Answer::perhaps;
  }

  // The same for any head of size k, literal by literal as the one with the most false positives.
  bool passes_by_worst(std::size_t k, const Counts& corner) {
    Count fewest = 0, sum = 0,
          highest = -1;  // FP of the first k - 1, TP of the best k - 1, and what has been looked at
    right_before_.clear();
    for (std::size_t r = 0; r < literals_.size(); ++r) {
      const Counts& last = literals_[r];
      if (r + 1 >= k && (k == 1 || last.tp + sum > highest)) {
        highest = last.tp + sum;
        if (passes(k == 1 ? last : Counts{highest, fewest + last.fp, corner.tn, corner.fn})) return true;
      }
      if (r + 1 < k) fewest += last.fp;
      // the smallest of the k - 1 largest is in front
      right_before_.push_back(last.tp);
      std::push_heap(right_before_.begin(), right_before_.end(), std::greater<>());
      sum += last.tp;
      if (right_before_.size() < k) continue;
      std::pop_heap(right_before_.begin(), right_before_.end(), std::greater<>());
      sum -= right_before_.back();
      right_before_.pop_back();
    }
    return false;
  }

  void collect(const Stretch& stretch) {
    literals_.clear();
    tn_.clear();
    fn_.clear();
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const NodeLabel& label = labels_[e];
      const auto [low, high] = sums_.ends(stretch, e);
      const Count tn = label.absent - low[3], fn = label.present - high[2];
      const bool present = label.allowed[1] && high[0] > 0, absent = label.allowed[0] && high[1] > 0;
      if (present) literals_.push_back({high[0], low[1], tn, fn});
      if (absent) literals_.push_back({high[1], low[0], tn, fn});
      if (!present && !absent) continue;
      tn_.push_back(tn);
      fn_.push_back(fn);
    }
  }

  const std::vector<NodeLabel>& labels_;
  const Form& form_;
  const Sums& sums_;
  const bool singles_;  // a head is worth as much as its best literal
  const Count max_count_;
  double level_ = 0;
  Count tp_ = 0;  // of a head that ties
  std::vector<Counts> literals_;
  std::vector<Counts> corners_;  // by size: what no head exceeds
  std::vector<Count> tn_, fn_, right_, right_before_;
};

}  // namespace

std::unique_ptr<Filter> make_function_filter(const Judged& judged) { return std::make_unique<FunctionFilter>(judged); }

}  // namespace polyrule
