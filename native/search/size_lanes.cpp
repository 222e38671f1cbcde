#include "search/size_lanes.hpp"

#include <algorithm>
#include <cmath>

#include "core/lanes.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kLanes = SizeLanes::kLanes;
using Vector = Lanes<float, kLanes>;

POLYRULE_INLINE Vector larger(const Vector& a, const Vector& b) { return select(a > b, a, b); }

struct Labels {
  const float *rates, *outside, *barred;
  std::size_t stride, count;
  Scope scope;
};

struct Level {
  const float (*h)[kLanes];
  const float *least, *most, *slack, *drop;
  const float (*slowness)[kLanes];
  float error;
};

// All in one function, so that it is compiled for wide vectors as a whole. Lanes that are not in use have a level that
// nothing reaches.
POLYRULE_VECTOR_CLONES
bool judge_lanes(const Labels& q, const Level& level, const float* t_lanes, float denominator, float* out,
                 float* waits) {
  const Vector h0 = load<Vector>(level.h[0]), h1 = load<Vector>(level.h[1]), h2 = load<Vector>(level.h[2]),
               h3 = load<Vector>(level.h[3]);
  const Vector h4 = load<Vector>(level.h[4]), t = load<Vector>(t_lanes), zero = {};
  Vector sum[4] = {zero, zero, zero, zero}, constant = h0, best = fill<Vector>(-1e30f);
  const float *tp = q.rates, *fp = tp + q.stride, *tn = fp + q.stride, *fn = tn + q.stride;
  for (std::size_t e = 0; e < q.count; ++e) {
    const Vector common = h3 * tn[e] + h4 * fn[e];
    const Vector present = common + h1 * tp[e] + h2 * fp[e] - q.barred[e];
    const Vector absent = common + h1 * fp[e] + h2 * tp[e];
    const Vector other = absent - q.barred[q.stride + e];
    Vector gain = larger(present, other);
    if (q.scope == Scope::all) {
      const Vector out_of_head = h3 * q.outside[e] + h4 * q.outside[q.stride + e];
      gain -= out_of_head;
      constant += out_of_head;
    } else if (q.scope == Scope::full) {
      gain -= absent;
      constant += absent;
    }
    best = larger(best, gain);
    gain -= t;
    sum[e % 4] += larger(gain, zero);
  }
  const Vector all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  // Between the smallest and the largest size the sum lies below a line.
  const Vector of_most = load<Vector>(level.most) * t,
               of_least = load<Vector>(level.least) * t - load<Vector>(level.drop) * denominator;
  const Vector part = larger(of_most, of_least);
  const Vector sizes = all + larger(part, -part) + larger(constant, -constant);
  const Vector slack = load<Vector>(level.slack) + sizes * level.error, reach = constant + part + all + slack;
  // As long as no label gains at least what the constant takes away, divided among the largest head, none can reach.
  const Vector needed = larger(-constant, zero) / load<Vector>(level.most);
  const Vector by_sum = -reach * load<Vector>(level.slowness[0]),
               by_label = (needed - best - slack) * load<Vector>(level.slowness[1]);
  store(out, reach);
  store(waits, larger(by_sum, by_label));
  bool any = false;
  for (std::size_t lane = 0; lane < kLanes; ++lane) any |= out[lane] >= 0;
  return any;
}

}  // namespace

void SizeLanes::set_labels(const std::vector<std::array<bool, 2>>& allowed, std::size_t stride) {
  labels_ = allowed.size();
  stride_ = stride;
  barred_.assign(2 * stride, 0);
  constexpr float kNever = 1e30f;
  for (std::size_t e = 0; e < labels_; ++e)
    for (std::size_t v = 0; v < 2; ++v) barred_[(1 - v) * stride + e] = allowed[e][v] ? 0 : kNever;
}

void SizeLanes::set_level(const std::vector<Lane>& lanes, double weight, Scope scope) {
  scope_ = scope;
  constexpr double kRounding = 0x1p-24;
  constexpr float kUnreached = -1e30f;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const Lane& from = lane < lanes.size() ? lanes[lane] : lanes.front();
    double largest = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      h_[i][lane] = static_cast<float>(from.h[i]);
      if (i > 0) largest = std::max(largest, std::abs(from.h[i]));
    }
    if (lane >= lanes.size()) h_[0][lane] = kUnreached;
    least_[lane] = static_cast<float>(from.least);
    most_[lane] = static_cast<float>(from.most);
    drop_[lane] = static_cast<float>(from.drop * (1 - 1e-5));
    // Every gain is a sum of a few products of rounded numbers; what is outside the head is one such sum more.
    const double gains = largest * weight * double(labels_) * (scope == Scope::head ? 1 : 3);
    const double constants = scope == Scope::head ? 0 : gains * double(labels_);
    slack_[lane] = static_cast<float>((8 * gains + constants + std::abs(from.h[0])) * kRounding);
    for (std::size_t leaving = 0; leaving < 2; ++leaving) {
      const double speed = from.fastest[leaving],
                   moving = scope == Scope::head ? double(from.most) : 2 * double(labels_);
      const auto slowness = [](double s) { return static_cast<float>(s > 0 ? std::min(1e30, (1 - 1e-5) / s) : 1e30); };
      slowness_[leaving][0][lane] = slowness(speed * moving);
      slowness_[leaving][1][lane] = scope == Scope::head ? slowness(speed) : 0;
    }
  }
  error_ = static_cast<float>((double(labels_) / 4 + 8) * kRounding);
}

bool SizeLanes::judge(const float* rates, const float* outside, const Lanes& t, float denominator, bool leaving,
                      Lanes& out, Lanes& waits) const {
  return judge_lanes({rates, outside, barred_.data(), stride_, labels_, scope_},
                     {h_, least_, most_, slack_, drop_, slowness_[leaving], error_}, t.data(), denominator, out.data(),
                     waits.data());
}

}  // namespace polyrule
