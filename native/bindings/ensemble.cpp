// The search for an ensemble's conditions, and the fit of its weights, as Python calls them.
#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>
#include <vector>

#include "bindings/bindings.hpp"
#include "ensemble/gain.hpp"
#include "ensemble/logistic.hpp"

namespace polyrule {
namespace {

void check_rows(const Vector<std::int32_t>& rows, std::size_t examples) {
  for (std::size_t k = 0; k < rows.shape(0); ++k)
    if (rows.data()[k] < 0 || static_cast<std::size_t>(rows.data()[k]) >= examples)
      throw nb::index_error("no such row");
}

Slopes checked(const Matrix<std::int32_t>& gradient, const Matrix<std::int32_t>& curvature) {
  if (curvature.shape(0) != gradient.shape(0) || curvature.shape(1) != gradient.shape(1))
    throw nb::value_error("gradient and curvature need the same shape");
  return {gradient.data(), curvature.data(), gradient.shape(1)};
}

auto py_best_conditions(const Matrix<Code>& dense, const Vector<std::int32_t>& slot, const Vector<std::int32_t>& count,
                        const Vector<std::uint8_t>& nominal, const Vector<std::int32_t>& usual,
                        const Vector<std::int64_t>& starts, const Vector<std::int32_t>& listed_rows,
                        const Vector<Code>& listed_codes, const Vector<std::int8_t>& direction,
                        const Vector<std::int32_t>& forbidden, const Vector<std::int32_t>& rows,
                        const Matrix<std::int32_t>& gradient, const Matrix<std::int32_t>& curvature,
                        const Vector<std::int64_t>& judges, const Vector<std::int64_t>& chosen,
                        const Vector<std::int64_t>& root, const Matrix<std::int64_t>& offset, double ridge, double cost,
                        int sign, int threads) {
  const Slopes slopes = checked(gradient, curvature);
  const std::size_t features = slot.shape(0), labels = slopes.labels, examples = gradient.shape(0);
  if (count.shape(0) != features || nominal.shape(0) != features || usual.shape(0) != features ||
      direction.shape(0) != features || forbidden.shape(0) != features || starts.shape(0) != features + 1)
    throw nb::value_error("bins: one entry per feature is needed");
  if (root.shape(0) != labels) throw nb::value_error("gradient and curvature need one column per label");
  if (offset.shape(0) != 2 || offset.shape(1) != labels)
    throw nb::value_error("offset needs a gradient and a curvature per label");
  check_rows(rows, examples);
  if (judges.shape(0) == 0) throw nb::value_error("some label must judge");
  for (std::size_t i = 0; i < judges.shape(0); ++i) {
    if (judges.data()[i] < 0 || static_cast<std::size_t>(judges.data()[i]) >= labels)
      throw nb::index_error("no such label");
    if (i > 0 && judges.data()[i] <= judges.data()[i - 1]) throw nb::value_error("labels must ascend");
  }
  for (std::size_t i = 0; i < chosen.shape(0); ++i)
    if (chosen.data()[i] < 0 || static_cast<std::size_t>(chosen.data()[i]) >= features)
      throw nb::index_error("no such feature");
  const Bins bins{dense.data(),     slot.data(),      count.data(),       nominal.data(),
                  usual.data(),     starts.data(),    listed_rows.data(), listed_codes.data(),
                  direction.data(), forbidden.data(), examples,           features};
  const Asked asked{rows.data(),   rows.shape(0),
                    judges.data(), judges.shape(0),
                    chosen.data(), chosen.shape(0),
                    root.data(),   offset.data(),
                    ridge,         cost,
                    sign};
  std::vector<Best> best;
  {
    const nb::gil_scoped_release release;
    best = best_conditions(bins, slopes, asked, threads);
  }
  std::vector<double> gains;
  std::vector<std::int32_t> cuts;
  std::vector<std::uint8_t> tests;
  for (const Best& found : best) gains.push_back(found.gain), cuts.push_back(found.bin), tests.push_back(found.test);
  return std::make_tuple(give(std::move(gains)), give(std::move(cuts)), give(std::move(tests)));
}

auto py_slope_sums(const Matrix<std::int32_t>& gradient, const Matrix<std::int32_t>& curvature,
                   const Vector<std::int32_t>& rows) {
  const Slopes slopes = checked(gradient, curvature);
  check_rows(rows, gradient.shape(0));
  return give(slope_sums(slopes, rows.data(), rows.shape(0)));
}

struct Fit {
  Problem problem;
  Weights weights;
};

Fit checked(const Matrix<std::uint8_t>& covers, const Matrix<float>& targets, const Vector<double>& weights,
            const Vector<std::int64_t>& labels, const Matrix<double>& coefficients, const Matrix<bool>& support) {
  const std::size_t rows = covers.shape(1);
  if (targets.shape(1) != rows || weights.shape(0) != rows) throw nb::value_error("one entry per row is needed");
  if (coefficients.shape(0) > covers.shape(0) || coefficients.shape(1) != labels.shape(0) ||
      support.shape(0) != coefficients.shape(0) || support.shape(1) != labels.shape(0))
    throw nb::value_error("coefficients and support need a row per rule and a column per label");
  for (std::size_t l = 0; l < labels.shape(0); ++l)
    if (labels.data()[l] < 0 || static_cast<std::size_t>(labels.data()[l]) >= targets.shape(0))
      throw nb::index_error("no such label");
  return {{covers.data(), targets.data(), weights.data(), rows},
          {labels.data(), coefficients.shape(0), labels.shape(0), coefficients.data(), support.data()}};
}

auto py_logistic_descents(const Matrix<std::uint8_t>& covers, const Matrix<float>& targets,
                          const Vector<double>& weights, const Vector<std::int64_t>& labels,
                          const Matrix<double>& coefficients, const Matrix<bool>& support, double unit, int threads) {
  const Fit fit = checked(covers, targets, weights, labels, coefficients, support);
  std::vector<double> found(fit.weights.size * fit.weights.count, 0.0);
  {
    const nb::gil_scoped_release release;
    logistic_descents(fit.problem, fit.weights, unit, threads, found.data());
  }
  return give(std::move(found));
}

auto py_logistic_curvatures(const Matrix<std::uint8_t>& covers, const Matrix<float>& targets,
                            const Vector<double>& weights, const Vector<std::int64_t>& labels,
                            const Matrix<double>& coefficients, const Matrix<bool>& support, double unit, int threads) {
  const Fit fit = checked(covers, targets, weights, labels, coefficients, support);
  std::vector<double> matrices;
  {
    const nb::gil_scoped_release release;
    matrices = logistic_curvatures(fit.problem, fit.weights, unit, threads);
  }
  return give(std::move(matrices));
}

void py_logistic_slopes(const Matrix<std::uint8_t>& covers, const Matrix<float>& targets, const Vector<double>& weights,
                        const Vector<std::int64_t>& labels, const Matrix<double>& coefficients,
                        const Matrix<bool>& support, double scale, const Writable<std::int32_t, 2>& gradient,
                        const Writable<std::int32_t, 2>& curvature, int threads) {
  const Fit fit = checked(covers, targets, weights, labels, coefficients, support);
  const std::size_t rows = fit.problem.rows, every = targets.shape(0);
  if (gradient.shape(0) != rows || gradient.shape(1) != every || curvature.shape(0) != rows ||
      curvature.shape(1) != every)
    throw nb::value_error("gradient and curvature need a row per example and a column per label");
  const nb::gil_scoped_release release;
  logistic_slopes(fit.problem, fit.weights, scale, threads, every, gradient.data(), curvature.data());
}

auto py_line_sums(const Vector<double>& scores, const Vector<double>& truth, const Vector<double>& weights,
                  double shift, double slope, double unit, int threads) {
  const std::size_t count = scores.shape(0);
  if (truth.shape(0) != count || weights.shape(0) != count) throw nb::value_error("one entry per score is needed");
  const nb::gil_scoped_release release;
  return line_sums(scores.data(), truth.data(), weights.data(), count, shift, slope, unit, threads);
}

Weights checked(const Vector<double>& matrices, const Matrix<bool>& support, const Vector<double>& penalties) {
  const Weights given{nullptr, support.shape(0), support.shape(1), nullptr, support.data()};
  if (penalties.shape(0) != given.size) throw nb::value_error("one penalty per rule is needed");
  if (matrices.shape(0) != matrix_cells(given)) throw nb::value_error("matrices and support do not fit together");
  return given;
}

auto py_newton_steps(const Vector<double>& matrices, const Matrix<bool>& support, const Vector<double>& penalties,
                     const Matrix<double>& gradient) {
  const Weights given = checked(matrices, support, penalties);
  if (gradient.shape(0) != given.size || gradient.shape(1) != given.count)
    throw nb::value_error("gradient and support need the same shape");
  std::vector<double> steps(given.size * given.count, 0.0);
  auto good = newton_steps(matrices.data(), given, penalties.data(), gradient.data(), steps.data());
  return std::make_tuple(give(std::move(steps)), give(std::move(good)));
}

auto py_inverse_diagonals(const Vector<double>& matrices, const Matrix<bool>& support,
                          const Vector<double>& penalties) {
  const Weights given = checked(matrices, support, penalties);
  std::vector<double> found(given.size * given.count, 0.0);
  auto good = inverse_diagonals(matrices.data(), given, penalties.data(), found.data());
  return std::make_tuple(give(std::move(found)), give(std::move(good)));
}

}  // namespace

void register_ensemble(nb::module_& m) {
  m.def("best_conditions", &py_best_conditions, "dense"_a, "slot"_a, "count"_a, "nominal"_a, "usual"_a, "starts"_a,
        "listed_rows"_a, "listed_codes"_a, "direction"_a, "forbidden"_a, "rows"_a, "gradient"_a, "curvature"_a,
        "judges"_a, "chosen"_a, "root"_a, "offset"_a, "ridge"_a, "cost"_a, "sign"_a, "threads"_a);
  m.def("slope_sums", &py_slope_sums, "gradient"_a, "curvature"_a, "rows"_a);
  m.def("logistic_descents", &py_logistic_descents, "covers"_a, "targets"_a, "weights"_a, "labels"_a, "coefficients"_a,
        "support"_a, "unit"_a, "threads"_a);
  m.def("logistic_curvatures", &py_logistic_curvatures, "covers"_a, "targets"_a, "weights"_a, "labels"_a,
        "coefficients"_a, "support"_a, "unit"_a, "threads"_a);
  m.def("logistic_slopes", &py_logistic_slopes, "covers"_a, "targets"_a, "weights"_a, "labels"_a, "coefficients"_a,
        "support"_a, "scale"_a, "gradient"_a, "curvature"_a, "threads"_a);
  m.def("line_sums", &py_line_sums, "scores"_a, "truth"_a, "weights"_a, "shift"_a, "slope"_a, "unit"_a, "threads"_a);
  m.def("newton_steps", &py_newton_steps, "matrices"_a, "support"_a, "penalties"_a, "gradient"_a);
  m.def("inverse_diagonals", &py_inverse_diagonals, "matrices"_a, "support"_a, "penalties"_a);
}

}  // namespace polyrule
