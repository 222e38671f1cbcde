// The engine, as Python calls it. Everything that comes in is checked here, once.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <thread>

#include "bindings/bindings.hpp"
#include "core/natural.hpp"
#include "judge/ceilings.hpp"
#include "search/engine.hpp"

namespace polyrule {

namespace {

template <class T>
using DenseTable = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using Truth = Matrix<std::uint8_t>;

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

// The entry of a name; an unknown one is a mistake of the caller.
template <class T>
T choose(const char* what, const std::string& name, const std::map<std::string, T>& known) {
  const auto found = known.find(name);
  if (found == known.end()) throw nb::value_error(("unknown " + std::string(what) + " '" + name + "'").c_str());
  return found->second;
}

Form make_form(const std::string& kind, const std::string& scope, const std::vector<Count>& num,
               const std::vector<Count>& den, const std::vector<Count>& rho, std::optional<std::size_t> max_head,
               std::size_t effort, bool negative, const std::string& formula, std::pair<Count, Count> m,
               nb::object function, bool monotone, std::size_t labels) {
  Form form;
  form.kind = choose<HeadKind>("kind of head", kind,
                               {{"singles", HeadKind::singles},
                                {"alone", HeadKind::singles},
                                {"ratio", HeadKind::ratio},
                                {"subset", HeadKind::subset},
                                {"counted", HeadKind::counted},
                                {"micro", HeadKind::micro},
                                {"example", HeadKind::example}});
  form.formula = choose<Formula>("formula", formula,
                                 {{"", Formula::none},
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
                                  {"function", Formula::function}});
  form.scope = choose<Scope>("scope", scope, {{"head", Scope::head}, {"all", Scope::all}, {"full", Scope::full}});
  form.measured = !formula.empty();
  form.m_num = m.first;
  form.m_den = m.second;
  if (form.formula == Formula::function) form.valuer = std::make_shared<Valuer>(caller(std::move(function)));
  if (form.valuer && monotone) form.ceilings = std::make_shared<Ceilings>(form.valuer);
  if (num.size() != 5 || den.size() != 5) throw nb::value_error("a measure needs five coefficients per row");
  if (!rho.empty() && rho.size() <= labels) throw nb::value_error("a lift needs a factor for every size of head");
  if (form.m_den <= 0) throw nb::value_error("the denominator of m must be positive");
  std::copy(num.begin(), num.end(), form.num.begin());
  std::copy(den.begin(), den.end(), form.den.begin());
  form.rho = rho;
  form.max_head = max_head.value_or(SIZE_MAX);
  form.effort = effort;
  form.negative = negative;
  return form;
}

Limits make_limits(const nb::dict& changed) {
  Limits limits;
  const std::map<std::string, std::size_t*> sizes = {{"sorted_rows", &limits.sorted_rows},
                                                     {"binned_rows", &limits.binned_rows},
                                                     {"kept_rows", &limits.kept_rows},
                                                     {"record_bytes", &limits.record_bytes},
                                                     {"table_bytes", &limits.table_bytes},
                                                     {"threaded_work", &limits.threaded_work},
                                                     {"stretch_rows", &limits.stretch_rows},
                                                     {"first_labels", &limits.first_labels},
                                                     {"bounds", &limits.bounds},
                                                     {"pure_search", &limits.pure_search},
                                                     {"plain", &limits.plain}};
  for (const auto& [key, value] : changed) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "lane_capacity") limits.lane_capacity = nb::cast<double>(value);
    else *choose<std::size_t*>("limit", name, sizes) = nb::cast<std::size_t>(value);
  }
  return limits;
}

class PyEngine {
 public:
  PyEngine(nb::object values, const Vector<std::uint8_t>& nominal, nb::object truth, nb::object known,
           std::size_t labels, const Vector<std::int64_t>& weights, Form form, GrowOptions options, Limits limits,
           int threads)
      : keep_alive_(values) {
    const std::size_t rows = weights.shape(0);
    if (rows == 0 || rows >= kStarts) throw nb::value_error("wrong number of rows");
    if (labels == 0 || labels > (std::size_t{1} << 20)) throw nb::value_error("wrong number of labels");
    State state(rows, labels, read_weights(weights));
    read_truth(truth, state);
    read_known(known, state);
    const std::vector<bool> is_nominal(nominal.data(), nominal.data() + nominal.shape(0));
    const PyEngine* lender = nullptr;
    const bool lent = nb::try_cast(values, lender) && lender;
    if (lent) keep_alive_ = lender->keep_alive_;
    Columns columns =
        lent ? lender->lend(state, is_nominal.size()) : read_table(values, rows, is_nominal, limits, threads);
    engine_ = std::make_unique<Engine>(std::move(columns), std::move(state), std::move(form), options, limits, threads);
  }

  nb::object grow(std::optional<std::size_t> label, int value, std::optional<double> seconds, nb::object report,
                  double pace) {
    LiteralChoice literal;
    if (label && (*label >= engine_->state().labels || value < 0 || value > 1))
      throw nb::index_error("no such literal");
    if (label) literal = {*label, value};
    return run(seconds, {report, pace}, [&](const Watch& watch) { return engine_->grow(watch, literal); });
  }

  nb::object grow_single(std::optional<double> seconds, nb::object report, double pace) {
    return run(seconds, {report, pace}, [&](const Watch& watch) { return engine_->grow_single(watch); });
  }

  // `rows` is a cover that was grown here, or an array of row numbers.
  std::tuple<Count, Count, Count, bool> commit(nb::object rows, const std::vector<std::pair<std::size_t, int>>& head,
                                               std::optional<std::pair<Count, Count>> stop, bool keep_covered) {
    const State& state = engine_->state();
    Bits cover(state.rows);
    if (Cover* kept = nullptr; nb::try_cast(rows, kept) && kept) {
      if (kept->bits.words() != cover.words()) throw nb::value_error("a cover of another table");
      cover = kept->bits;
    } else {
      const auto numbers = nb::cast<Vector<std::int64_t>>(rows);
      for (std::size_t i = 0; i < numbers.shape(0); ++i) {
        const std::int64_t row = numbers.data()[i];
        if (row < 0 || static_cast<std::size_t>(row) >= state.rows) throw nb::index_error("no such row");
        cover.set(static_cast<std::size_t>(row));
      }
    }
    for (const auto& [label, value] : head)
      if (label >= state.labels || value < 0 || value > 1) throw nb::index_error("no such literal");
    StopThreshold threshold;
    if (stop) threshold = {true, stop->first, stop->second};
    const nb::gil_scoped_release release;
    const Outcome o = engine_->commit(cover, head, threshold, keep_covered);
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
    if (cover.bits.words() != state.working.words()) throw nb::value_error("a cover of another table");
    const Count weight = state.weigh(cover.bits.data());
    std::vector<std::array<Count, 8>> out;
    for (std::size_t l = 0; l < state.labels; ++l) {
      const KindCounts in = state.count_kinds(l, cover.bits, weight);
      const KindCounts all = state.count_kinds(l, state.working, state.working_weight);
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
    std::vector<std::pair<Count, Count>> out(state.labels);
    for (std::size_t l = 0; l < state.labels; ++l)
      for (std::size_t i = 0; i < state.rows; ++i)
        if (!state.set.test(l, i) && !(state.has_unknown && !state.known.test(l, i)))
          (state.truth.test(l, i) ? out[l].first : out[l].second) += state.weights[i];
    return out;
  }

 private:
  static std::vector<Count> read_weights(const Vector<std::int64_t>& weights) {
    std::vector<Count> out(weights.data(), weights.data() + weights.shape(0));
    Wide total = 0;
    for (const Count weight : out) {
      if (weight < 0) throw nb::value_error("weights must not be negative");
      total += weight;
    }
    if (total > kMostWeight) throw nb::value_error("all weights together must be below 2**31");
    return out;
  }

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
    check_starts(starts, state.rows, indices.shape(0), "labels");
    for (std::size_t i = 0; i < state.rows; ++i)
      for (std::int64_t k = starts.data()[i]; k < starts.data()[i + 1]; ++k) {
        const std::int32_t label = indices.data()[k];
        if (label < 0 || static_cast<std::size_t>(label) >= state.labels) throw nb::index_error("no such label");
        state.truth.put(static_cast<std::size_t>(label), i);
      }
  }

  static void read_known(const nb::object& known, State& state) {
    if (known.is_none()) return;
    const auto mask = nb::cast<Truth>(known);
    if (mask.shape(0) != state.rows || mask.shape(1) != state.labels)
      throw nb::value_error("known labels: wrong shape");
    state.allow_unknown();
    for (std::size_t i = 0; i < state.rows; ++i)
      for (std::size_t l = 0; l < state.labels; ++l)
        if (!mask.data()[i * state.labels + l]) {
          const Word bit = Word{1} << i % 64;
          state.known[l][i / 64] &= ~bit;
          state.truth[l][i / 64] &= ~bit;
        }
  }

  static void check_starts(const Vector<std::int64_t>& starts, std::size_t lists, std::size_t stored,
                           const char* what) {
    bool right = starts.shape(0) == lists + 1 && starts.data()[0] == 0 &&
                 static_cast<std::size_t>(starts.data()[lists]) <= stored;
    for (std::size_t i = 0; right && i < lists; ++i) right = starts.data()[i] <= starts.data()[i + 1];
    if (!right) throw nb::value_error((std::string(what) + ": wrong shape").c_str());
  }

  // True if `values` is a dense matrix of one of the types, in any order.
  template <class... Types, class Check>
  static bool read_cells(const nb::object& values, DenseSource& source, Check&& check) {
    const auto read = [&]<class Type>(DenseTable<Type> matrix) {
      if (!nb::try_cast(values, matrix, false)) return false;
      check(matrix.shape(0), matrix.shape(1));
      // a table of one row, or of rows that are all the same memory, may have a stride of 0: then it is never used
      const std::int64_t stride = matrix.shape(0) > 1 ? matrix.stride(0) : 1;
      if (stride == 0 && matrix.shape(1) > 0) throw nb::value_error("table: rows share their memory");
      for (std::size_t j = 0; j < matrix.shape(1); ++j)
        source.columns.emplace_back(matrix.data() + std::int64_t(j) * matrix.stride(1), stride);
      return true;
    };
    return (read(DenseTable<Types>()) || ...);
  }

  // The columns for an engine of the same table and weights; as long as no row has left them.
  Columns lend(const State& other, std::size_t columns) const {
    const State& state = engine_->state();
    if (engine_->columns().size() != columns || state.weights != other.weights ||
        state.working_weight != state.total_weight)
      throw nb::value_error("the columns of another table, or some of their rows, cannot be lent");
    return engine_->columns();
  }

  static Columns read_table(const nb::object& values, std::size_t rows, const std::vector<bool>& nominal,
                            const Limits& limits, int threads) {
    const auto check = [&](std::size_t found, std::size_t columns) {
      if (found != rows || columns != nominal.size()) throw nb::value_error("table: wrong shape");
    };
    if (DenseSource source{{}, rows};
        read_cells<double, float, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t>(values, source,
                                                                                                        check)) {
      const nb::gil_scoped_release release;
      return Columns(source, nominal, limits, threads);
    }
    const auto [data, indices, starts] =
        nb::cast<std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>>(values);
    check_starts(starts, nominal.size(), std::min(data.shape(0), indices.shape(0)), "table");
    std::vector<std::size_t> last_column(rows, SIZE_MAX);
    for (std::size_t j = 0; j < nominal.size(); ++j)
      for (std::int64_t k = starts.data()[j]; k < starts.data()[j + 1]; ++k) {
        const std::int32_t row = indices.data()[k];
        if (row < 0 || static_cast<std::size_t>(row) >= rows) throw nb::index_error("no such row");
        if (last_column[static_cast<std::size_t>(row)] == j) throw nb::value_error("table: a cell is stored twice");
        last_column[static_cast<std::size_t>(row)] = j;
      }
    const nb::gil_scoped_release release;
    return Columns(SparseSource{data.data(), indices.data(), starts.data(), rows}, nominal, limits, threads);
  }

  // Who wants to hear of a search while it runs, if anybody (not None), and after how many seconds each time.
  struct Listener {
    nb::object report;
    double pace;
  };

  // The listener is called with the bodies judged and the best value so far (or None); what it raises ends the search.
  template <class Search>
  nb::object run(std::optional<double> seconds, const Listener& listener, Search&& search) {
    using Clock = std::chrono::steady_clock;
    Watch watch;
    const auto caller = std::this_thread::get_id();
    auto told = Clock::now();
    watch.poll = [&] {
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) return true;
      const bool due = !listener.report.is_none() && std::this_thread::get_id() == caller &&
                       Clock::now() - told >= std::chrono::duration<double>(listener.pace);
      if (!due) return false;
      told = Clock::now();
      try {
        listener.report(watch.bodies.load(), watch.best);
      } catch (nb::python_error& error) {
        error.restore();
        return true;
      }
      return false;
    };
    if (seconds)
      watch.deadline =
          std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                 std::chrono::duration<double>(std::min(*seconds, 1e9)));
    std::optional<Grown> grown;
    bool interrupted = false, late = false, unsuited = false;
    {
      const nb::gil_scoped_release release;
      try {
        grown = search(watch);
      } catch (const Interrupted&) {
        interrupted = true;
      } catch (const TimeIsUp&) {
        late = true;
      } catch (const NotCompiled&) {
        unsuited = true;
      }
    }
    late_ = watch.late;
    if (interrupted) throw nb::python_error();
    if (late) {
      PyErr_SetString(PyExc_TimeoutError, "the deadline has passed");
      throw nb::python_error();
    }
    if (unsuited) {
      PyErr_SetString(PyExc_NotImplementedError, "no compiled search is exact in this state");
      throw nb::python_error();
    }
    if (!grown) return nb::none();
    nb::list body, head;
    // A condition, or for a group the list of its members and how many of them must hold.
    const Step& group = grown->body.group;
    for (std::size_t i = 0; i < grown->body.conditions.size();) {
      nb::list members;
      const std::size_t end = group.members > 0 && i == group.first ? i + group.members : i + 1;
      for (; i < end; ++i) {
        const ShownCondition& c = grown->body.conditions[i];
        members.append(nb::make_tuple(static_cast<int>(c.test), c.index, c.value));
      }
      if (members.size() > 1) body.append(nb::make_tuple(members, group.least));
      else body.append(members[0]);
    }
    for (const HeadLiteral& l : grown->head.literals) head.append(nb::make_tuple(l.label, l.value, l.tp, l.fp));
    const nb::object num = big_integer(grown->head.value.num), den = big_integer(grown->head.value.den);
    if (!grown->head.errors.empty())
      return nb::make_tuple(body, head, num, den, Cover{grown->cover}, grown->head.errors);
    if (!engine_->form().measured) return nb::make_tuple(body, head, num, den, Cover{grown->cover});
    // The value is left to the measure itself, which needs TN and FN, too.
    nb::list rest;
    const State& state = engine_->state();
    for (const HeadLiteral& l : grown->head.literals) {
      const KindCounts kinds = state.count_kinds(l.label, grown->cover, state.weigh(grown->cover.data()));
      rest.append(nb::make_tuple(state.absent[l.label] - kinds[kAbsent] - kinds[kAbsentSet],
                                 state.present[l.label] - kinds[kPresent] - kinds[kPresentSet]));
    }
    return nb::make_tuple(body, head, num, den, Cover{grown->cover}, rest);
  }

  bool late_ = false;
  nb::object keep_alive_;  // dense columns are read where they are
  std::unique_ptr<Engine> engine_;
};

}  // namespace

void register_engine(nb::module_& m) {
  nb::class_<Cover>(m, "Cover")
      .def("__len__", [](const Cover& cover) { return count_bits(cover.bits.data(), cover.bits.words()); })
      .def("rows", [](const Cover& cover) { return row_numbers(cover.bits); }, "Row numbers, ascending.");
  m.attr("MOST_WEIGHT") = kMostWeight;
  m.def("sign_of_sum", &sign_of_sum, "terms"_a, "The sign of a sum of fractions, for tests.");
  nb::class_<PyEngine>(m, "Engine")
      .def(
          "__init__",
          [](PyEngine* self, nb::object values, const Vector<std::uint8_t>& nominal, nb::object truth, nb::object known,
             std::size_t labels, const Vector<std::int64_t>& weights, const std::string& kind, const std::string& scope,
             const std::vector<Count>& num, const std::vector<Count>& den, const std::vector<Count>& rho,
             std::optional<std::size_t> max_head, bool negative, std::size_t beam_width, bool label_conditions,
             Count min_coverage, std::optional<std::size_t> max_conditions, std::size_t max_members, int threads,
             const std::string& formula, std::pair<Count, Count> m, nb::object function, bool monotone,
             std::size_t effort, const nb::dict& limits) {
            if (beam_width == 0) throw nb::value_error("a beam must be at least 1 wide");
            const GrowOptions options{beam_width, label_conditions, min_coverage, max_conditions.value_or(SIZE_MAX),
                                      max_members};
            new (self) PyEngine(values, nominal, truth, known, labels, weights,
                                make_form(kind, scope, num, den, rho, max_head, effort, negative, formula, m, function,
                                          monotone, labels),
                                options, make_limits(limits), threads);
          },
          "values"_a, "nominal"_a, "truth"_a, "known"_a.none(), "labels"_a, "weights"_a, "kind"_a, "scope"_a, "num"_a,
          "den"_a, "rho"_a, "max_head"_a.none(), "negative"_a, "beam_width"_a, "label_conditions"_a, "min_coverage"_a,
          "max_conditions"_a.none(), "max_members"_a, "threads"_a, "formula"_a = "",
          "m"_a = std::pair<Count, Count>(0, 1), "function"_a = nb::none(), "monotone"_a = false, "effort"_a = 0,
          "limits"_a = nb::dict())
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
