// Counts of rows, what is decided from them, and sums over covers, as Python calls them.
#include "count/count.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>

#include "bindings/bindings.hpp"
#include "count/covers.hpp"

namespace polyrule {
namespace {

using namespace polyrule_count;

void require(bool good, const char* what) {
  if (!good) throw nb::value_error((std::string("count: wrong shape of ") + what).c_str());
}

// Codes are read where they lie: an array of another type is refused, never converted into a copy that would be gone.
void read_codes(const nb::object& codes, BlockView& block) {
  Matrix<std::uint8_t> bytes;
  Matrix<std::uint16_t> pairs;
  if (nb::try_cast(codes, bytes, false)) {
    block.codes = bytes.data();
    block.features = bytes.shape(0);
    block.rows = bytes.shape(1);
  } else if (nb::try_cast(codes, pairs, false)) {
    block.codes = pairs.data();
    block.wide_codes = true;
    block.features = pairs.shape(0);
    block.rows = pairs.shape(1);
  } else {
    require(false, "codes");
  }
}

void py_count_rows(nb::object codes, const Matrix<std::uint64_t>& truth, const Matrix<std::uint64_t>& set,
                   const Matrix<std::uint64_t>& value, nb::object weights, const Vector<std::uint32_t>& rows,
                   const Vector<std::int32_t>& columns, const Vector<std::int64_t>& starts,
                   const Vector<std::uint8_t>& usual, const Writable<std::int64_t, 3>& kinds,
                   const Writable<std::int64_t, 1>& weight) {
  BlockView block;
  read_codes(codes, block);
  block.words = truth.shape(1);
  block.labels = usual.shape(0);
  block.truth = truth.data();
  block.set = set.data();
  block.value = value.data();
  for (const auto* words : {&truth, &set, &value})
    require(words->shape(0) == block.rows && words->shape(1) == block.words, "labels");
  require(block.labels <= block.words * 64, "labels");
  if (!weights.is_none()) {
    Vector<std::int64_t> own;
    require(nb::try_cast(weights, own, false) && own.shape(0) == block.rows, "weights");
    block.weights = own.data();
  }
  const std::size_t n = rows.shape(0), n_columns = columns.shape(0);
  require(starts.shape(0) == n_columns + 1, "starts");
  require(starts.data()[0] == 0 && std::is_sorted(starts.data(), starts.data() + n_columns + 1), "starts");
  const auto bins = static_cast<std::size_t>(starts.data()[n_columns]);
  require(weight.shape(0) == bins && kinds.shape(0) == bins && kinds.shape(1) == block.labels && kinds.shape(2) == 4,
          "counts");
  require(std::all_of(rows.data(), rows.data() + n, [&](std::uint32_t row) { return row < block.rows; }), "rows");
  for (std::size_t c = 0; c < n_columns; ++c)
    require(columns.data()[c] >= 0 && std::size_t(columns.data()[c]) < block.features + block.labels, "columns");
  bool good = false;
  {
    const nb::gil_scoped_release release;
    good = count_rows(block, rows.data(), n, columns.data(), starts.data(), n_columns, usual.data(), kinds.data(),
                      weight.data());
  }
  if (!good) throw nb::value_error("count: a code lies outside the bins of its column");
}

nb::object py_decide(const Writable<const std::int64_t, 3>& kinds, const Vector<std::int64_t>& weight,
                     const Vector<std::int64_t>& occurs, const Vector<std::int64_t>& starts,
                     const Vector<std::int64_t>& ends, const Vector<std::uint8_t>& numeric,
                     const Vector<std::int32_t>& own, const Matrix<std::uint8_t>& allowed,
                     const Matrix<std::int64_t>& total, const std::vector<std::int64_t>& num,
                     const std::vector<std::int64_t>& den, std::int64_t min_coverage, bool single) {
  NodeView node{kinds.data(), weight.data(), occurs.data(), kinds.shape(1)};
  require(num.size() == 5 && den.size() == 5, "measure");
  require(allowed.shape(0) == node.labels && total.shape(0) == node.labels && kinds.shape(2) == 4, "labels");
  require(allowed.shape(1) == 2 && total.shape(1) == 2, "labels");
  require(weight.shape(0) == kinds.shape(0) && occurs.shape(0) == kinds.shape(0), "counts");
  for (const std::size_t given : {ends.shape(0), numeric.shape(0), own.shape(0)})
    require(given == starts.shape(0), "columns");
  Measure measure;
  std::copy(num.begin(), num.end(), measure.num);
  std::copy(den.begin(), den.end(), measure.den);
  measure.single = single;
  std::vector<ColumnView> columns;
  for (std::size_t c = 0; c < starts.shape(0); ++c) {
    columns.push_back({starts.data()[c], ends.data()[c], numeric.data()[c] != 0, own.data()[c]});
    require(columns.back().start >= 0 && columns.back().end > columns.back().start, "columns");
    require(std::size_t(columns.back().end) <= kinds.shape(0) && own.data()[c] < std::int32_t(node.labels), "columns");
  }
  Decision found;
  {
    const nb::gil_scoped_release release;
    found = decide(node, columns, measure, total.data(), allowed.data(), min_coverage);
  }
  if (!found.any) return nb::none();
  return nb::make_tuple(found.column, found.bin, found.above);
}

void py_cover_sums(const Matrix<Word>& covers, const Vector<Word>& rows, const Matrix<double>& worth,
                   const Writable<double, 2>& out, int threads) {
  const std::size_t bodies = covers.shape(0), words = covers.shape(1), columns = worth.shape(1);
  if (rows.shape(0) != words || words != words_for(worth.shape(0)) || out.shape(0) != bodies || out.shape(1) != columns)
    throw nb::value_error("cover_sums: wrong shapes");
  if (const std::size_t end = worth.shape(0) % 64; end && rows.data()[words - 1] >> end)
    throw nb::value_error("cover_sums: rows that there are not");
  const nb::gil_scoped_release release;
  cover_sums(covers.data(), bodies, words, rows.data(), worth.data(), columns, threads, out.data());
}

}  // namespace

void register_count(nb::module_& m) {
  m.def("count_rows", &py_count_rows, "codes"_a, "truth"_a, "set"_a, "value"_a, "weights"_a.none(), "rows"_a,
        "columns"_a, "starts"_a, "usual"_a, "kinds"_a, "weight"_a);
  m.def("decide_counts", &py_decide, "kinds"_a, "weight"_a, "occurs"_a, "starts"_a, "ends"_a, "numeric"_a, "own"_a,
        "allowed"_a, "total"_a, "num"_a, "den"_a, "min_coverage"_a, "single"_a);
  m.def("cover_sums", &py_cover_sums, "covers"_a, "rows"_a, "worth"_a, "out"_a, "threads"_a);
}

}  // namespace polyrule
