#include "bindings/bindings.hpp"
#include "count/bindings.hpp"
#include "ensemble/gain.hpp"

NB_MODULE(_native, m) {
  m.doc() = "Compiled kernels of polyrule; use them through polyrule.kernels and polyrule.model.";
  polyrule::register_engine(m);
  polyrule::register_predict(m);
  polyrule::register_gain(m);
  polyrule_count::register_count(m);
}
