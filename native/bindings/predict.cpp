// Prediction, as Python calls it.
#include <vector>

#include "bindings/bindings.hpp"
#include "predict/predict.hpp"

namespace polyrule {

namespace {

// Bodies as Python hands them over (`FlatBodies.arrays`) and the columns they test, checked against the labels that
// there are: every test of a kind that there is, on a column or label that there is, with a set that ends where the
// sets do, and every group with members that follow it, in the same body and no groups themselves.
struct GivenBodies {
  std::tuple<Vector<std::uint8_t>, Vector<std::int32_t>, Vector<double>, Vector<std::int32_t>, Vector<std::int32_t>,
             Vector<std::int32_t>>
      arrays;
  Bodies bodies;
  std::vector<std::int32_t> used;

  GivenBodies(const nb::object& checked, std::size_t labels) : arrays(nb::cast<decltype(arrays)>(checked)) {
    const auto& [kind, index, value, start, sets, columns] = arrays;
    const std::size_t tests = kind.shape(0);
    require(start.shape(0) > 0, "predict: wrong bodies");
    bodies = {kind.data(), index.data(), value.data(), start.data(), sets.data(), start.shape(0) - 1};
    used.assign(columns.data(), columns.data() + columns.shape(0));
    require_starts(start, bodies.rules, tests, "predict: wrong bodies");
    require(has_shape(index, tests) && has_shape(value, tests), "predict: wrong conditions");
    for (std::size_t r = 0; r < bodies.rules; ++r) check_groups(start(r), start(r + 1));
    for (std::size_t c = 0; c < tests; ++c)
      if (kind(c) != kGroup) check_condition(c, labels, sets.shape(0));
  }

 private:
  void check_groups(std::int32_t test, std::int32_t end) const {
    for (; test < end; ++test) {
      if (bodies.kind[test] != kGroup) continue;
      const std::int32_t n_members = bodies.index[test];
      require(n_members > 0 && n_members < end - test && bodies.value[test] >= 1 && bodies.value[test] <= n_members,
              "predict: wrong groups");
      for (const std::int32_t last = test + n_members; test < last;)
        require(bodies.kind[++test] != kGroup, "predict: wrong groups");
    }
  }

  void check_condition(std::size_t c, std::size_t labels, std::size_t set_size) const {
    const std::uint8_t kind = bodies.kind[c];
    require(kind <= kMissing && is_place(bodies.index[c], kind == kLabel ? labels : used.size()),
            "predict: wrong conditions");
    if (kind != kIn) return;
    const double start = bodies.value[c];
    require(start >= 0 && start < double(set_size), "predict: wrong sets");
    const auto first = static_cast<std::size_t>(start);
    require(is_place(bodies.sets[first], set_size - first), "predict: wrong sets");
  }
};

void check_heads(const Vector<std::int32_t>& starts, const Vector<std::int32_t>& labels_of, const Bodies& bodies,
                 std::size_t labels) {
  require_starts(starts, bodies.rules, labels_of.shape(0), "predict: wrong heads");
  require_places(labels_of, labels, "predict: no such label");
}

// Calls run(source) without Python's lock; `values` is a dense matrix or stored cells.
template <class Run>
void over_rows(const nb::object& values, std::vector<std::int32_t> used, std::size_t rows, Run&& run) {
  if (Table<double> dense; nb::try_cast(values, dense)) {
    require(dense.shape(0) == rows, "predict: wrong shape");
    for (const std::int32_t column : used) require(is_place(column, dense.shape(1)), "predict: no such column");
    BlockSource source(dense.data(), dense.stride(0), dense.stride(1), std::move(used));
    return unlocked([&] { run(source); });
  }
  const Cells cells(values);
  for (const std::int32_t column : used) {
    require(is_place(column, cells.columns()), "predict: no such column");
    cells.require_rows_of(static_cast<std::size_t>(column), rows);
  }
  BlockSource source(cells.data.data(), cells.rows.data(), cells.starts.data(), std::move(used));
  unlocked([&] { run(source); });
}

void run_list(const nb::object& values, const nb::object& bodies, const Vector<std::int32_t>& head_start,
              const Vector<std::int32_t>& head_label, const Vector<std::uint8_t>& head_value,
              const Vector<std::uint8_t>& stop, bool full, const Vector<std::uint8_t>& defaults,
              const Writable<std::uint8_t, 2>& labels, const Writable<std::int32_t, 2>& setter) {
  const std::size_t rows = labels.shape(0), width = defaults.shape(0);
  require(has_shape(labels, rows, width) && has_shape(setter, rows, width), "predict: wrong shape");
  GivenBodies checked(bodies, width);
  require(has_shape(stop, checked.bodies.rules) && has_shape(head_value, head_label.shape(0)), "predict: wrong heads");
  check_heads(head_start, head_label, checked.bodies, width);
  const FlatList list{
      checked.bodies, head_start.data(), head_label.data(), head_value.data(), stop.data(), defaults.data(), full,
      width};
  over_rows(values, std::move(checked.used), rows,
            [&](BlockSource& source) { predict(list, source, rows, labels.data(), setter.data()); });
}

void run_ensemble(const nb::object& values, const nb::object& bodies, const Vector<std::int32_t>& head_start,
                  const Vector<std::int32_t>& head_label, const Vector<double>& weight,
                  const Vector<double>& intercepts, const Writable<double, 2>& scores) {
  const std::size_t rows = scores.shape(0), width = intercepts.shape(0);
  GivenBodies checked(bodies, 0);
  require(has_shape(scores, rows, width) && has_shape(weight, head_label.shape(0)), "predict: wrong shape");
  check_heads(head_start, head_label, checked.bodies, width);
  const FlatWeights ensemble{checked.bodies, head_start.data(), head_label.data(),
                             weight.data(),  intercepts.data(), width};
  over_rows(values, std::move(checked.used), rows,
            [&](BlockSource& source) { add_weights(ensemble, source, rows, scores.data()); });
}

void run_covers(const nb::object& values, const nb::object& bodies, const Writable<std::uint8_t, 2>& covers) {
  GivenBodies checked(bodies, 0);
  const std::size_t rows = covers.shape(0);
  require(has_shape(covers, rows, checked.bodies.rules), "predict: wrong shape");
  over_rows(values, std::move(checked.used), rows,
            [&](BlockSource& source) { cover(checked.bodies, source, rows, covers.data()); });
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
