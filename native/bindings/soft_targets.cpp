// The trees of a teacher as Python calls them; what comes out is written into arrays that it brings.
#include <algorithm>
#include <cstdlib>

#include "bindings/bindings.hpp"
#include "soft_targets/tree.hpp"

namespace polyrule {
namespace {

std::size_t py_grow_tree(const Matrix<float>& design, const Matrix<float>& columns, const Vector<float>& modes,
                         const Vector<std::int64_t>& starts, const Vector<std::int32_t>& listed,
                         const Vector<std::int32_t>& rows, const Matrix<std::int32_t>& codes,
                         const Vector<std::int32_t>& weights, std::size_t tried, std::size_t smallest,
                         std::uint64_t seed, const Writable<std::int32_t, 1>& feature, const Writable<float, 1>& cut,
                         const Writable<std::int32_t, 1>& right, const Writable<std::int32_t, 1>& leaves) {
  const std::size_t bag = rows.shape(0), features = columns.shape(0), examples = columns.shape(1);
  require(has_shape(design, examples, features) && has_shape(modes, features),
          "features and examples do not fit together");
  require_starts(starts, features, listed.shape(0), "the lists of examples do not fit");
  require_places(listed, examples, "no such example");
  require_places(rows, examples, "no such row, or not in order", true);
  require(has_shape(codes, bag, kCodeWidth) && has_shape(weights, bag), "eight codes and a weight per row are needed");
  require(bag && features && smallest && feature.shape(0) >= 2 * bag && cut.shape(0) >= 2 * bag &&
              right.shape(0) >= 2 * bag && has_shape(leaves, examples),
          "rows, features and room for the nodes are needed");
  std::int64_t heaviest = 0;
  for (std::size_t i = 0; i < bag; ++i) {
    require(weights(i) > 0, "weights must be positive");
    std::int64_t largest = 1;
    for (std::size_t k = 0; k < kCodeWidth; ++k) largest = std::max(largest, std::abs(std::int64_t{codes(i, k)}));
    heaviest += largest * weights(i);
  }
  require(heaviest < std::int64_t{1} << 30, "codes and weights are too large");
  return unlocked([&] {
    return grow_tree({design.data(), columns.data(), modes.data(), starts.data(), listed.data(), features, examples,
                      rows.data(), codes.data(), weights.data(), bag, tried, smallest, seed},
                     {feature.data(), cut.data(), right.data()}, leaves.data());
  });
}

void py_find_leaves(const Vector<std::int32_t>& feature, const Vector<float>& cut, const Vector<std::int32_t>& right,
                    const Matrix<float>& design, const Writable<std::int32_t, 1>& leaves) {
  const std::size_t size = feature.shape(0);
  require(size && has_shape(cut, size) && has_shape(right, size) && has_shape(leaves, design.shape(0)),
          "a tree, and a leaf per row, are needed");
  for (std::size_t node = 0; node < size; ++node)
    if (feature(node) >= 0 && (!is_place(feature(node), design.shape(1)) || node + 1 == size ||
                               !is_place(right(node), size) || static_cast<std::size_t>(right(node)) <= node))
      throw nb::index_error("no such feature or node");
  unlocked([&] {
    find_leaves(feature.data(), cut.data(), right.data(), design.data(), design.shape(0), design.shape(1),
                leaves.data());
  });
}

}  // namespace

void register_teacher(nb::module_& m) {
  m.def("grow_tree", &py_grow_tree, "design"_a, "columns"_a, "modes"_a, "starts"_a, "listed"_a, "rows"_a, "codes"_a,
        "weights"_a, "tried"_a, "smallest"_a, "seed"_a, "feature"_a, "cut"_a, "right"_a, "leaves"_a);
  m.def("find_leaves", &py_find_leaves, "feature"_a, "cut"_a, "right"_a, "design"_a, "leaves"_a);
}

}  // namespace polyrule
