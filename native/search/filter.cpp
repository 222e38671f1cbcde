#include "search/filter.hpp"

namespace polyrule {

std::unique_ptr<Filter> make_filter(const Judged& judged) {
  const Form& form = judged.form;
  if (form.kind == HeadKind::example) return make_hamming_filter(judged);
  if (form.monotone_bounds) return make_function_filter(judged);
  if (form.formula == Formula::function) return nullptr;
  if (form.kind == HeadKind::micro)
    return form.formula == Formula::m_estimate ? make_m_estimate_filter(judged) : make_association_filter(judged);
  return form.formula == Formula::none ? make_ratio_filter(judged) : make_literal_filter(judged);
}

}  // namespace polyrule
