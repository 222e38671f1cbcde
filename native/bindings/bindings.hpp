// What the files that meet Python share. Arrays in, tuples of numbers out; no Python object enters a loop.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace polyrule {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void register_engine(nb::module_& m);
void register_predict(nb::module_& m);
void register_covers(nb::module_& m);
void register_ensemble(nb::module_& m);
void register_lookup(nb::module_& m);
void register_teacher(nb::module_& m);

}  // namespace polyrule
