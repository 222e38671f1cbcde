// The engine, as Python calls it. Everything that comes in is checked here, once.
#include "search/engine.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <thread>

#include "bindings/bindings.hpp"
#include "core/natural.hpp"
#include "scoring/monotone_bounds.hpp"

namespace polyrule {

namespace {

// The rows of a rule, as the engine keeps them; Python sees them as an array when it asks.
struct Cover {
  Bits bits;
};

nb::object big_integer(Wide number) {
  if (number >= INT64_MIN && number <= INT64_MAX) return nb::int_(static_cast<std::int64_t>(number));
  const nb::int_ high(static_cast<std::int64_t>(number >> 64)), low(static_cast<std::uint64_t>(number));
  return (nb::borrow<nb::object>(high) << nb::int_(64)) + nb::borrow<nb::object>(low);
}

nb::ndarray<nb::numpy, std::int64_t> row_numbers(const Bits& bits) {
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(count_bits(bits.data(), bits.words())));
  for_each_bit(bits, [&](std::size_t i) { rows.push_back(static_cast<std::int64_t>(i)); });
  return give(std::move(rows));
}

// Asks a Python function of four arrays of counts for its values. An error it raises ends the search like a signal.
Valuer::Call caller(nb::object function) {
  const auto release = [](nb::object* p) {
    const nb::gil_scoped_acquire acquire;
    delete p;
  };
  const std::shared_ptr<nb::object> callee(new nb::object(std::move(function)), release);
  return [callee](Question& question, std::vector<double>& values) {
    const nb::gil_scoped_acquire acquire;
    const std::size_t size = question.size();
    const auto column = [&](std::size_t i) {
      double* numbers = question.take(i).release();
      nb::capsule owner(numbers, [](void* p) noexcept { delete[] static_cast<double*>(p); });
      return nb::ndarray<nb::numpy, double>(numbers, {size}, owner).cast();
    };
    try {
      const nb::object returned = (*callee)(column(0), column(1), column(2), column(3));
      const auto answer = nb::cast<Vector<double>>(returned);
      if (answer.shape(0) != size) throw nb::value_error("one value for each of the counts is needed");
      std::copy(answer.data(), answer.data() + size, values.begin());
    } catch (nb::python_error& error) {
      error.restore();
      throw Interrupted{};
    }
  };
}

// The entry of a name; an unknown one is a mistake of the caller.
template <class T>
T choose(const char* what, const std::string& name, const std::map<std::string, T>& options) {
  const auto entry = options.find(name);
  if (entry == options.end()) throw nb::value_error(("unknown " + std::string(what) + " '" + name + "'").c_str());
  return entry->second;
}

// What Python says by name: what is None, or not said, stays as it is.
using Setter = std::function<void(nb::handle)>;

template <class T>
Setter into(T& to) {
  return [&to](nb::handle value) {
    if (!value.is_none()) to = nb::cast<T>(value);
  };
}

template <class T>
Setter into(T& to, const char* what, const std::map<std::string, T>& options) {
  return [&to, what, options](nb::handle value) { to = choose(what, nb::cast<std::string>(value), options); };
}

void read(const char* what, const nb::dict& parts_in, const std::map<std::string, Setter>& parts) {
  for (const auto& [name, value] : parts_in) choose(what, nb::cast<std::string>(name), parts)(value);
}

Form make_form(const nb::dict& values, std::size_t labels) {
  const std::map<std::string, HeadKind> outcomes = {{"singles", HeadKind::singles}, {"alone", HeadKind::singles},
                                                    {"ratio", HeadKind::ratio},     {"subset", HeadKind::subset},
                                                    {"counted", HeadKind::counted}, {"micro", HeadKind::micro},
                                                    {"example", HeadKind::example}};
  const std::map<std::string, Formula> formulas = {{"", Formula::none},
                                                   {"ratio", Formula::none},
                                                   {"wracc", Formula::wracc},
                                                   {"rate_difference", Formula::rate_difference},
                                                   {"m_estimate", Formula::m_estimate},
                                                   {"matthews", Formula::matthews},
                                                   {"klosgen", Formula::klosgen},
                                                   {"added_value", Formula::added_value},
                                                   {"cosine", Formula::cosine},
                                                   {"kappa", Formula::kappa},
                                                   {"yule_q", Formula::yule_q},
                                                   {"lift", Formula::lift},
                                                   {"certainty", Formula::certainty},
                                                   {"function", Formula::function}};
  Form form;
  std::pair<Count, Count> m(0, 1);
  std::string formula;
  nb::object function;
  bool monotone = false;
  read("part of a form", values,
       {{"kind", into(form.kind, "kind of head", outcomes)},
        {"scope", into(form.scope, "scope", {{"head", Scope::head}, {"all", Scope::all}, {"full", Scope::full}})},
        {"num", into(form.num)},
        {"den", into(form.den)},
        {"rho", into(form.rho)},
        {"max_head", into(form.max_head)},
        {"effort", into(form.effort)},
        {"negative", into(form.negative)},
        {"formula", into(formula)},
        {"m", into(m)},
        {"function", into(function)},
        {"monotone", into(monotone)}});
  form.formula = choose("formula", formula, formulas);
  form.measured = !formula.empty();
  std::tie(form.m_num, form.m_den) = m;
  require(form.m_den > 0, "the denominator of m must be positive");
  require(form.rho.empty() || form.rho.size() > labels, "a lift needs a factor for every size of head");
  if (form.formula == Formula::function) form.valuer = std::make_shared<Valuer>(caller(std::move(function)));
  if (form.valuer && monotone) form.monotone_bounds = std::make_shared<MonotoneBounds>(form.valuer);
  return form;
}

GrowOptions make_options(const nb::dict& values) {
  GrowOptions options;
  read("option", values,
       {{"beam_width", into(options.beam_width)},
        {"label_conditions", into(options.label_conditions)},
        {"min_coverage", into(options.min_coverage)},
        {"max_conditions", into(options.max_conditions)}});
  require(options.beam_width > 0, "a beam must be at least 1 wide");
  return options;
}

Limits make_limits(const nb::dict& values) {
  Limits limits;
  read("limit", values,
       {{"lane_capacity", into(limits.lane_capacity)},
        {"sorted_rows", into(limits.sorted_rows)},
        {"binned_rows", into(limits.binned_rows)},
        {"kept_rows", into(limits.kept_rows)},
        {"record_bytes", into(limits.record_bytes)},
        {"table_bytes", into(limits.table_bytes)},
        {"threaded_work", into(limits.threaded_work)},
        {"stretch_rows", into(limits.stretch_rows)},
        {"first_labels", into(limits.first_labels)},
        {"bounds", into(limits.bounds)},
        {"pure_search", into(limits.pure_search)},
        {"plain", into(limits.plain)}});
  return limits;
}

std::vector<Count> read_weights(const Vector<std::int64_t>& weights) {
  std::vector<Count> out(weights.data(), weights.data() + weights.shape(0));
  Wide total = 0;
  for (const Count weight : out) {
    require(weight >= 0, "weights must not be negative");
    total += weight;
  }
  require(total <= kMostWeight, "all weights together must be below 2**31");
  return out;
}

void read_truth(const nb::object& truth, State& state) {
  if (Matrix<std::uint8_t> dense; nb::try_cast(truth, dense)) {
    require(has_shape(dense, state.rows, state.labels), "labels: wrong shape");
    const std::uint8_t* cell = dense.data();
    for (std::size_t i = 0; i < state.rows; ++i)
      for (std::size_t l = 0; l < state.labels; ++l)
        if (*cell++) state.truth.put(l, i);
    return;
  }
  const auto [labels, starts] = nb::cast<std::pair<Vector<std::int32_t>, Vector<std::int64_t>>>(truth);
  require_starts(starts, state.rows, labels.shape(0), "labels: wrong shape");
  require_places(labels, state.labels, "no such label");
  for (std::size_t i = 0; i < state.rows; ++i)
    for (auto k = static_cast<std::size_t>(starts(i)); k < static_cast<std::size_t>(starts(i + 1)); ++k)
      state.truth.put(static_cast<std::size_t>(labels(k)), i);
}

void read_known(const std::optional<Matrix<std::uint8_t>>& known_labels, State& state) {
  if (!known_labels) return;
  require(has_shape(*known_labels, state.rows, state.labels), "known labels: wrong shape");
  state.allow_unknown();
  const std::uint8_t* cell = known_labels->data();
  for (std::size_t i = 0; i < state.rows; ++i)
    for (std::size_t l = 0; l < state.labels; ++l)
      if (!*cell++) {
        const Word bit = Word{1} << i % 64;
        state.is_known[l][i / 64] &= ~bit;
        state.truth[l][i / 64] &= ~bit;
      }
}

// True if `values` is a dense matrix of one of the types, in any order.
template <class... Types>
bool read_cells(const nb::object& values, DenseSource& source) {
  const auto read = [&]<class Type>(Table<Type> matrix) {
    if (!nb::try_cast(values, matrix, false)) return false;
    require(matrix.shape(0) == source.rows, "table: wrong shape");
    // a table of one row, or of rows that are all the same memory, may have a stride of 0: then it is never used
    const std::int64_t stride = matrix.shape(0) > 1 ? matrix.stride(0) : 1;
    require(stride != 0 || matrix.shape(1) == 0, "table: rows share their memory");
    for (std::size_t j = 0; j < matrix.shape(1); ++j)
      source.columns.emplace_back(matrix.data() + std::int64_t(j) * matrix.stride(1), stride);
    return true;
  };
  return (read(Table<Types>()) || ...);
}

Columns read_table(const nb::object& values, std::size_t rows, const std::vector<bool>& nominal, const Limits& limits,
                   int threads) {
  if (DenseSource source{{}, rows};
      read_cells<double, float, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t>(values, source)) {
    require(source.columns.size() == nominal.size(), "table: wrong shape");
    return unlocked([&] { return Columns(source, nominal, limits, threads); });
  }
  const Cells cells(values);
  require(cells.columns() == nominal.size(), "table: wrong shape");
  for (std::size_t j = 0; j < nominal.size(); ++j) cells.require_rows_of(j, rows);
  const SparseSource source{cells.data.data(), cells.rows.data(), cells.starts.data(), rows};
  return unlocked([&] { return Columns(source, nominal, limits, threads); });
}

class PyEngine {
 public:
  PyEngine(nb::object values, const Vector<std::uint8_t>& nominal, const nb::object& truth,
           const std::optional<Matrix<std::uint8_t>>& known_labels, std::size_t labels,
           const Vector<std::int64_t>& weights, const nb::dict& form, const nb::dict& options, const nb::dict& limits,
           int threads)
      : keep_alive_(values) {
    const std::size_t rows = weights.shape(0);
    require(rows > 0 && rows < kStarts, "wrong number of rows");
    require(labels > 0 && labels <= std::size_t{1} << 20, "wrong number of labels");
    State state(rows, labels, read_weights(weights));
    read_truth(truth, state);
    read_known(known_labels, state);
    const std::vector<bool> is_nominal(nominal.data(), nominal.data() + nominal.shape(0));
    const Limits sizes = make_limits(limits);
    const PyEngine* donor = nullptr;
    const bool shares = nb::try_cast(values, donor) && donor;
    if (shares) keep_alive_ = donor->keep_alive_;
    Columns columns =
        shares ? donor->lend(state, is_nominal.size()) : read_table(values, rows, is_nominal, sizes, threads);
    engine_ = std::make_unique<Engine>(std::move(columns), std::move(state), make_form(form, labels),
                                       make_options(options), sizes, threads);
  }

  nb::object grow(std::optional<std::size_t> label, int value, std::optional<double> seconds, const nb::object& report,
                  double pace) {
    LiteralChoice literal;
    if (label) literal = checked(*label, value);
    return run(seconds, report, pace, [&](const Watch& watch) { return engine_->grow(watch, literal); });
  }

  nb::object grow_single(std::optional<double> seconds, const nb::object& report, double pace) {
    return run(seconds, report, pace, [&](const Watch& watch) { return engine_->grow_single(watch); });
  }

  // `rows` is a cover that was grown here, or an array of row numbers.
  std::tuple<Count, Count, Count, bool> commit(const nb::object& rows,
                                               const std::vector<std::pair<std::size_t, int>>& head,
                                               const StopThreshold& stop, bool keep_covered) {
    const State& state = engine_->state();
    Bits cover(state.rows);
    if (Cover* row_set = nullptr; nb::try_cast(rows, row_set) && row_set) {
      cover = checked(*row_set).bits;
    } else {
      const auto numbers = nb::cast<Vector<std::int64_t>>(rows);
      require_places(numbers, state.rows, "no such row");
      for (std::size_t i = 0; i < numbers.shape(0); ++i) cover.set(static_cast<std::size_t>(numbers(i)));
    }
    for (const auto& [label, value] : head) checked(label, value);
    const nb::gil_scoped_release release;
    const CommitResult o = engine_->commit(cover, head, stop, keep_covered);
    return {o.covered, o.open, o.newly_set, o.stopped};
  }

  // Which rows are in the working set, and what each label of each row has been set to (-1: nothing).
  std::pair<nb::bytes, nb::bytes> training_state() const {
    const State& state = engine_->state();
    std::vector<std::uint8_t> working(state.rows);
    std::vector<std::int8_t> assigned(state.rows * state.labels, -1);
    for (std::size_t i = 0; i < state.rows; ++i) {
      working[i] = state.working.test(i);
      for (std::size_t l = 0; l < state.labels; ++l)
        if (state.set.test(l, i)) assigned[i * state.labels + l] = state.ones.test(l, i);
    }
    return {nb::bytes(working.data(), working.size()), nb::bytes(assigned.data(), assigned.size())};
  }

  // Per label, the weight of absent and present ones where nobody has set it, then where somebody has: in a cover, and
  // in the whole working set.
  std::vector<std::array<Count, 8>> label_counts(const Cover& cover) const {
    const State& state = engine_->state();
    const Count weight = state.weigh(checked(cover).bits.data());
    std::vector<std::array<Count, 8>> out;
    for (std::size_t l = 0; l < state.labels; ++l) {
      const OutcomeCounts in = state.count_outcomes(l, cover.bits, weight);
      const OutcomeCounts all = state.count_outcomes(l, state.working, state.working_weight);
      out.push_back({in[kAbsent], in[kPresent], in[kAbsentSet], in[kPresentSet], all[kAbsent], all[kPresent],
                     all[kAbsentSet], all[kPresentSet]});
    }
    return out;
  }

  // Whether the last search was ended by its deadline, with a rule that is unfinished.
  bool late() const { return late_; }
  Count remaining() const { return engine_->state().working_weight; }
  bool has_unset() const { return engine_->state().has_unset(engine_->form().negative); }

  // Per label, the weight of (present, absent) that nobody has set.
  std::vector<std::pair<Count, Count>> leftover() const {
    const State& state = engine_->state();
    Bits weighted_rows(state.rows);
    for (std::size_t i = 0; i < state.rows; ++i)
      if (state.weights[i] > 0) weighted_rows.set(i);
    std::vector<std::pair<Count, Count>> out;
    for (std::size_t l = 0; l < state.labels; ++l) {
      const OutcomeCounts outcomes = state.count_outcomes(l, weighted_rows, state.total_weight);
      out.push_back({outcomes[kPresent], outcomes[kAbsent]});
    }
    return out;
  }

 private:
  const Cover& checked(const Cover& cover) const {
    require(cover.bits.words() == engine_->state().working.words(), "a cover of another table");
    return cover;
  }
  std::pair<std::size_t, int> checked(std::size_t label, int value) const {
    if (label >= engine_->state().labels || value < 0 || value > 1) throw nb::index_error("no such literal");
    return {label, value};
  }

  // The columns for an engine of the same table and weights; as long as no row has left them.
  Columns lend(const State& other, std::size_t columns) const {
    const State& state = engine_->state();
    require(engine_->columns().size() == columns && state.weights == other.weights &&
                state.working_weight == state.total_weight,
            "the columns of another table, or some of their rows, cannot be lent");
    return engine_->columns();
  }

  // Somebody may want to hear of a search while it runs (`report` is not None), each time after so many seconds. The
  // listener is called with the bodies judged and the best value so far (or None); what it raises ends the search.
  template <class Search>
  nb::object run(std::optional<double> seconds, const nb::object& report, double pace, Search&& search) {
    using Clock = std::chrono::steady_clock;
    using Seconds = std::chrono::duration<double>;
    Watch watch;
    const auto caller = std::this_thread::get_id();
    auto last_report = Clock::now();
    watch.poll = [&] {
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) return true;
      if (report.is_none() || std::this_thread::get_id() != caller || Clock::now() - last_report < Seconds(pace))
        return false;
      last_report = Clock::now();
      try {
        report(watch.bodies.load(), watch.best);
      } catch (nb::python_error& error) {
        error.restore();
        return true;
      }
      return false;
    };
    if (seconds)
      watch.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(std::min(*seconds, 1e9)));
    const std::optional<Grown> grown = unlocked([&] { return search(watch); });
    late_ = watch.late;
    return grown ? as_tuples(*grown) : nb::none();
  }

  // A rule as tuples: body, head, value and cover; where the value is left to the measure itself, what that needs.
  nb::object as_tuples(const Grown& grown) const {
    nb::list body, head, rest;
    for (const ShownCondition& c : grown.body) body.append(nb::make_tuple(static_cast<int>(c.test), c.index, c.value));
    for (const HeadLiteral& l : grown.head.literals) head.append(nb::make_tuple(l.label, l.value, l.tp, l.fp));
    const nb::object num = big_integer(grown.head.value.num), den = big_integer(grown.head.value.den);
    if (!grown.head.errors.empty()) return nb::make_tuple(body, head, num, den, Cover{grown.cover}, grown.head.errors);
    if (!engine_->form().measured) return nb::make_tuple(body, head, num, den, Cover{grown.cover});
    const State& state = engine_->state();
    for (const HeadLiteral& l : grown.head.literals) {  // TN and FN
      const OutcomeCounts outcomes = state.count_outcomes(l.label, grown.cover, state.weigh(grown.cover.data()));
      rest.append(nb::make_tuple(state.absent[l.label] - outcomes[kAbsent] - outcomes[kAbsentSet],
                                 state.present[l.label] - outcomes[kPresent] - outcomes[kPresentSet]));
    }
    return nb::make_tuple(body, head, num, den, Cover{grown.cover}, rest);
  }

  bool late_ = false;
  nb::object keep_alive_;  // dense columns are read where they are
  std::unique_ptr<Engine> engine_;
};

// How a search is ended, in Python.
void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const Interrupted&) {  // its error is set
  } catch (const TimeIsUp&) {
    PyErr_SetString(PyExc_TimeoutError, "the deadline has passed");
  } catch (const NotCompiled&) {
    PyErr_SetString(PyExc_NotImplementedError, "no compiled search is exact in this state");
  }
}

}  // namespace

void register_engine(nb::module_& m) {
  nb::register_exception_translator(translate);
  nb::class_<Cover>(m, "Cover")
      .def("__len__", [](const Cover& cover) { return count_bits(cover.bits.data(), cover.bits.words()); })
      .def("rows", [](const Cover& cover) { return row_numbers(cover.bits); }, "Row numbers, ascending.");
  m.attr("MOST_WEIGHT") = kMostWeight;
  m.def("sign_of_sum", &sign_of_sum, "terms"_a, "The sign of a sum of fractions, for tests.");
  nb::class_<PyEngine>(m, "Engine")
      .def(nb::init<nb::object, const Vector<std::uint8_t>&, const nb::object&,
                    const std::optional<Matrix<std::uint8_t>>&, std::size_t, const Vector<std::int64_t>&,
                    const nb::dict&, const nb::dict&, const nb::dict&, int>(),
           "values"_a, "nominal"_a, "truth"_a, "known"_a.none(), "labels"_a, "weights"_a, "form"_a, "options"_a,
           "limits"_a, "threads"_a)
      .def("grow", &PyEngine::grow, "label"_a.none(), "value"_a, "seconds"_a.none(), "report"_a = nb::none(),
           "pace"_a = 0.5)
      .def("grow_single", &PyEngine::grow_single, "seconds"_a.none(), "report"_a = nb::none(), "pace"_a = 0.5)
      .def("commit", &PyEngine::commit, "rows"_a, "head"_a, "stop"_a.none(), "keep_covered"_a)
      .def("leftover", &PyEngine::leftover)
      .def("training_state", &PyEngine::training_state)
      .def("label_counts", &PyEngine::label_counts, "cover"_a)
      .def_prop_ro("late", &PyEngine::late)
      .def_prop_ro("remaining", &PyEngine::remaining)
      .def_prop_ro("has_unset", &PyEngine::has_unset);
}

}  // namespace polyrule
