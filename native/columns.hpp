// The features, sorted once. A learner asks them three things: which rows a condition covers, in which order the rows
// of a cover lie, and which threshold separates two neighbouring values.
#pragma once

#include <limits>
#include <vector>

#include "bits.hpp"

namespace polyrule {

// In ordered lists of rows: the first row of a distinct value.
inline constexpr std::uint32_t kStarts = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kRowMask = kStarts - 1;

enum class Test : std::uint8_t { at_most = 0, above = 1, category = 2, label = 3 };

// A condition while it is searched for. Thresholds are known by the largest covered value on their left (`edge`); the
// number that is shown depends on the working set and is computed for the winner only.
struct Condition {
  Test test = Test::at_most;
  bool lowest = false;  // `above` a threshold below every covered value: excludes missing values only
  std::uint32_t index = 0;
  double edge = 0;  // numeric: see above; category index; label value
};

// Canonical order: features by column, then labels; thresholds ascending, at one threshold `<=` first; values ascending.
inline bool comes_before(const Condition& a, const Condition& b) {
  const bool label_a = a.test == Test::label, label_b = b.test == Test::label;
  if (label_a != label_b) return label_b;
  if (a.index != b.index) return a.index < b.index;
  if (a.lowest != b.lowest) return a.lowest;
  if (a.edge != b.edge) return a.edge < b.edge;
  return a.test < b.test;
}

// One feature. Rows are listed by ascending value, missing ones apart. Where one value is held by more than half of
// the rows (the zeros of a sparse table, the usual category), its rows are the *block* and are not listed: whatever is
// counted for them is the cover's total minus the rest.
struct Column {
  bool nominal = false;
  bool blocked = false;
  double block = 0;
  const double* dense = nullptr;  // the whole column, where the table is dense
  std::vector<Row> rows;
  std::vector<double> values;  // of the listed rows, where the table is sparse
  std::vector<Row> missing;
  std::size_t below = 0;  // listed rows with a value below the block's

  // Numeric columns without a block are *ordered*: `rows` lists row numbers in which the top bit marks the first row of
  // each distinct value, rows that have left the working set are taken out now and then, and `path` holds the same for
  // the cover of the last node of the rule under search (covers along a rule are nested, so each is filtered from the last).
  bool ordered = false;
  std::vector<double> own;  // the values by row, where the table is sparse
  std::vector<std::uint32_t> path;
  std::size_t path_size = 0, path_rows = 0;
  std::uint64_t path_id = 0, working_version = 0;

  double value_at(std::size_t place) const { return values.empty() ? dense[row_at(place)] : values[place]; }
  Row row_at(std::size_t place) const { return rows[place] & kRowMask; }
};

class Columns {
 public:
  // `values` is in column-major order.
  static Columns from_dense(const double* values, std::size_t rows, const std::vector<bool>& nominal, int threads);
  static Columns from_sparse(const double* data, const std::int32_t* indices, const std::int64_t* starts,
                             std::size_t rows, const std::vector<bool>& nominal, int threads);

  std::size_t size() const { return columns_.size(); }
  const Column& operator[](std::size_t i) const { return columns_[i]; }
  Column& operator[](std::size_t i) { return columns_[i]; }

  // The rows of `cover` that satisfy a condition on a feature.
  Bits covered(const Condition& condition, const Bits& cover) const;
  // The threshold as it is shown: the lowest midpoint of working-set values that cuts the cover like `condition`.
  double threshold(const Condition& condition, const Bits& working) const;
  // Whether a row of `working` has a value above / below `value`.
  bool any_above(std::size_t column, double value, const Bits& working) const;
  bool any_below(std::size_t column, double value, const Bits& working) const;

 private:
  explicit Columns(std::size_t rows) : rows_(rows) {}
  void finish(Column& column);
  bool next_value(const Column& column, double value, bool from_start, const Bits& working, double& found) const;

  std::size_t rows_;
  std::vector<Column> columns_;
};

// Copy the rows that are inside, keeping track of where distinct values start; `out` may be `in`.
std::size_t filter_rows(const std::uint32_t* in, std::size_t size, const std::uint8_t* inside, std::uint32_t* out);

// Halfway between two doubles where they allow it, in any case low <= midpoint < high.
double midpoint(double low, double high);

}  // namespace polyrule
