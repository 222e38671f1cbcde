// A few numbers that are worked on together: a vector of the compiler, or an array with the same operations.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>

#include "core/machine.hpp"

namespace polyrule {

#if POLYRULE_HAS_VECTORS

template <class T, std::size_t N>
struct LaneVector {
  typedef POLYRULE_VECTOR(T, N) Type;
};
template <class T, std::size_t N>
using Lanes = typename LaneVector<T, N>::Type;

// By lane, `yes` where a comparison was true and `no` elsewhere.
template <class Mask, class Lanes>
POLYRULE_INLINE Lanes select(const Mask& mask, const Lanes& yes, const Lanes& no) {
  return mask ? yes : no;
}

template <class To, class From>
POLYRULE_INLINE To convert(const From& from) {
  return POLYRULE_CONVERT(from, To);
}

template <class Lanes, class T>
POLYRULE_INLINE Lanes fill(T value) {
  return Lanes{} + value;
}

#else

template <class T, std::size_t N>
struct Lanes {
  T lane[N];

  template <std::integral Index>
  T& operator[](Index i) {
    return lane[i];
  }
  template <std::integral Index>
  const T& operator[](Index i) const {
    return lane[i];
  }

  template <class Operation>
  static Lanes each(Operation&& operation) {
    Lanes out;
    for (std::size_t i = 0; i < N; ++i) out.lane[i] = static_cast<T>(operation(i));
    return out;
  }
// Of each lane by itself; comparisons give all bits of a lane or none.
#define POLYRULE_BY_LANE(operation)                                  \
  friend Lanes operator operation(const Lanes& a, const Lanes& b) {  \
    return each([&](std::size_t i) { return a[i] operation b[i]; }); \
  }                                                                  \
  friend Lanes operator operation(const Lanes& a, T b) {             \
    return each([&](std::size_t i) { return a[i] operation b; });    \
  }                                                                  \
  Lanes& operator operation##=(const Lanes & other) { return *this = *this operation other; }
#define POLYRULE_COMPARED_BY_LANE(comparison)                                  \
  friend Lanes operator comparison(const Lanes& a, const Lanes& b) {           \
    return each([&](std::size_t i) { return a[i] comparison b[i] ? -1 : 0; }); \
  }
  POLYRULE_BY_LANE(+)
  POLYRULE_BY_LANE(-)
  POLYRULE_BY_LANE(*)
  POLYRULE_BY_LANE(/)
  POLYRULE_BY_LANE(&)
  POLYRULE_BY_LANE(|)
  POLYRULE_BY_LANE(^)
  POLYRULE_COMPARED_BY_LANE(<)
  POLYRULE_COMPARED_BY_LANE(>)
  POLYRULE_COMPARED_BY_LANE(>=)
  POLYRULE_COMPARED_BY_LANE(==)
#undef POLYRULE_BY_LANE
#undef POLYRULE_COMPARED_BY_LANE
  Lanes operator-() const {
    return each([&](std::size_t i) { return -lane[i]; });
  }
};

template <class T, std::size_t N>
inline Lanes<T, N> select(const Lanes<T, N>& mask, const Lanes<T, N>& yes, const Lanes<T, N>& no) {
  return Lanes<T, N>::each([&](std::size_t i) { return mask[i] != T{0} ? yes[i] : no[i]; });
}

template <class To, class From>
inline To convert(const From& from) {
  return To::each([&](std::size_t i) { return from[i]; });
}

template <class Lanes, class T>
inline Lanes fill(T value) {
  return Lanes::each([&](std::size_t) { return value; });
}

#endif

// By lane, the larger and the smaller of two.
template <class Lanes>
POLYRULE_INLINE Lanes larger(const Lanes& a, const Lanes& b) {
  return select(a > b, a, b);
}
template <class Lanes>
POLYRULE_INLINE Lanes smaller(const Lanes& a, const Lanes& b) {
  return select(a < b, a, b);
}

// From and to memory, aligned or not.
template <class Lanes, class T>
POLYRULE_INLINE Lanes load(const T* from) {
  Lanes out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

template <class Lanes, class T>
POLYRULE_INLINE void store(T* to, const Lanes& lanes) {
  std::memcpy(to, &lanes, sizeof lanes);
}

}  // namespace polyrule
