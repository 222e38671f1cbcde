#include "search/sums.hpp"

#include "core/assert.hpp"

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

// The same for at most `kAtOnce` rows of weight 1: each of the four bits is summed where it stands, in a byte.
constexpr std::size_t kAtOnce = 16;

POLYRULE_VECTOR_CLONES
void add_few(const std::uint8_t* codes, std::size_t stride, const std::uint32_t* slots, std::size_t count,
             std::uint32_t* sums) {
  using Bytes = Lanes<std::uint8_t, kVector>;
  const Bytes one = fill<Bytes>(std::uint8_t{1}), two = fill<Bytes>(std::uint8_t{2}),
              four = fill<Bytes>(std::uint8_t{4}), eight = fill<Bytes>(std::uint8_t{8});
  for (std::size_t first = 0; first < stride; first += kVector) {
    Bytes a{}, b{}, c{}, d{};
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes code = load<Bytes>(codes + (slots[i] & kEntry) * stride + first);
      a += code & one;
      b += code & two;
      c += code & four;
      d += code & eight;
    }
    for (std::size_t l = 0; l < kVector; ++l) {
      std::uint32_t* sum = sums + first + l;
      sum[0] += a[l];
      sum[stride] += std::uint32_t(b[l]) >> 1;
      sum[2 * stride] += std::uint32_t(c[l]) >> 2;
      sum[3 * stride] += std::uint32_t(d[l]) >> 3;
    }
  }
}

template <bool Outside>
POLYRULE_INLINE void to_numbers(const std::uint32_t* from, const std::uint32_t* to, const std::uint32_t* all,
                                const std::uint32_t* totals, std::size_t n, bool once, bool spared, float* out) {
  using Counts = Lanes<std::int32_t, kVector>;  // all weights together are below 2**31
  using Reals = Lanes<float, kVector>;
  for (std::size_t l = 0; l < n; l += kVector) {
    Counts low[4], high[4];
    for (std::size_t k = 0; k < 4; ++k) {
      low[k] = load<Counts>(from + k * n + l);
      high[k] = load<Counts>(to + k * n + l);
      if (!Outside) continue;
      const Counts whole = load<Counts>(all + k * n + l), first = whole - high[k];
      high[k] = whole - low[k];
      low[k] = first;
    }
    const Counts absent = load<Counts>(totals + l), present = load<Counts>(totals + n + l);
    const Counts tn = absent - low[3], fn = present - high[2];
    const auto put = [&](std::size_t k, const Counts& counts)
                         POLYRULE_ALWAYS { store(out + k * n + l, convert<Reals>(counts)); };
    put(0, high[0]);
    put(1, low[1]);
    put(2, tn);
    put(3, fn);
    put(4, high[1]);
    put(5, low[0]);
    put(6, once ? tn - (high[1] - low[1]) : tn);
    put(7, spared ? fn + (high[0] - low[0]) : fn);
    put(8, (absent - (high[3] - high[1])) + (present - (high[2] - high[0])));
    put(9, present - (low[2] - low[0]));
    store(out + 10 * n + l, convert<Reals>(present - low[2]) + convert<Reals>(high[1]));
  }
}

// From the sums at both ends of a stretch. `all`: the sums of all rows, where the others are covered.
POLYRULE_VECTOR_CLONES
void to_reach(const std::uint32_t* from, const std::uint32_t* to, const std::uint32_t* all, const std::uint32_t* totals,
              std::size_t n, bool right_counts_more, bool wrong_counts_more, float* out) {
  if (all) to_numbers<true>(from, to, all, totals, n, right_counts_more, wrong_counts_more, out);
  else to_numbers<false>(from, to, all, totals, n, right_counts_more, wrong_counts_more, out);
}

}  // namespace

Codes::Codes(const Node& node, const State& state, std::unique_ptr<const HeadLanes> heads)
    : stride_((node.labels.size() + kVector - 1) / kVector * kVector), codes_(node.slots * stride_, 0),
      heads_(std::move(heads)) {
  constexpr std::uint8_t kBits[] = {2 | 8, 1 | 4, 8, 4};  // by kind
  for (std::size_t e = 0; e < node.labels.size(); ++e) {
    const std::size_t label = node.labels[e].label;
    for (std::size_t i = 0; i < node.rows.size(); ++i) {
      const int outcome = state.outcome(label, node.rows[i]);
      if (outcome != kUnknown) codes_[node.slot_at(i) * stride_ + e] = kBits[outcome];
    }
  }
}

Sums::Sums(const Node& node, const State& state, const Codes& codes)
    : node_(node), state_(state), codes_(codes), node_all_(codes.sums(), 0), totals_(2 * codes.stride(), 0) {
  const std::size_t n = stride();
  for (std::size_t e = 0; e < node.labels.size(); ++e) {
    const OutcomeCounts& outcomes = node.labels[e].outcomes;
    node_all_[e] = Number(outcomes[kPresent]);
    node_all_[n + e] = Number(outcomes[kAbsent]);
    node_all_[2 * n + e] = Number(outcomes[kPresent] + outcomes[kPresentSet]);
    node_all_[3 * n + e] = Number(outcomes[kAbsent] + outcomes[kAbsentSet]);
    totals_[e] = Number(node.labels[e].absent);
    totals_[n + e] = Number(node.labels[e].present);
  }
  sum_.resize(node_all_.size());
  if (!state.unit) weights_.resize(node.slots);
  for (std::size_t i = 0; i < node.rows.size(); ++i) {
    const std::uint32_t slot = node.slot_at(i);
    if (!state.unit) weights_[slot] = Number(state.weights[node.rows[i]]);
    if (heads()) heads()->add(&slot, 1, state.unit ? nullptr : weights_.data(), node_all_.data() + 4 * n);
  }
  all_ = node_all_;
}

void Sums::begin() {
  std::fill(sum_.begin(), sum_.end(), Number{0});
  moved_ = 0;
}

void Sums::add(const std::uint32_t* slots, std::size_t count) {
  if (heads()) heads()->add(slots, count, state_.unit ? nullptr : weights_.data(), sum_.data() + 4 * stride());
  if (!state_.unit) {
    for (std::size_t i = 0; i < count; ++i) moved_ += weights_[slots[i] & kEntry];
    return add_rows(codes_.data(), stride(), slots, count, weights_.data(), sum_.data());
  }
  moved_ += Count(count);
  if (count == 1) return add_rows(codes_.data(), stride(), slots, count, nullptr, sum_.data());
  for (std::size_t i = 0; i < count; i += kAtOnce)
    add_few(codes_.data(), stride(), slots + i, std::min(kAtOnce, count - i), sum_.data());
}

void Sums::leave_out() {
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i] = node_all_[i] - sum_[i];
}

void Sums::keep_rest(Count total) {
  rest_.resize(all_.size());
  rest_weight_ = total - moved_;
  POLYRULE_ASSERT(rest_weight_ >= 0);
  for (std::size_t i = 0; i < all_.size(); ++i) rest_[i] = all_[i] - sum_[i];
}

void Sums::add_rest() {
  for (std::size_t i = 0; i < all_.size(); ++i) sum_[i] += rest_[i];
  moved_ += rest_weight_;
}

void Sums::go_to(std::size_t mark, Count moved) {
  POLYRULE_ASSERT((mark + 1) * sum_.size() <= marks_.size() && moved >= 0 && moved <= node_.weight);
  std::copy_n(marks_.begin() + std::ptrdiff_t(mark * sum_.size()), sum_.size(), sum_.begin());
  moved_ = moved;
}

void Sums::reach(const Stretch& stretch, Reach& out) const {
  to_reach(stretch.from, stretch.to, stretch.leaving ? all_.data() : nullptr, totals_.data(), stride(),
           out.right_counts_more, out.wrong_counts_more, out.numbers.data());
}

}  // namespace polyrule
