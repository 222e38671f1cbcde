// The one place where C++ and Python meet. Arrays in, tuples of numbers out; no Python object enters a loop.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "engine.hpp"
#include "lanes.hpp"
#include "predict.hpp"
#include "count/bindings.hpp"
#include "gain.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace polyrule;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using DenseTable = nb::ndarray<const double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using Truth = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::object big_integer(Wide number) {
  if (number >= INT64_MIN && number <= INT64_MAX) return nb::int_(static_cast<std::int64_t>(number));
  const nb::int_ high(static_cast<std::int64_t>(number >> 64)), low(static_cast<std::uint64_t>(number));
  return (nb::borrow<nb::object>(high) << nb::int_(64)) + nb::borrow<nb::object>(low);
}

nb::ndarray<nb::numpy, std::int64_t> row_numbers(const Bits& bits) {
  auto owned = std::make_unique<std::vector<std::int64_t>>();
  owned->reserve(static_cast<std::size_t>(count_bits(bits.data(), bits.words())));
  for_each_bit(bits, [&](std::size_t i) { owned->push_back(static_cast<std::int64_t>(i)); });
  std::vector<std::int64_t>* rows = owned.release();
  nb::capsule owner(rows, [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
  return nb::ndarray<nb::numpy, std::int64_t>(rows->data(), {rows->size()}, owner);
}

// Asks a Python function of four arrays of counts for its values. An error it raises ends the search like a signal.
Valuer::Call caller(nb::object function) {
  const auto release = [](nb::object* p) {
    const nb::gil_scoped_acquire acquire;
    delete p;
  };
  const std::shared_ptr<nb::object> held(new nb::object(std::move(function)), release);
  return [held](Question& question, std::vector<double>& values) {
    const nb::gil_scoped_acquire acquire;
    const std::size_t size = question.size();
    const auto column = [&](std::size_t i) {
      double* numbers = question.take(i).release();
      nb::capsule owner(numbers, [](void* p) noexcept { delete[] static_cast<double*>(p); });
      return nb::ndarray<nb::numpy, double>(numbers, {size}, owner).cast();
    };
    try {
      const nb::object found = (*held)(column(0), column(1), column(2), column(3));
      const auto answer = nb::cast<Vector<double>>(found);
      if (answer.shape(0) != size) throw nb::value_error("one value for each of the counts is needed");
      std::copy(answer.data(), answer.data() + size, values.begin());
    } catch (nb::python_error& error) {
      error.restore();
      throw Interrupted{};
    }
  };
}

Form make_form(const std::string& kind, const std::string& scope, const std::vector<Count>& num,
               const std::vector<Count>& den, const std::vector<Count>& rho, std::optional<std::size_t> max_head,
               bool negative, const std::string& formula, std::pair<Count, Count> m, nb::object function) {
  Form form;
  form.kind = kind == "ratio"     ? HeadKind::ratio
              : kind == "subset"  ? HeadKind::subset
              : kind == "counted" ? HeadKind::counted
              : kind == "micro"   ? HeadKind::micro
                                  : HeadKind::singles;
  form.formula = formula == "wracc"             ? Formula::wracc
                 : formula == "rate_difference" ? Formula::rate_difference
                 : formula == "m_estimate"      ? Formula::m_estimate
                 : formula == "matthews"        ? Formula::matthews
                 : formula == "function"        ? Formula::function
                                                : Formula::none;
  form.measured = !formula.empty();
  form.m_num = m.first;
  form.m_den = m.second;
  if (form.formula == Formula::function) form.valuer = std::make_shared<Valuer>(caller(std::move(function)));
  form.scope = scope == "all" ? Scope::all : scope == "full" ? Scope::full : Scope::head;
  if (num.size() != 5 || den.size() != 5) throw nb::value_error("a measure needs five coefficients per row");
  std::copy(num.begin(), num.end(), form.num.begin());
  std::copy(den.begin(), den.end(), form.den.begin());
  form.rho = rho;
  form.max_head = max_head.value_or(SIZE_MAX);
  form.negative = negative;
  return form;
}

class PyEngine {
 public:
  PyEngine(nb::object values, const Vector<std::uint8_t>& nominal, nb::object truth, std::size_t labels,
           const Vector<std::int64_t>& weights, Form form, GrowLimits limits, int threads)
      : keep_alive_(values) {
    const std::size_t rows = weights.shape(0);
    std::vector<bool> is_nominal(nominal.data(), nominal.data() + nominal.shape(0));
    State state(rows, labels, std::vector<Count>(weights.data(), weights.data() + rows));
    read_truth(truth, state);
    Columns columns = read_table(values, rows, is_nominal, threads);
    engine_ = std::make_unique<Engine>(std::move(columns), std::move(state), std::move(form), limits, threads);
  }

  nb::object grow(std::optional<std::size_t> label, int value, std::optional<double> seconds) {
    std::optional<std::pair<std::size_t, int>> literal;
    if (label) literal = {*label, value};
    return run(seconds, [&](const Watch& watch) { return engine_->grow(watch, literal); });
  }

  nb::object grow_single(std::optional<double> seconds) {
    return run(seconds, [&](const Watch& watch) { return engine_->grow_single(watch); });
  }

  std::tuple<Count, Count, Count, bool> commit(const Vector<std::int64_t>& rows,
                                               const std::vector<std::pair<std::size_t, int>>& head,
                                               std::optional<std::pair<Count, Count>> stop, bool keep_covered) {
    State& state = engine_->state();
    Bits cover(state.rows);
    for (std::size_t i = 0; i < rows.shape(0); ++i) {
      const std::int64_t row = rows.data()[i];
      if (row < 0 || static_cast<std::size_t>(row) >= state.rows) throw nb::index_error("no such row");
      cover.set(static_cast<std::size_t>(row));
    }
    for (const auto& [label, value] : head)
      if (label >= state.labels) throw nb::index_error("no such label");
    StopThreshold threshold;
    if (stop) threshold = {true, stop->first, stop->second};
    const nb::gil_scoped_release release;
    const Form& form = engine_->form();
    const Outcome o = state.commit(cover, head, form.scope == Scope::full, form.negative, threshold, keep_covered);
    return {o.covered, o.open, o.newly_set, o.stopped};
  }

  Count remaining() const { return engine_->state().working_weight; }
  bool has_unset() const { return engine_->state().has_unset(engine_->form().negative); }

  // Per label, the weight of (present, absent) that nobody has set.
  std::vector<std::pair<Count, Count>> leftover() const {
    const State& state = engine_->state();
    std::vector<std::pair<Count, Count>> out(state.labels);
    for (std::size_t l = 0; l < state.labels; ++l)
      for (std::size_t i = 0; i < state.rows; ++i)
        if (!state.set.test(l, i)) (state.truth.test(l, i) ? out[l].first : out[l].second) += state.weights[i];
    return out;
  }

 private:
  static void read_truth(const nb::object& truth, State& state) {
    if (Truth dense; nb::try_cast(truth, dense)) {
      if (dense.shape(0) != state.rows || dense.shape(1) != state.labels) throw nb::value_error("labels: wrong shape");
      const std::uint8_t* cell = dense.data();
      for (std::size_t i = 0; i < state.rows; ++i)
        for (std::size_t l = 0; l < state.labels; ++l)
          if (*cell++) state.truth.put(l, i);
      return;
    }
    const auto [indices, starts] = nb::cast<std::pair<Vector<std::int32_t>, Vector<std::int64_t>>>(truth);
    if (starts.shape(0) != state.rows + 1) throw nb::value_error("labels: wrong shape");
    for (std::size_t i = 0; i < state.rows; ++i)
      for (std::int64_t k = starts.data()[i]; k < starts.data()[i + 1]; ++k)
        state.truth.put(static_cast<std::size_t>(indices.data()[k]), i);
  }

  static Columns read_table(const nb::object& values, std::size_t rows, const std::vector<bool>& nominal, int threads) {
    if (DenseTable dense; nb::try_cast(values, dense)) {
      if (dense.shape(0) != rows || dense.shape(1) != nominal.size()) throw nb::value_error("table: wrong shape");
      const nb::gil_scoped_release release;
      return Columns::from_dense(dense.data(), rows, nominal, threads);
    }
    const auto [data, indices, starts] =
        nb::cast<std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>>(values);
    if (starts.shape(0) != nominal.size() + 1) throw nb::value_error("table: wrong shape");
    const nb::gil_scoped_release release;
    return Columns::from_sparse(data.data(), indices.data(), starts.data(), rows, nominal, threads);
  }

  template <class Search>
  nb::object run(std::optional<double> seconds, Search&& search) {
    Watch watch;
    watch.poll = [] {
      const nb::gil_scoped_acquire acquire;
      return PyErr_CheckSignals() != 0;
    };
    if (seconds)
      watch.deadline = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                           std::chrono::duration<double>(std::min(*seconds, 1e9)));
    std::optional<Grown> grown;
    bool interrupted = false, late = false;
    {
      const nb::gil_scoped_release release;
      try {
        grown = search(watch);
      } catch (const Interrupted&) {
        interrupted = true;
      } catch (const TimeIsUp&) {
        late = true;
      }
    }
    if (interrupted) throw nb::python_error();
    if (late) {
      PyErr_SetString(PyExc_TimeoutError, "the deadline has passed");
      throw nb::python_error();
    }
    if (!grown) return nb::none();
    nb::list body, head;
    for (const ShownCondition& c : grown->body) body.append(nb::make_tuple(static_cast<int>(c.test), c.index, c.value));
    for (const HeadLiteral& l : grown->head.literals) head.append(nb::make_tuple(l.label, l.value, l.tp, l.fp));
    const nb::object num = big_integer(grown->head.value.num), den = big_integer(grown->head.value.den);
    if (!engine_->form().measured)
      return nb::make_tuple(body, head, num, den, row_numbers(grown->cover));
    // The value is left to the measure itself, which needs TN and FN, too.
    nb::list rest;
    const State& state = engine_->state();
    for (const HeadLiteral& l : grown->head.literals) {
      Count kinds[4];
      state.count_kinds(l.label, grown->cover, state.weigh(grown->cover.data()), kinds);
      rest.append(nb::make_tuple(state.working_weight - state.present[l.label] - kinds[kAbsent] - kinds[kAbsentSet],
                                 state.present[l.label] - kinds[kPresent] - kinds[kPresentSet]));
    }
    return nb::make_tuple(body, head, num, den, row_numbers(grown->cover), rest);
  }

  nb::object keep_alive_;  // dense columns are read where they are
  std::unique_ptr<Engine> engine_;
};

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

NB_MODULE(_native, m) {
  m.doc() = "Compiled kernels of polyrule; use them through polyrule.kernels and polyrule.model.";
  m.def(
      "limit_lanes", [](double capacity, double least) { lane_limits = {capacity, least}; }, "capacity"_a,
      "least_denominator"_a, "For tests: from which sums on the 32-bit lanes look with a coarser value.");
  m.def(
      "limit_runs", [](std::size_t least_rows) { run_limits = {least_rows}; }, "least_rows"_a,
      "For tests: from how many covered rows on few literals are searched by their positive rows.");
  m.def(
      "limit_races",
      [](std::size_t least_rows, std::size_t share) {
        race_limits = {least_rows};
        place_limits = {share};
      },
      "least_rows"_a, "share"_a,
      "For tests: from how many rows on ties are remembered, and which share of the rows is a small cover.");
  m.def(
      "limit_lists", [](std::size_t rows, std::size_t labels) { list_limits = {rows, labels}; }, "kept_rows"_a,
      "threaded_labels"_a, "For tests: from how many rows on counts are kept, and from how many labels on threads start.");
  register_gain(m);
  polyrule_count::register_count(m);
  m.def("predict", &run_list, "values"_a, "used"_a, "kind"_a, "index"_a, "value"_a, "body_start"_a, "head_label"_a,
        "head_value"_a, "head_start"_a, "stop"_a, "full"_a, "defaults"_a, "labels"_a, "setter"_a);
  nb::class_<PyEngine>(m, "Engine")
      .def(
          "__init__",
          [](PyEngine* self, nb::object values, const Vector<std::uint8_t>& nominal, nb::object truth,
             std::size_t labels, const Vector<std::int64_t>& weights, const std::string& kind, const std::string& scope,
             const std::vector<Count>& num, const std::vector<Count>& den, const std::vector<Count>& rho,
             std::optional<std::size_t> max_head, bool negative, std::size_t beam_width, bool label_conditions,
             double min_coverage, std::optional<std::size_t> max_conditions, int threads, const std::string& formula,
             std::pair<Count, Count> m, nb::object function) {
            const GrowLimits limits{beam_width, label_conditions, min_coverage, max_conditions.value_or(SIZE_MAX)};
            new (self) PyEngine(values, nominal, truth, labels, weights,
                                make_form(kind, scope, num, den, rho, max_head, negative, formula, m, function), limits,
                                threads);
          },
          "values"_a, "nominal"_a, "truth"_a, "labels"_a, "weights"_a, "kind"_a, "scope"_a, "num"_a, "den"_a, "rho"_a,
          "max_head"_a.none(), "negative"_a, "beam_width"_a, "label_conditions"_a, "min_coverage"_a,
          "max_conditions"_a.none(), "threads"_a, "formula"_a = "", "m"_a = std::pair<Count, Count>(0, 1), "function"_a = nb::none())
      .def("grow", &PyEngine::grow, "label"_a.none(), "value"_a, "seconds"_a.none())
      .def("grow_single", &PyEngine::grow_single, "seconds"_a.none())
      .def("commit", &PyEngine::commit, "rows"_a, "head"_a, "stop"_a.none(), "keep_covered"_a)
      .def("leftover", &PyEngine::leftover)
      .def_prop_ro("remaining", &PyEngine::remaining)
      .def_prop_ro("has_unset", &PyEngine::has_unset);
}
