#include <numeric>

#include "count.hpp"

namespace polyrule_count {
namespace {

// Candidates of one column, compared with the best so far.
class ColumnDecider {
 public:
  ColumnDecider(const NodeView& node, const ColumnView& column, const Measure& measure, const std::int64_t* total,
                const std::uint8_t* allowed, std::int64_t min_coverage)
      : node_(node), column_(column), measure_(measure), total_(total), allowed_(allowed), least_(min_coverage),
        width_(node.labels * kKinds), bins_(column.end - column.start - 1), upto_(width_, 0), all_(width_, 0) {}

  // True where the best changed; `bin` and `above` then say to what.
  bool improve(Candidate& best, std::int64_t& bin, bool& above) {
    return column_.numeric ? numeric(best, bin, above) : equality(best, bin, above);
  }

 private:
  const std::int64_t* bin_kinds(std::int64_t b) const { return node_.kinds + std::size_t(column_.start + b) * width_; }
  std::int64_t weight(std::int64_t b) const { return node_.weight[column_.start + b]; }
  std::int64_t occurs(std::int64_t b) const { return node_.occurs[column_.start + b]; }

  bool offer(const i64* counts, bool above, i64 covered, std::int64_t b, Candidate& best, std::int64_t& bin,
             bool& best_above) {
    if (covered < least_) return false;
    // Columns and bins come in canonical order: only a truly better one replaces the best.
    Candidate found = judge(measure_, counts, all_.data(), above, reinterpret_cast<const i64*>(total_), allowed_,
                            static_cast<int>(node_.labels), column_.own_label, best.order < 0 ? 0 : best.order + 1);
    if (!better(found, best)) return false;
    best = found;
    bin = b;
    best_above = above;
    return true;
  }

  bool numeric(Candidate& best, std::int64_t& bin, bool& above) {
    std::int64_t known = 0, working_known = 0;
    for (std::int64_t b = 0; b < bins_; ++b) {
      known += weight(b);
      working_known += occurs(b);
      const std::int64_t* row = bin_kinds(b);
      for (std::size_t k = 0; k < width_; ++k) all_[k] += row[k];
    }
    const std::int64_t missing = weight(bins_);
    std::int64_t upto = 0, working_upto = 0;
    bool changed = false;
    for (std::int64_t b = 0; b < bins_; ++b) {
      const std::int64_t working_before = working_upto;
      upto += weight(b);
      working_upto += occurs(b);
      if (weight(b)) {
        const std::int64_t* row = bin_kinds(b);
        for (std::size_t k = 0; k < width_; ++k) upto_[k] += row[k];
      }
      for (const bool side : {false, true})
        if (is_cut(side, weight(b), upto, known, missing, working_before, working_upto, working_known))
          changed |= offer(upto_.data(), side, side ? known - upto : upto, b, best, bin, above);
    }
    return changed;
  }

  bool equality(Candidate& best, std::int64_t& bin, bool& above) {
    const std::int64_t whole =
        std::accumulate(node_.weight + column_.start, node_.weight + column_.end, std::int64_t{0});
    bool changed = false;
    for (std::int64_t b = 0; b < bins_; ++b)
      if (weight(b) > 0 && weight(b) < whole)
        changed |= offer(reinterpret_cast<const i64*>(bin_kinds(b)), false, weight(b), b, best, bin, above);
    return changed;
  }

  const NodeView& node_;
  const ColumnView& column_;
  const Measure& measure_;
  const std::int64_t* total_;
  const std::uint8_t* allowed_;
  std::int64_t least_;
  std::size_t width_;
  std::int64_t bins_;
  std::vector<i64> upto_, all_;
};

}  // namespace

Decision decide(const NodeView& node, const std::vector<ColumnView>& columns, const Measure& measure,
                const std::int64_t* total, const std::uint8_t* allowed, std::int64_t min_coverage) {
  Decision decision;
  Candidate best{0, 1, 0, -1};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    ColumnDecider decider(node, columns[c], measure, total, allowed, min_coverage);
    if (decider.improve(best, decision.bin, decision.above)) decision.column = c;
  }
  decision.any = best.order >= 0;
  return decision;
}

}  // namespace polyrule_count
