// The features. A learner asks them three things: which rows a condition covers, in which order the rows of a cover
// lie, and which threshold separates two neighbouring values.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "core/bits.hpp"
#include "core/limits.hpp"

namespace polyrule {

// In ordered lists of rows: the first row of a distinct value.
inline constexpr std::uint32_t kStarts = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kEntry = kStarts - 1;

enum class Test : std::uint8_t { at_most = 0, above = 1, category = 2, label = 3 };

// A condition while it is searched for. Thresholds are known by the largest covered value on their left (`edge`); the
// number that is shown depends on the working set and is computed for the winner only.
struct Condition {
  Test test = Test::at_most;
  bool below_all = false;  // `above` a threshold below every covered value: excludes missing values only
  std::uint32_t index = 0;
  double edge = 0;  // numeric: see above; category index; label value
  bool operator==(const Condition&) const = default;
};

// A condition as it is stored, with its threshold.
struct ShownCondition {
  Test test;
  std::uint32_t index;
  double value;
  bool operator==(const ShownCondition&) const = default;
};

// Canonical order: features by column, then labels; thresholds ascending, at one threshold `<=` first; values
// ascending.
inline bool comes_before(const Condition& a, const Condition& b) {
  const bool label_a = a.test == Test::label, label_b = b.test == Test::label;
  if (label_a != label_b) return label_b;
  if (a.index != b.index) return a.index < b.index;
  if (a.below_all != b.below_all) return a.below_all;
  if (a.edge != b.edge) return a.edge < b.edge;
  return a.test < b.test;
}

// The numbers of a dense column where the caller keeps them: every `stride`th, in a type that is exact as a double.
class Numbers {
 public:
  using Pointer = std::variant<const double*, const float*, const std::int8_t*, const std::uint8_t*,
                               const std::int16_t*, const std::uint16_t*, const std::int32_t*>;

  Numbers() = default;
  Numbers(Pointer at, std::ptrdiff_t stride) : at_(at), stride_(stride) {}

  // Loops over many rows are made once for every type: read(value_of(row)).
  template <class Read>
  auto read(Read&& read) const {
    const auto typed = [&](auto at) {
      if (stride_ == 1) return read([at](std::size_t row) { return at[row]; });
      return read([at, this](std::size_t row) { return at[std::ptrdiff_t(row) * stride_]; });
    };
    return std::visit(typed, at_);
  }

  explicit operator bool() const { return stride_ != 0; }
  double operator[](std::size_t row) const {
    return read([row](auto value) { return double(value(row)); });
  }

 private:
  Pointer at_;
  std::ptrdiff_t stride_ = 0;
};

// How the candidates of a column are looked for.
enum class Shape : std::uint8_t {
  constant,  // one value and nothing missing: no candidates
  listed,    // nominal, or numeric with two values: a candidate is a whole list of rows
  sorted,    // numeric: `rows` are all rows by ascending value
  blocked,   // numeric, one value (the block's) on most rows: `rows` are the others
  binned,    // numeric in a large table: bins of neighbouring values, sorted only where it matters
};

// One feature. Rows are listed by ascending value, missing ones apart. The rows of the *block*, the most frequent value
// of a listed or blocked column, are not listed: whatever is counted for them is the cover's total minus the rest.
struct Column {
  static constexpr std::size_t kMostBins = 255;
  static constexpr std::uint8_t kMissingBin = 255;

  Shape shape = Shape::constant;
  bool nominal = false;
  bool has_block = false;
  double block = 0;
  Numbers dense;               // by row, where the table is dense
  std::vector<Row> rows;       // sorted: with kStarts where a distinct value starts
  std::vector<double> values;  // of `rows`, where the table is sparse
  std::vector<Row> missing;
  std::size_t below = 0;                                // listed rows with a value below the block's
  std::shared_ptr<const std::vector<double>> expanded;  // by row, the values of a sparse column that is not mostly one
  std::vector<std::uint8_t> bins;                       // by row
  std::vector<double> cuts;                             // bin b has the values up to cuts[b] and above cuts[b - 1]
  double min_value = 0, max_value = 0;                  // in the working set
  std::shared_ptr<const Bits> followed;                 // the working set that sorted rows and the two above go by

  double value_at(std::size_t place) const { return values.empty() ? dense[row_at(place)] : values[place]; }
  Row row_at(std::size_t place) const { return rows[place] & kEntry; }
};

// A table as it comes: a dense matrix, or the stored cells of each column.
struct DenseSource {
  std::vector<Numbers> columns;
  std::size_t rows;
};
struct SparseSource {
  const double* data;
  const std::int32_t* indices;
  const std::int64_t* starts;
  std::size_t rows;
};

class Columns {
 public:
  Columns(const DenseSource& source, const std::vector<bool>& nominal, const Limits& limits, int threads);
  Columns(const SparseSource& source, const std::vector<bool>& nominal, const Limits& limits, int threads);

  std::size_t size() const { return columns_.size(); }
  std::size_t rows() const { return rows_; }
  const Column& operator[](std::size_t i) const { return columns_[i]; }
  Column& operator[](std::size_t i) { return columns_[i]; }

  // The rows of `cover` that satisfy a condition on a feature.
  Bits covered(const Condition& condition, const Bits& cover) const;
  // The threshold as it is shown: the lowest midpoint of working-set values that cuts the cover like `condition`.
  double threshold(const Condition& condition, const Bits& working) const;
  ShownCondition shown_condition(const Condition& condition, const Bits& working) const {
    const bool numeric = condition.test == Test::at_most || condition.test == Test::above;
    return {condition.test, condition.index, numeric ? threshold(condition, working) : condition.edge};
  }
  // Rows have left the working set: sorted columns drop them, and the extremes of the values are found again.
  void follow(std::size_t column, const std::shared_ptr<const Bits>& now);

 private:
  template <class Fill>
  void build(const std::vector<bool>& nominal, int threads, Fill&& fill);
  bool next_value(const Column& column, double value, bool from_start, const Bits& working, double& next) const;

  std::size_t rows_;
  std::vector<Column> columns_;
};

// Copies the entries that are inside, keeping track of where distinct values start; `out` may be `in`. map[entry] is
// what an entry becomes, or kOutside.
inline constexpr std::uint32_t kOutside = UINT32_MAX;
std::size_t filter_entries(const std::uint32_t* in, std::size_t size, const std::uint32_t* map, std::uint32_t* out);

// Halfway between two doubles where they allow it, in any case low <= midpoint < high.
double midpoint(double low, double high);

}  // namespace polyrule
