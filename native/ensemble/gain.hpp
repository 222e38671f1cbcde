// The second-order gain of every condition that could extend a body, for additive rules with weighted heads.
#pragma once

#include <nanobind/nanobind.h>

namespace polyrule {

void register_gain(nanobind::module_& m);

}  // namespace polyrule
