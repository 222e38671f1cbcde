// The logistic loss of additive rules: its value, slopes and curvatures, and the Newton steps that lower it.
#pragma once

#include <nanobind/nanobind.h>

namespace polyrule {

void register_logistic(nanobind::module_& m);

}  // namespace polyrule
