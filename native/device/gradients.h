// The arithmetic of ensembles that a processor and a GPU share: plain functions that compile as C++ and as CUDA, of
// single operations in a fixed order, so that both have equal results. It must be compiled without fused multiply-add.
#pragma once

#ifdef __CUDACC__
#define POLYRULE_DEVICE __device__ __forceinline__
#else
#include <bit>
#if __has_include("core/machine.hpp")
#include "core/machine.hpp"
#define POLYRULE_DEVICE POLYRULE_INLINE
#else
#define POLYRULE_DEVICE inline  // this text stands alone
#endif
#endif

namespace polyrule_gradients {

using Whole = long long;

constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
constexpr double kFarthest = 690;              // the largest x whose exp(-x) is computed
constexpr double kFinest = 17592186044416.0;   // 2^44: units of a number before it is weighted

POLYRULE_DEVICE Whole bits_of(double value) {
#ifdef __CUDACC__
  return __double_as_longlong(value);
#else
  return std::bit_cast<Whole>(value);
#endif
}

POLYRULE_DEVICE double from_bits(Whole bits) {
#ifdef __CUDACC__
  return __longlong_as_double(bits);
#else
  return std::bit_cast<double>(bits);
#endif
}

POLYRULE_DEVICE Whole rounded(double value) { return bits_of(value + kMagic) - bits_of(kMagic); }

// Contribution of a weighted row, in units: rounded before it is multiplied, so that a weight of two is two rows.
class Contribution {
 public:
  POLYRULE_DEVICE explicit Contribution(double unit) : fine_(unit < kFinest ? unit : kFinest), coarse_(unit / fine_) {}
  POLYRULE_DEVICE Whole operator()(double weight, double value) const {
    return rounded(weight * coarse_ * ((fine_ * value + kMagic) - kMagic));
  }

 private:
  double fine_, coarse_;
};

// exp(-x) for x from 0 to `kFarthest`, by a power of two and a Taylor series of degree 13: a unit in the last place at
// most.
POLYRULE_DEVICE double exp_neg(double x) {
  const double turned = x * -1.4426950408889634 + kMagic, twos = turned - kMagic;
  const double rest = (-x - twos * 0.6931471803691238) - twos * 1.9082149292705877e-10;
  double sum = 1.6059043836821613e-10;
  sum = sum * rest + 2.08767569878681e-09;
  sum = sum * rest + 2.505210838544172e-08;
  sum = sum * rest + 2.755731922398589e-07;
  sum = sum * rest + 2.7557319223985893e-06;
  sum = sum * rest + 2.48015873015873e-05;
  sum = sum * rest + 0.0001984126984126984;
  sum = sum * rest + 0.001388888888888889;
  sum = sum * rest + 0.008333333333333333;
  sum = sum * rest + 0.041666666666666664;
  sum = sum * rest + 0.16666666666666666;
  sum = sum * rest + 0.5;
  sum = sum * rest + 1.0;
  sum = sum * rest + 1.0;
  const Whole power = bits_of(turned) - bits_of(kMagic) + 1023;
  return sum * from_bits(power << 52);
}

// Probability of a score; `decay` is exp(-|score|).
POLYRULE_DEVICE double sigmoid(double score, double decay) { return (score >= 0 ? 1.0 : decay) / (1.0 + decay); }

// First and second derivative of the loss by the score of a label; zero if its target is unknown, which is NaN.
POLYRULE_DEVICE double gradient_of(double probability, double target) {
  return target == target ? probability - target : 0.0;
}
POLYRULE_DEVICE double hessian_of(double probability, double target) {
  return target == target ? probability * (1.0 - probability) : 0.0;
}

// Gain of a label by a rule whose rows have these sums; `inverse` is one over the hessian of all rows.
POLYRULE_DEVICE double gain_of(double g, double h, double inverse, double ridge, double cost) {
  const double free = h - h * h * inverse;  // without the share of the intercept
  const double gain = g * g / (free + ridge) * 0.5 - cost;
  return gain > 0 ? gain : 0.0;
}

// If weights must have one sign, a label whose weight would have the other gains nothing.
POLYRULE_DEVICE double signed_gain(double gain, double g, double sign) { return g * sign < 0 ? gain : 0.0; }

POLYRULE_DEVICE double sum_of_eight(const double* v) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

// Required sign of the weights of a body that also tests a threshold of a feature: 1, -1, or 0 for any.
constexpr int kForbidden = 2;
POLYRULE_DEVICE int sign_with(int sign, int direction) {
  return direction == 0 || direction == sign ? sign : sign == 0 ? direction : kForbidden;
}

}  // namespace polyrule_gradients
