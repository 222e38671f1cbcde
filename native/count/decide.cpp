#include <numeric>

#include "count/count.hpp"

namespace polyrule_count {
namespace {

class Decider {
 public:
  Decider(const NodeView& node, const Measure& measure, const std::int64_t* total, const std::uint8_t* allowed,
          std::int64_t min_coverage)
      : node_(node), measure_(measure), total_(reinterpret_cast<const i64*>(total)), allowed_(allowed),
        min_coverage_(min_coverage), width_(node.labels * kOutcomes) {}

  // Columns come in canonical order, and so do their bins: only a truly better candidate replaces the best.
  void look_at(std::size_t number, const ColumnView& column) {
    const std::int64_t missing = column.end - 1;  // their bin
    if (!column.numeric) return look_at_values(number, column, missing);
    upto_.assign(width_, 0);
    all_.assign(width_, 0);
    for (std::int64_t b = column.start; b < missing; ++b) add(b, all_);
    const std::int64_t known_weight = sum(node_.weight, column.start, missing);
    const std::int64_t working_known = sum(node_.occurs, column.start, missing);
    std::int64_t upto = 0, working_upto = 0;
    for (std::int64_t b = column.start; b < missing; ++b) {
      const std::int64_t working_before = working_upto;
      upto += node_.weight[b];
      working_upto += node_.occurs[b];
      add(b, upto_);
      for (const bool above : {false, true})
        if (is_threshold(above, node_.weight[b], upto, known_weight, node_.weight[missing], working_before,
                         working_upto, working_known))
          offer(number, column, b, above, above ? known_weight - upto : upto, upto_.data());
    }
  }

  const Decision& decision() const { return decision_; }

 private:
  void look_at_values(std::size_t number, const ColumnView& column, std::int64_t missing) {
    const std::int64_t whole = sum(node_.weight, column.start, column.end);
    for (std::int64_t b = column.start; b < missing; ++b)
      if (node_.weight[b] > 0 && node_.weight[b] < whole) offer(number, column, b, false, node_.weight[b], outcomes(b));
  }

  void offer(std::size_t number, const ColumnView& column, std::int64_t bin, bool above, i64 covered,
             const i64* counts) {
    if (covered < min_coverage_) return;
    const Candidate met = judge(measure_, counts, all_.data(), above, total_, allowed_, static_cast<int>(node_.labels),
                                column.own_label, best_.order + 1);
    if (!better(met, best_)) return;
    best_ = met;
    decision_ = {true, number, bin - column.start, above};
  }

  const i64* outcomes(std::int64_t bin) const {
    return reinterpret_cast<const i64*>(node_.outcomes) + static_cast<std::size_t>(bin) * width_;
  }
  void add(std::int64_t bin, std::vector<i64>& counts) const {
    if (node_.weight[bin] == 0) return;
    for (std::size_t k = 0; k < width_; ++k) counts[k] += outcomes(bin)[k];
  }
  static std::int64_t sum(const std::int64_t* weights, std::int64_t first, std::int64_t last) {
    return std::accumulate(weights + first, weights + last, std::int64_t{0});
  }

  const NodeView& node_;
  const Measure& measure_;
  const i64* total_;
  const std::uint8_t* allowed_;
  const std::int64_t min_coverage_;
  const std::size_t width_;
  std::vector<i64> upto_, all_;
  Candidate best_{0, 1, 0, -1};
  Decision decision_;
};

}  // namespace

Decision decide(const NodeView& node, const std::vector<ColumnView>& columns, const Measure& measure,
                const std::int64_t* total, const std::uint8_t* allowed, std::int64_t min_coverage) {
  Decider decider(node, measure, total, allowed, min_coverage);
  for (std::size_t c = 0; c < columns.size(); ++c) decider.look_at(c, columns[c]);
  return decider.decision();
}

}  // namespace polyrule_count
