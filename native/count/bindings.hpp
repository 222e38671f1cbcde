#pragma once

#include <nanobind/nanobind.h>

namespace polyrule_count {

// Adds count_rows and decide_counts to the extension.
void register_count(nanobind::module_& m);

}  // namespace polyrule_count
