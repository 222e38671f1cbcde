#include "search/size_lanes.hpp"

#include <algorithm>
#include <cmath>

#include "core/lanes.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kLanes = SizeLanes::kLanes;
using Vector = Lanes<float, kLanes>;
constexpr float kNever = 1e30f;  // more than anything gains

POLYRULE_INLINE Vector larger(const Vector& a, const Vector& b) { return select(a > b, a, b); }

struct Labels {
  const float *rates, *outside, *barred;
  std::size_t stride, count;
  Scope scope;
};

struct Level {
  const float (*h)[kLanes];
  const float *least, *most, *slack, *drop;
  float error;
};

// All in one function, so that it is compiled for wide vectors as a whole. Lanes that are not in use have a level that
// nothing reaches.
POLYRULE_VECTOR_CLONES
bool judge_lanes(const Labels& q, const Level& level, const float* t_lanes, float denominator, float* out) {
  const Vector h0 = load<Vector>(level.h[0]), h1 = load<Vector>(level.h[1]), h2 = load<Vector>(level.h[2]),
               h3 = load<Vector>(level.h[3]);
  const Vector h4 = load<Vector>(level.h[4]), t = load<Vector>(t_lanes), zero = {};
  Vector sum[4] = {zero, zero, zero, zero}, constant = h0;
  const std::size_t n = q.stride;
  for (std::size_t e = 0; e < q.count; ++e) {
    const float *one = q.rates + e, *none = one + 4 * n;
    // a literal without a true positive is in no head
    const float bars[] = {one[0] > 0 ? q.barred[e] : kNever, none[0] > 0 ? q.barred[n + e] : kNever};
    const Vector present = h1 * one[0] + h2 * one[n] + h3 * one[2 * n] + h4 * one[3 * n] - bars[0];
    const Vector absent = h1 * none[0] + h2 * none[n] + h3 * none[2 * n] + h4 * none[3 * n];
    const Vector other = absent - bars[1];
    Vector gain = larger(present, other);
    if (q.scope == Scope::all) {
      const Vector out_of_head = h3 * q.outside[e] + h4 * q.outside[n + e];
      gain -= out_of_head;
      constant += out_of_head;
    } else if (q.scope == Scope::full) {
      gain -= absent;
      constant += absent;
    }
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
  store(out, reach);
  bool any = false;
  for (std::size_t lane = 0; lane < kLanes; ++lane) any |= out[lane] >= 0;
  return any;
}

}  // namespace

void SizeLanes::set_labels(const std::vector<float>& barred, std::size_t labels) {
  labels_ = labels;
  stride_ = barred.size() / 2;
  barred_ = barred;
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
    // Every gain is a sum of a few products of rounded numbers, which over a stretch add up to no more than twice the
    // weight; what is outside the head is one such sum more.
    const double gains = 2 * largest * weight * double(labels_) * (scope == Scope::head ? 1 : 3);
    const double constants = scope == Scope::head ? 0 : gains * double(labels_);
    slack_[lane] = static_cast<float>((8 * gains + constants + std::abs(from.h[0])) * kRounding);
  }
  error_ = static_cast<float>((double(labels_) / 4 + 8) * kRounding);
}

bool SizeLanes::judge(const float* reach, const float* outside, const Lanes& t, float denominator, Lanes& out) const {
  return judge_lanes({reach, outside, barred_.data(), stride_, labels_, scope_},
                     {h_, least_, most_, slack_, drop_, error_}, t.data(), denominator, out.data());
}

}  // namespace polyrule
