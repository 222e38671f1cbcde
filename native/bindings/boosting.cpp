// Python bindings of the search for an ensemble's conditions and of the fit of its weights.
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

#include "bindings/bindings.hpp"
#include "boosting/gain.hpp"
#include "boosting/logistic.hpp"

namespace polyrule {
namespace {

auto py_best_conditions(const Matrix<Code>& dense, const Vector<std::int32_t>& slot, const Vector<std::int32_t>& count,
                        const Vector<std::uint8_t>& nominal, const Vector<std::int32_t>& most_common,
                        const Vector<std::int64_t>& starts, const Vector<std::int32_t>& listed_rows,
                        const Vector<Code>& listed_codes, const Vector<std::int8_t>& direction,
                        const Vector<std::int32_t>& forbidden, const Vector<std::int32_t>& rows,
                        const Matrix<std::int32_t>& gradient, const Matrix<std::int32_t>& hessian,
                        const Vector<std::int64_t>& query_labels, const Vector<std::int64_t>& query_features,
                        const Vector<std::int64_t>& root, const Matrix<std::int64_t>& offset, double ridge, double cost,
                        int sign, std::int64_t min_rows, int threads) {
  const std::size_t features = slot.shape(0), examples = gradient.shape(0), columns = gradient.shape(1);
  require(has_shape(count, features) && has_shape(nominal, features) && has_shape(most_common, features) &&
              has_shape(direction, features) && has_shape(forbidden, features) && has_shape(starts, features + 1),
          "bins: one entry per feature is needed");
  require(has_shape(hessian, examples, columns), "gradient and hessian need the same shape");
  require(has_shape(root, columns), "root needs a hessian per column");
  require(has_shape(offset, 2, columns), "offset needs a gradient and a hessian per column");
  require(query_labels.shape(0) > 0 && query_labels.data()[0] == 0, "the first column must be among the judges");
  require_places(rows, examples, "no such row");
  require_places(query_labels, columns, "no such label, or not in order", true);
  require_places(query_features, features, "no such feature");
  const Bins bins{dense.data(),       slot.data(),      count.data(),       nominal.data(),
                  most_common.data(), starts.data(),    listed_rows.data(), listed_codes.data(),
                  direction.data(),   forbidden.data(), examples,           features};
  const Gradients gradients{gradient.data(), hessian.data(), columns};
  const GainQuery query{rows.data(),
                        rows.shape(0),
                        query_labels.data(),
                        query_labels.shape(0),
                        columns,
                        query_features.data(),
                        query_features.shape(0),
                        root.data(),
                        offset.data(),
                        ridge,
                        cost,
                        sign,
                        min_rows};
  std::vector<double> gains;
  std::vector<std::int32_t> thresholds;
  std::vector<std::uint8_t> tests;
  for (const Best& best : unlocked([&] { return best_conditions(bins, gradients, query, threads); }))
    gains.push_back(best.gain), thresholds.push_back(best.bin), tests.push_back(best.test);
  return std::make_tuple(give(std::move(gains)), give(std::move(thresholds)), give(std::move(tests)));
}

struct Fit {
  Problem problem;
  Weights weights;
};

Fit checked(const Matrix<std::uint8_t>& covers, const Matrix<float>& targets, const Vector<double>& weights,
            const Vector<std::int64_t>& labels, const Matrix<double>& coefficients, const Matrix<bool>& support) {
  const std::size_t rows = covers.shape(1), size = coefficients.shape(0), count = labels.shape(0);
  require(has_shape(targets, targets.shape(0), rows) && has_shape(weights, rows), "one entry per row is needed");
  require(size <= covers.shape(0) && has_shape(coefficients, size, count) && has_shape(support, size, count),
          "coefficients and support need a row per rule and a column per label");
  require_places(labels, targets.shape(0), "no such label");
  return {{covers.data(), targets.data(), weights.data(), rows},
          {labels.data(), size, count, coefficients.data(), support.data()}};
}

// Derivatives by weights: `find` is `logistic_gradients` or `logistic_hessians`.
template <std::vector<double> (*find)(const Problem&, const Weights&, double, int)>
auto py_logistic(const Matrix<std::uint8_t>& covers, const Matrix<float>& targets, const Vector<double>& weights,
                 const Vector<std::int64_t>& labels, const Matrix<double>& coefficients, const Matrix<bool>& support,
                 double unit, int threads) {
  const Fit fit = checked(covers, targets, weights, labels, coefficients, support);
  return give(unlocked([&] { return find(fit.problem, fit.weights, unit, threads); }));
}

void py_write_gradients(const Matrix<std::uint8_t>& covers, const Matrix<float>& targets, const Vector<double>& weights,
                        const Vector<std::int64_t>& labels, const Matrix<double>& coefficients,
                        const Matrix<bool>& support, double scale, const Writable<std::int32_t, 2>& gradient,
                        const Writable<std::int32_t, 2>& hessian, int threads) {
  const Fit fit = checked(covers, targets, weights, labels, coefficients, support);
  const std::size_t rows = fit.problem.rows, columns = targets.shape(0) + 1;
  require(has_shape(gradient, rows, columns) && has_shape(hessian, rows, columns),
          "gradient and hessian need a row per example and a column per label, after one that counts rows");
  unlocked([&] {
    write_gradients_hessians(fit.problem, fit.weights, scale, threads, columns, gradient.data(), hessian.data());
  });
}

Weights checked(const Vector<double>& matrices, const Matrix<bool>& support, const Vector<double>& penalties) {
  const Weights weights{nullptr, support.shape(0), support.shape(1), nullptr, support.data()};
  require(has_shape(penalties, weights.size), "one penalty per rule is needed");
  require(has_shape(matrices, matrix_cells(weights)), "matrices and support do not fit together");
  return weights;
}

auto py_newton_steps(const Vector<double>& matrices, const Matrix<bool>& support, const Vector<double>& penalties,
                     const Matrix<double>& gradient) {
  const Weights weights = checked(matrices, support, penalties);
  require(has_shape(gradient, weights.size, weights.count), "gradient and support need the same shape");
  NewtonResult result = newton_steps(matrices.data(), weights, penalties.data(), gradient.data());
  return std::make_tuple(give(std::move(result.values)), give(std::move(result.good)));
}

auto py_inverse_diagonals(const Vector<double>& matrices, const Matrix<bool>& support,
                          const Vector<double>& penalties) {
  const Weights weights = checked(matrices, support, penalties);
  NewtonResult result = inverse_diagonals(matrices.data(), weights, penalties.data());
  return std::make_tuple(give(std::move(result.values)), give(std::move(result.good)));
}

}  // namespace

void register_boosting(nb::module_& m) {
  m.def("best_conditions", &py_best_conditions, "dense"_a, "slot"_a, "count"_a, "nominal"_a, "usual"_a, "starts"_a,
        "listed_rows"_a, "listed_codes"_a, "direction"_a, "forbidden"_a, "rows"_a, "gradient"_a, "hessian"_a,
        "judges"_a, "chosen"_a, "root"_a, "offset"_a, "ridge"_a, "cost"_a, "sign"_a, "min_rows"_a, "threads"_a);
  m.def("logistic_gradients", &py_logistic<logistic_gradients>, "covers"_a, "targets"_a, "weights"_a, "labels"_a,
        "coefficients"_a, "support"_a, "unit"_a, "threads"_a);
  m.def("logistic_hessians", &py_logistic<logistic_hessians>, "covers"_a, "targets"_a, "weights"_a, "labels"_a,
        "coefficients"_a, "support"_a, "unit"_a, "threads"_a);
  m.def("write_gradients", &py_write_gradients, "covers"_a, "targets"_a, "weights"_a, "labels"_a, "coefficients"_a,
        "support"_a, "scale"_a, "gradient"_a, "hessian"_a, "threads"_a);
  m.def("newton_steps", &py_newton_steps, "matrices"_a, "support"_a, "penalties"_a, "gradient"_a);
  m.def("inverse_diagonals", &py_inverse_diagonals, "matrices"_a, "support"_a, "penalties"_a);
}

}  // namespace polyrule
