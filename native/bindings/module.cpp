#include "bindings/bindings.hpp"

NB_MODULE(_native, m) {
  m.doc() = "Compiled kernels of polyrule; use them through polyrule.search and polyrule.model.";
  m.attr("checks_arguments") = true;  // arrays that do not fit end in an error, never in a crash
  polyrule::register_engine(m);
  polyrule::register_predict(m);
  polyrule::register_count(m);
  polyrule::register_boosting(m);
  polyrule::register_lookup(m);
  polyrule::register_teacher(m);
}
