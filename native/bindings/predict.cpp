// Prediction, as Python calls it.
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

// Bodies as Python hands them over (`FlatBodies.arrays`) and the columns they test, checked against the labels that
// there are: every test of a kind that there is, on a column or label that there is, with a set that ends where the
// sets do, and every group with members that follow it, in the same body and no groups themselves.
struct GivenBodies {
  std::tuple<Vector<std::uint8_t>, Vector<std::int32_t>, Vector<double>, Vector<std::int32_t>, Vector<std::int32_t>,
             Vector<std::int32_t>>
      arrays;
  Bodies bodies;
  std::vector<std::int32_t> used;

  GivenBodies(nb::object given, std::size_t labels) : arrays(nb::cast<decltype(arrays)>(given)) {
    const auto& [kind, index, value, start, sets, columns] = arrays;
    require(start.shape(0) > 0, "shape");
    bodies = {kind.data(), index.data(), value.data(), start.data(), sets.data(), start.shape(0) - 1};
    used.assign(columns.data(), columns.data() + columns.shape(0));
    check_offsets(start.data(), start.shape(0), bodies.rules, kind.shape(0), "bodies");
    require(index.shape(0) == kind.shape(0) && value.shape(0) == kind.shape(0), "conditions");
    for (std::size_t r = 0; r < bodies.rules; ++r) check_groups(start.data()[r], start.data()[r + 1]);
    for (std::size_t c = 0; c < kind.shape(0); ++c)
      if (kind.data()[c] != kGroup) check_condition(c, labels, sets.shape(0));
  }

 private:
  void check_groups(std::int32_t test, std::int32_t end) const {
    for (; test < end; ++test) {
      if (bodies.kind[test] != kGroup) continue;
      const std::int32_t members = bodies.index[test];
      require(members > 0 && members < end - test && bodies.value[test] >= 1 && bodies.value[test] <= members,
              "groups");
      for (const std::int32_t last = test + members; test < last;) require(bodies.kind[++test] != kGroup, "groups");
    }
  }

  void check_condition(std::size_t c, std::size_t labels, std::size_t set_size) const {
    const std::uint8_t kind = bodies.kind[c];
    require(kind <= kMissing && is_below(bodies.index[c], kind == kLabel ? labels : used.size()), "conditions");
    if (kind != kIn) return;
    const double start = bodies.value[c];
    require(start >= 0 && start < double(set_size), "sets");
    const std::int32_t count = bodies.sets[static_cast<std::size_t>(start)];
    require(count >= 0 && static_cast<std::size_t>(start) + std::size_t(count) < set_size, "sets");
  }
};

void check_heads(const Vector<std::int32_t>& starts, const Vector<std::int32_t>& labels_of, std::size_t rules,
                 std::size_t labels) {
  check_offsets(starts.data(), starts.shape(0), rules, labels_of.shape(0), "heads");
  for (std::size_t h = 0; h < labels_of.shape(0); ++h) require(is_below(labels_of.data()[h], labels), "heads");
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

// Calls run(source) without Python's lock; `values` is a dense matrix or (data, indices, starts) by columns.
template <class Run>
void over_rows(nb::object values, std::vector<std::int32_t> used, std::size_t rows, Run&& run) {
  if (AnyTable dense; nb::try_cast(values, dense)) {
    require(dense.shape(0) == rows, "shape");
    for (const std::int32_t column : used) require(is_below(column, dense.shape(1)), "columns");
    BlockSource source(dense.data(), dense.stride(0), dense.stride(1), std::move(used));
    const nb::gil_scoped_release release;
    run(source);
    return;
  }
  const auto [data, indices, starts] =
      nb::cast<std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>>(values);
  check_cells(data, indices, starts, used, rows);
  BlockSource source(data.data(), indices.data(), starts.data(), std::move(used));
  const nb::gil_scoped_release release;
  run(source);
}

void run_list(nb::object values, nb::object bodies, const Vector<std::int32_t>& head_start,
              const Vector<std::int32_t>& head_label, const Vector<std::uint8_t>& head_value,
              const Vector<std::uint8_t>& stop, bool full, const Vector<std::uint8_t>& defaults,
              Writable<std::uint8_t, 2> labels, Writable<std::int32_t, 2> setter) {
  const std::size_t rows = labels.shape(0), width = defaults.shape(0);
  require(labels.shape(1) == width && setter.shape(0) == rows && setter.shape(1) == width, "shape");
  GivenBodies given(bodies, width);
  require(stop.shape(0) == given.bodies.rules && head_value.shape(0) == head_label.shape(0), "heads");
  check_heads(head_start, head_label, given.bodies.rules, width);
  const FlatList list{
      given.bodies, head_start.data(), head_label.data(), head_value.data(), stop.data(), defaults.data(), full, width};
  over_rows(values, std::move(given.used), rows,
            [&](BlockSource& source) { predict(list, source, rows, labels.data(), setter.data()); });
}

void run_ensemble(nb::object values, nb::object bodies, const Vector<std::int32_t>& head_start,
                  const Vector<std::int32_t>& head_label, const Vector<double>& weight,
                  const Vector<double>& intercepts, Writable<double, 2> scores) {
  const std::size_t rows = scores.shape(0), width = intercepts.shape(0);
  require(scores.shape(1) == width, "shape");
  GivenBodies given(bodies, 0);
  require(weight.shape(0) == head_label.shape(0), "heads");
  check_heads(head_start, head_label, given.bodies.rules, width);
  const FlatWeights ensemble{given.bodies,  head_start.data(), head_label.data(),
                             weight.data(), intercepts.data(), width};
  over_rows(values, std::move(given.used), rows,
            [&](BlockSource& source) { add_weights(ensemble, source, rows, scores.data()); });
}

void run_covers(nb::object values, nb::object bodies, Writable<std::uint8_t, 2> covers) {
  GivenBodies given(bodies, 0);
  const std::size_t rows = covers.shape(0);
  require(covers.shape(1) == given.bodies.rules, "shape");
  over_rows(values, std::move(given.used), rows,
            [&](BlockSource& source) { cover(given.bodies, source, rows, covers.data()); });
}

}  // namespace

void register_predict(nb::module_& m) {
  m.def("predict", &run_list, "values"_a, "bodies"_a, "head_start"_a, "head_label"_a, "head_value"_a, "stop"_a,
        "full"_a, "defaults"_a, "labels"_a, "setter"_a);
  m.def("add_weights", &run_ensemble, "values"_a, "bodies"_a, "head_start"_a, "head_label"_a, "weight"_a,
        "intercepts"_a, "scores"_a);
  m.def("cover", &run_covers, "values"_a, "bodies"_a, "covers"_a);
}

}  // namespace polyrule
