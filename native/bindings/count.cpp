// Counts of rows, what is decided from them, and sums over covers, as Python calls them.
#include "count/count.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include <array>
#include <optional>

#include "bindings/bindings.hpp"
#include "count/covers.hpp"

namespace polyrule {
namespace {

using namespace polyrule_count;

// Codes are read where they lie: an array of another type is refused, never converted into a copy that would be gone.
template <class Code>
bool read_codes(const nb::object& codes, BlockView& block) {
  Matrix<Code> typed;
  if (!nb::try_cast(codes, typed, false)) return false;
  block.codes = typed.data();
  block.wide_codes = sizeof(Code) > 1;
  block.features = typed.shape(0);
  block.rows = typed.shape(1);
  return true;
}

void py_count_rows(const nb::object& codes, const Matrix<std::uint64_t>& truth, const Matrix<std::uint64_t>& set,
                   const Matrix<std::uint64_t>& value, const std::optional<Vector<std::int64_t>>& weights,
                   const Vector<std::uint32_t>& rows, const Vector<std::int32_t>& columns,
                   const Vector<std::int64_t>& starts, const Vector<std::uint8_t>& modes,
                   const Writable<std::int64_t, 3>& outcomes, const Writable<std::int64_t, 1>& weight) {
  BlockView block;
  require(read_codes<std::uint8_t>(codes, block) || read_codes<std::uint16_t>(codes, block), "count: wrong codes");
  block.words = truth.shape(1);
  block.labels = modes.shape(0);
  block.truth = truth.data();
  block.set = set.data();
  block.value = value.data();
  for (const auto* words : {&truth, &set, &value})
    require(has_shape(*words, block.rows, block.words), "count: wrong shape of labels");
  require(block.labels <= block.words * 64, "count: wrong shape of labels");
  require(!weights || has_shape(*weights, block.rows), "count: one weight per row is needed");
  block.weights = weights ? weights->data() : nullptr;
  require_starts(starts, columns.shape(0), weight.shape(0), "count: wrong starts");
  require(has_shape(outcomes, weight.shape(0), block.labels, kOutcomes), "count: wrong shape of counts");
  require_places(rows, block.rows, "count: no such row");
  require_places(columns, block.features + block.labels, "count: no such column");
  const bool good = unlocked([&] {
    return count_rows(block, rows.data(), rows.shape(0), columns.data(), starts.data(), columns.shape(0), modes.data(),
                      outcomes.data(), weight.data());
  });
  require(good, "count: a code lies outside the bins of its column");
}

using Coefficients = std::array<std::int64_t, 5>;

nb::object py_decide(const Writable<const std::int64_t, 3>& outcomes, const Vector<std::int64_t>& weight,
                     const Vector<std::int64_t>& occurs, const Vector<std::int64_t>& starts,
                     const Vector<std::int64_t>& ends, const Vector<std::uint8_t>& numeric,
                     const Vector<std::int32_t>& own_label, const Matrix<std::uint8_t>& allowed,
                     const Matrix<std::int64_t>& total, const Coefficients& num, const Coefficients& den,
                     std::int64_t min_coverage, bool single) {
  const NodeView node{outcomes.data(), weight.data(), occurs.data(), outcomes.shape(1)};
  const std::size_t bins = weight.shape(0), size = starts.shape(0);
  require(has_shape(outcomes, bins, node.labels, kOutcomes) && has_shape(occurs, bins),
          "decide: wrong shape of counts");
  require(has_shape(allowed, node.labels, 2) && has_shape(total, node.labels, 2), "decide: wrong shape of labels");
  require(has_shape(ends, size) && has_shape(numeric, size) && has_shape(own_label, size), "decide: wrong columns");
  Measure measure{{}, {}, single};
  std::copy(num.begin(), num.end(), measure.num);
  std::copy(den.begin(), den.end(), measure.den);
  std::vector<ColumnView> columns;
  for (std::size_t c = 0; c < size; ++c) {
    require(0 <= starts(c) && starts(c) < ends(c) && is_place(ends(c), bins + 1), "decide: wrong columns");
    require(own_label(c) < 0 || is_place(own_label(c), node.labels), "decide: no such label");
    columns.push_back({starts(c), ends(c), numeric(c) != 0, own_label(c)});
  }
  const Decision decision =
      unlocked([&] { return decide(node, columns, measure, total.data(), allowed.data(), min_coverage); });
  if (!decision.any) return nb::none();
  return nb::make_tuple(decision.column, decision.bin, decision.above);
}

void py_cover_sums(const Matrix<Word>& covers, const Vector<Word>& rows, const Matrix<double>& row_values,
                   const Writable<double, 2>& out, int threads) {
  const std::size_t bodies = covers.shape(0), words = words_for(row_values.shape(0)), end = row_values.shape(0) % 64;
  require(has_shape(covers, bodies, words) && has_shape(rows, words) && has_shape(out, bodies, row_values.shape(1)),
          "cover_sums: wrong shapes");
  require(!end || !(rows(words - 1) >> end), "cover_sums: rows that there are not");
  unlocked([&] {
    cover_sums(covers.data(), bodies, words, rows.data(), row_values.data(), row_values.shape(1), threads, out.data());
  });
}

}  // namespace

void register_count(nb::module_& m) {
  m.def("count_rows", &py_count_rows, "codes"_a, "truth"_a, "set"_a, "value"_a, "weights"_a.none(), "rows"_a,
        "columns"_a, "starts"_a, "modes"_a, "outcomes"_a, "weight"_a);
  m.def("decide_counts", &py_decide, "outcomes"_a, "weight"_a, "occurs"_a, "starts"_a, "ends"_a, "numeric"_a,
        "own_label"_a, "allowed"_a, "total"_a, "num"_a, "den"_a, "min_coverage"_a, "single"_a);
  m.def("cover_sums", &py_cover_sums, "covers"_a, "rows"_a, "row_values"_a, "out"_a, "threads"_a);
}

}  // namespace polyrule
