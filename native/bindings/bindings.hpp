// What the files that meet Python share. Arrays in, tuples of numbers out; no Python object enters a loop. What Python
// gives is checked here, once: where it does not fit, an error says so.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace polyrule {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;  // in any order
template <class T, int Dims>
using Writable = nb::ndarray<T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;

inline void require(bool fits, const char* what) {
  if (!fits) throw nb::value_error(what);
}

template <class Array, class... Sizes>
bool has_shape(const Array& array, Sizes... sizes) {
  std::size_t axis = 0;
  return (... && (array.shape(axis++) == static_cast<std::size_t>(sizes)));
}

// Places in something that has `end` of them; maybe each above the one before.
template <class T>
bool is_place(T number, std::size_t end) {
  return number >= 0 && static_cast<std::size_t>(number) < end;
}
template <class T>
void require_places(const Vector<T>& numbers, std::size_t end, const char* what, bool ascending = false) {
  for (std::size_t i = 0; i < numbers.shape(0); ++i)
    if (!is_place(numbers(i), end) || (ascending && i > 0 && numbers(i) <= numbers(i - 1))) throw nb::index_error(what);
}

// Where stretches of something begin that has `size` entries, and where the last one ends.
template <class T>
void require_starts(const Vector<T>& starts, std::size_t stretches, std::size_t size, const char* what) {
  require(has_shape(starts, stretches + 1) && starts(0) >= 0, what);
  for (std::size_t i = 0; i < stretches; ++i) require(starts(i) <= starts(i + 1), what);
  require(static_cast<std::size_t>(starts(stretches)) <= size, what);
}

// Runs work without Python's lock.
template <class Work>
auto unlocked(Work&& work) {
  const nb::gil_scoped_release release;
  return work();
}

// An array that owns its numbers.
template <class T>
nb::ndarray<nb::numpy, T> give(std::vector<T> values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  std::vector<T>* released = owned.release();
  nb::capsule owner(released, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(released->data(), {released->size()}, owner);
}

// A sparse table: the stored cells of each column, from the first row to the last.
struct Cells {
  Vector<double> data;
  Vector<std::int32_t> rows;
  Vector<std::int64_t> starts;

  explicit Cells(const nb::object& arrays) {
    std::tie(data, rows, starts) =
        nb::cast<std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>>(arrays);
    require(starts.shape(0) > 0, "table: wrong shape");
    require_starts(starts, starts.shape(0) - 1, std::min(data.shape(0), rows.shape(0)), "table: wrong shape");
  }
  std::size_t columns() const { return starts.shape(0) - 1; }
  void require_rows_of(std::size_t column, std::size_t end) const {
    for (std::int64_t k = starts(column); k < starts(column + 1); ++k) {
      const auto place = static_cast<std::size_t>(k);
      if (!is_place(rows(place), end)) throw nb::index_error("no such row");
      require(k == starts(column) || rows(place - 1) < rows(place),
              "table: cells must be stored once, by ascending rows");
    }
  }
};

void register_engine(nb::module_& m);
void register_predict(nb::module_& m);
void register_count(nb::module_& m);
void register_boosting(nb::module_& m);
void register_lookup(nb::module_& m);
void register_teacher(nb::module_& m);

}  // namespace polyrule
