// The trees of a teacher as Python calls them; what comes out is written into arrays that it brings.
#include <algorithm>

#include "bindings/bindings.hpp"
#include "teacher/tree.hpp"

namespace polyrule {
namespace {

std::size_t py_grow_tree(const Matrix<float>& design, const Matrix<float>& columns, const Vector<float>& usual,
                         const Vector<std::int64_t>& starts, const Vector<std::int32_t>& listed,
                         const Vector<std::int32_t>& rows, const Matrix<std::int32_t>& codes,
                         const Vector<std::int32_t>& weights, std::size_t tried, std::size_t smallest,
                         std::uint64_t seed, const Writable<std::int32_t, 1>& feature, const Writable<float, 1>& cut,
                         const Writable<std::int32_t, 1>& right, const Writable<std::int32_t, 1>& leaves) {
  const std::size_t bag = rows.shape(0), features = columns.shape(0), examples = columns.shape(1);
  if (design.shape(0) != examples || design.shape(1) != features || usual.shape(0) != features ||
      starts.shape(0) != features + 1)
    throw nb::value_error("features and examples do not fit together");
  for (std::size_t f = 0; f < features; ++f)
    if (starts.data()[f] < 0 || starts.data()[f] > starts.data()[f + 1] ||
        starts.data()[f + 1] > static_cast<std::int64_t>(listed.shape(0)))
      throw nb::value_error("the lists of examples do not fit");
  for (std::size_t i = 0; i < listed.shape(0); ++i)
    if (listed.data()[i] < 0 || static_cast<std::size_t>(listed.data()[i]) >= examples)
      throw nb::index_error("no such example");
  if (codes.shape(0) != bag || codes.shape(1) != kCodeWidth || weights.shape(0) != bag)
    throw nb::value_error("eight codes and a weight per row are needed");
  if (!bag || !features || !smallest || feature.shape(0) < 2 * bag || cut.shape(0) < 2 * bag ||
      right.shape(0) < 2 * bag || leaves.shape(0) != examples)
    throw nb::value_error("rows, features and room for the nodes are needed");
  for (std::size_t i = 0; i < bag; ++i)
    if (rows.data()[i] <= (i ? rows.data()[i - 1] : -1) || static_cast<std::size_t>(rows.data()[i]) >= examples)
      throw nb::index_error("no such row, or not in order");
  std::int64_t heaviest = 0;
  for (std::size_t i = 0; i < bag; ++i) {
    if (weights.data()[i] <= 0) throw nb::value_error("weights must be positive");
    std::int64_t largest = 1;
    for (std::size_t k = 0; k < kCodeWidth; ++k) {
      const std::int64_t code = codes.data()[i * kCodeWidth + k];
      largest = std::max(largest, code < 0 ? -code : code);
    }
    heaviest += largest * weights.data()[i];
  }
  if (heaviest >= std::int64_t{1} << 30) throw nb::value_error("codes and weights are too large");
  const nb::gil_scoped_release release;
  return grow_tree({design.data(), columns.data(), usual.data(), starts.data(), listed.data(), features, examples,
                    rows.data(), codes.data(), weights.data(), bag, tried, smallest, seed},
                   {feature.data(), cut.data(), right.data()}, leaves.data());
}

void py_find_leaves(const Vector<std::int32_t>& feature, const Vector<float>& cut, const Vector<std::int32_t>& right,
                    const Matrix<float>& design, const Writable<std::int32_t, 1>& leaves) {
  const std::size_t size = feature.shape(0);
  if (!size || cut.shape(0) != size || right.shape(0) != size || leaves.shape(0) != design.shape(0))
    throw nb::value_error("a tree, and a leaf per row, are needed");
  for (std::size_t node = 0; node < size; ++node)
    if (feature.data()[node] >= 0 &&
        (static_cast<std::size_t>(feature.data()[node]) >= design.shape(1) || node + 1 == size ||
         right.data()[node] <= static_cast<std::int32_t>(node) || static_cast<std::size_t>(right.data()[node]) >= size))
      throw nb::index_error("no such feature or node");
  const nb::gil_scoped_release release;
  find_leaves(feature.data(), cut.data(), right.data(), design.data(), design.shape(0), design.shape(1), leaves.data());
}

}  // namespace

void register_teacher(nb::module_& m) {
  m.def("grow_tree", &py_grow_tree, "design"_a, "columns"_a, "usual"_a, "starts"_a, "listed"_a, "rows"_a, "codes"_a,
        "weights"_a, "tried"_a, "smallest"_a, "seed"_a, "feature"_a, "cut"_a, "right"_a, "leaves"_a);
  m.def("find_leaves", &py_find_leaves, "feature"_a, "cut"_a, "right"_a, "design"_a, "leaves"_a);
}

}  // namespace polyrule
