// Prediction of rule lists, as Python calls it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <vector>

#include "bindings/bindings.hpp"
#include "predict/predict.hpp"

namespace polyrule {

namespace {

using AnyTable = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Fills labels and setter; the arrays are those of FlatRules, `values` a dense matrix or (data, indices, starts) by columns.
void run_list(nb::object values, const Vector<std::int32_t>& used, const Vector<std::uint8_t>& kind,
              const Vector<std::int32_t>& index, const Vector<double>& value, const Vector<std::int32_t>& body_start,
              const Vector<std::int32_t>& head_label, const Vector<std::uint8_t>& head_value,
              const Vector<std::int32_t>& head_start, const Vector<std::uint8_t>& stop, bool full,
              const Vector<std::uint8_t>& defaults, Out<std::uint8_t> labels, Out<std::int32_t> setter) {
  const std::size_t rows = labels.shape(0);
  if (labels.shape(1) != defaults.shape(0) || setter.shape(0) != rows || setter.shape(1) != defaults.shape(0))
    throw nb::value_error("predict: wrong shape");
  const FlatList list{kind.data(), index.data(), value.data(), body_start.data(), head_start.data(), head_label.data(),
                      head_value.data(), stop.data(), defaults.data(), full, stop.shape(0), defaults.shape(0)};
  std::vector<std::int32_t> columns(used.data(), used.data() + used.shape(0));
  if (AnyTable dense; nb::try_cast(values, dense)) {
    if (dense.shape(0) != rows) throw nb::value_error("predict: wrong shape");
    BlockSource source(dense.data(), dense.stride(0), dense.stride(1), std::move(columns));
    const nb::gil_scoped_release release;
    predict(list, source, rows, labels.data(), setter.data());
    return;
  }
  const auto [data, indices, starts] =
      nb::cast<std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>>(values);
  BlockSource source(data.data(), indices.data(), starts.data(), std::move(columns));
  const nb::gil_scoped_release release;
  predict(list, source, rows, labels.data(), setter.data());
}

}  // namespace

void register_predict(nb::module_& m) {
  m.def("predict", &run_list, "values"_a, "used"_a, "kind"_a, "index"_a, "value"_a, "body_start"_a, "head_label"_a,
        "head_value"_a, "head_start"_a, "stop"_a, "full"_a, "defaults"_a, "labels"_a, "setter"_a);
}

}  // namespace polyrule
