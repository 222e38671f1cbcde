#include "search/sums.hpp"

#include <algorithm>

namespace polyrule {

namespace {

constexpr std::size_t kVector = 16;

POLYRULE_VECTOR_CLONES
void add_rows(const std::uint8_t* codes, std::size_t stride, const std::uint32_t* slots, std::size_t count,
              const std::uint32_t* weights, std::uint32_t* sums) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t slot = slots[i] & kEntry;
    const std::uint8_t* code = codes + slot * stride;
    const std::uint32_t weight = weights ? weights[slot] : 1;
    std::uint32_t *a = sums, *b = sums + stride, *c = sums + 2 * stride, *d = sums + 3 * stride;
    for (std::size_t first = 0; first < stride; first += kVector) {
      for (std::size_t l = first; l < first + kVector; ++l) {
        const std::uint32_t bits = code[l];
        a[l] += (bits & 1) * weight;
        b[l] += (bits >> 1 & 1) * weight;
        c[l] += (bits >> 2 & 1) * weight;
        d[l] += (bits >> 3 & 1) * weight;
      }
    }
  }
}

POLYRULE_VECTOR_CLONES
void to_rates(const std::uint32_t* sum, const std::uint32_t* all, const std::uint32_t* totals, std::size_t n,
              float* out) {
  const auto real = [](std::uint32_t x) { return static_cast<float>(x); };
  for (std::size_t l = 0; l < n; ++l) {
    const std::uint32_t tp = all ? all[l] - sum[l] : sum[l], fp = all ? all[n + l] - sum[n + l] : sum[n + l];
    const std::uint32_t present = all ? all[2 * n + l] - sum[2 * n + l] : sum[2 * n + l];
    const std::uint32_t absent = all ? all[3 * n + l] - sum[3 * n + l] : sum[3 * n + l];
    out[l] = real(tp);
    out[n + l] = real(fp);
    out[2 * n + l] = real(totals[l] - absent);
    out[3 * n + l] = real(totals[n + l] - present);
  }
}

}  // namespace

Codes::Codes(const Node& node, const State& state)
    : stride_((node.labels.size() + kVector - 1) / kVector * kVector), codes_(node.slots * stride_, 0) {
  constexpr std::uint8_t kBits[] = {2 | 8, 1 | 4, 8, 4};  // by kind
  for (std::size_t e = 0; e < node.labels.size(); ++e) {
    const std::size_t label = node.labels[e].label;
    for (std::size_t i = 0; i < node.rows.size(); ++i) {
      const int kind = state.kind(label, node.rows[i]);
      if (kind != kUnknown) codes_[(node.is_root() ? node.rows[i] : i) * stride_ + e] = kBits[kind];
    }
  }
}

Sums::Sums(const Node& node, const State& state, const Codes& codes)
    : node_(node), state_(state), codes_(codes), node_all_(4 * codes.stride(), 0), totals_(2 * codes.stride(), 0) {
  const std::size_t n = stride();
  for (std::size_t e = 0; e < node.labels.size(); ++e) {
    const KindCounts& kinds = node.labels[e].kinds;
    node_all_[e] = Number(kinds[kPresent]);
    node_all_[n + e] = Number(kinds[kAbsent]);
    node_all_[2 * n + e] = Number(kinds[kPresent] + kinds[kPresentSet]);
    node_all_[3 * n + e] = Number(kinds[kAbsent] + kinds[kAbsentSet]);
    totals_[e] = Number(node.labels[e].absent);
    totals_[n + e] = Number(node.labels[e].present);
  }
  all_ = node_all_;
  sum_.resize(all_.size());
  if (state.unit) return;
  weights_.resize(node.slots);
  for (std::size_t i = 0; i < node.rows.size(); ++i)
    weights_[node.is_root() ? node.rows[i] : i] = Number(state.weights[node.rows[i]]);
}

void Sums::begin() {
  std::fill(sum_.begin(), sum_.end(), 0);
  moved_ = 0;
}

void Sums::add(const std::uint32_t* slots, std::size_t count) {
  if (state_.unit) moved_ += Count(count);
  else
    for (std::size_t i = 0; i < count; ++i) moved_ += weights_[slots[i] & kEntry];
  add_rows(codes_.data(), stride(), slots, count, weights_.empty() ? nullptr : weights_.data(), sum_.data());
}

void Sums::leave_out() {
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i] = node_all_[i] - sum_[i];
}

void Sums::keep_rest(Count total) {
  rest_.resize(all_.size());
  rest_weight_ = total - moved_;
  for (std::size_t i = 0; i < all_.size(); ++i) rest_[i] = all_[i] - sum_[i];
}

void Sums::add_rest() {
  for (std::size_t i = 0; i < all_.size(); ++i) sum_[i] += rest_[i];
  moved_ += rest_weight_;
}

void Sums::rates(bool outside, float* out) const {
  to_rates(sum_.data(), outside ? all_.data() : nullptr, totals_.data(), stride(), out);
}

}  // namespace polyrule
