// Prediction of rule lists, as Python calls it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "predict/predict.hpp"

namespace polyrule {

namespace {

using AnyTable = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void require(bool right, const char* what) {
  if (!right) throw nb::value_error((std::string("predict: wrong ") + what).c_str());
}

// Offsets of `parts` stretches that together have `size` entries.
void check_offsets(const std::int32_t* starts, std::size_t count, std::size_t parts, std::size_t size,
                   const char* what) {
  bool right = count == parts + 1 && starts[0] == 0 && starts[parts] >= 0 && std::size_t(starts[parts]) == size;
  for (std::size_t i = 0; right && i < parts; ++i) right = starts[i] <= starts[i + 1];
  require(right, what);
}

bool is_below(std::int32_t number, std::size_t end) { return number >= 0 && static_cast<std::size_t>(number) < end; }

// A condition of a kind that there is, on a column or label that there is, with a set that ends where the sets do.
void check_condition(const FlatList& list, std::size_t c, std::size_t columns, std::size_t set_size) {
  const std::uint8_t kind = list.kind[c];
  require(kind <= 5 && is_below(list.index[c], kind == 3 ? list.labels : columns), "conditions");
  if (kind != 4) return;
  const double start = list.value[c];
  require(start >= 0 && start < double(set_size), "sets");
  const std::int32_t count = list.sets[static_cast<std::size_t>(start)];
  require(count >= 0 && static_cast<std::size_t>(start) + std::size_t(count) < set_size, "sets");
}

// Stored cells by columns: within the rows, ascending, once each.
void check_cells(const Vector<double>& data, const Vector<std::int32_t>& indices, const Vector<std::int64_t>& starts,
                 const std::vector<std::int32_t>& used, std::size_t rows) {
  const std::size_t stored = std::min(data.shape(0), indices.shape(0));
  for (const std::int32_t column : used) {
    require(is_below(column, starts.shape(0) - 1), "columns");
    const std::int64_t first = starts.data()[column], last = starts.data()[column + 1];
    require(first >= 0 && first <= last && static_cast<std::size_t>(last) <= stored, "starts");
    for (std::int64_t k = first; k < last; ++k)
      require(is_below(indices.data()[k], rows) && (k == first || indices.data()[k - 1] < indices.data()[k]), "rows");
  }
}

// Fills labels and setter; the arrays are those of FlatRules, `values` a dense matrix or (data, indices, starts) by
// columns.
void run_list(nb::object values, const Vector<std::int32_t>& used, const Vector<std::uint8_t>& kind,
              const Vector<std::int32_t>& index, const Vector<double>& value, const Vector<std::int32_t>& body_start,
              const Vector<std::int32_t>& head_label, const Vector<std::uint8_t>& head_value,
              const Vector<std::int32_t>& head_start, const Vector<std::uint8_t>& stop, bool full,
              const Vector<std::uint8_t>& defaults, Out<std::uint8_t> labels, Out<std::int32_t> setter,
              const Vector<std::int32_t>& sets) {
  const std::size_t rows = labels.shape(0);
  if (labels.shape(1) != defaults.shape(0) || setter.shape(0) != rows || setter.shape(1) != defaults.shape(0))
    throw nb::value_error("predict: wrong shape");
  require(body_start.shape(0) > 0 && head_start.shape(0) > 0, "shape");
  const FlatList list{kind.data(),       index.data(),      value.data(), body_start.data(), head_start.data(),
                      head_label.data(), head_value.data(), stop.data(),  defaults.data(),   full,
                      stop.shape(0),     defaults.shape(0), sets.data()};
  std::vector<std::int32_t> columns(used.data(), used.data() + used.shape(0));
  check_offsets(body_start.data(), body_start.shape(0), list.rules, kind.shape(0), "bodies");
  check_offsets(head_start.data(), head_start.shape(0), list.rules, head_label.shape(0), "heads");
  require(index.shape(0) == kind.shape(0) && value.shape(0) == kind.shape(0), "conditions");
  require(head_value.shape(0) == head_label.shape(0), "heads");
  for (std::size_t c = 0; c < kind.shape(0); ++c) check_condition(list, c, columns.size(), sets.shape(0));
  for (std::size_t h = 0; h < head_label.shape(0); ++h) require(is_below(head_label.data()[h], list.labels), "heads");
  if (AnyTable dense; nb::try_cast(values, dense)) {
    require(dense.shape(0) == rows, "shape");
    for (const std::int32_t column : columns) require(is_below(column, dense.shape(1)), "columns");
    BlockSource source(dense.data(), dense.stride(0), dense.stride(1), std::move(columns));
    const nb::gil_scoped_release release;
    predict(list, source, rows, labels.data(), setter.data());
    return;
  }
  const auto [data, indices, starts] =
      nb::cast<std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>>(values);
  check_cells(data, indices, starts, columns, rows);
  BlockSource source(data.data(), indices.data(), starts.data(), std::move(columns));
  const nb::gil_scoped_release release;
  predict(list, source, rows, labels.data(), setter.data());
}

}  // namespace

void register_predict(nb::module_& m) {
  m.def("predict", &run_list, "values"_a, "used"_a, "kind"_a, "index"_a, "value"_a, "body_start"_a, "head_label"_a,
        "head_value"_a, "head_start"_a, "stop"_a, "full"_a, "defaults"_a, "labels"_a, "setter"_a, "sets"_a);
}

}  // namespace polyrule
