// What the files that meet Python share. Arrays in, tuples of numbers out; no Python object enters a loop.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

namespace polyrule {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T, int Dims>
using Writable = nb::ndarray<T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;

// An array that owns its numbers.
template <class T>
nb::ndarray<nb::numpy, T> give(std::vector<T> values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  std::vector<T>* kept = owned.release();
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner);
}

void register_engine(nb::module_& m);
void register_predict(nb::module_& m);
void register_count(nb::module_& m);
void register_ensemble(nb::module_& m);
void register_lookup(nb::module_& m);
void register_teacher(nb::module_& m);

}  // namespace polyrule
