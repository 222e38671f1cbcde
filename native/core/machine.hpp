// What only some compilers and processors have. Nothing outside this file uses attributes, builtins or 128-bit integers
// of a compiler; with POLYRULE_PORTABLE, and on compilers without them, plain C++ takes their place and gives the same
// rules.
#pragma once

#include <cstddef>  // tells which C library there is

#if (defined(__GNUC__) || defined(__clang__)) && !defined(POLYRULE_PORTABLE)
#define POLYRULE_HAS_VECTORS 1
#define POLYRULE_ALWAYS __attribute__((always_inline))  // also after the parameters of a lambda
#define POLYRULE_VECTOR(Type, size) Type __attribute__((vector_size(size * sizeof(Type))))
#define POLYRULE_CONVERT(vector, Type) __builtin_convertvector(vector, Type)
#define POLYRULE_PREFETCH(address) __builtin_prefetch(address)
#else
#define POLYRULE_HAS_VECTORS 0
#define POLYRULE_ALWAYS
#define POLYRULE_PREFETCH(address) static_cast<void>(address)
#endif
#define POLYRULE_INLINE inline POLYRULE_ALWAYS

// Clang for Windows knows the type, but the library that divides it is missing there.
#if POLYRULE_HAS_VECTORS && defined(__SIZEOF_INT128__) && !defined(_MSC_VER)
#define POLYRULE_INT128 __int128
#endif

// Baseline x86-64 has neither popcnt nor wide vectors. Where the C library can choose a function at load time, the few
// counting and adding loops are compiled several times and the best one is taken; nothing else gains from wider
// instructions.
#if POLYRULE_HAS_VECTORS && defined(__x86_64__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(POLYRULE_SANITIZE)
#define POLYRULE_CLONES __attribute__((target_clones("default", "popcnt", "arch=x86-64-v4")))
#define POLYRULE_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define POLYRULE_CLONES
#define POLYRULE_VECTOR_CLONES
#endif

// Newer machines count the bits of whole vectors. GCC does not choose by that at load time, so loops that count are
// compiled for both by templates, and `counts_vectors` tells which one to take.
#if POLYRULE_HAS_VECTORS && defined(__x86_64__) && !defined(__clang__)
#define POLYRULE_HAS_COUNT_VECTORS 1
#define POLYRULE_COUNT_VECTORS \
  __attribute__((target("popcnt,avx512f,avx512bw,avx512vl,avx512vpopcntdq,prefer-vector-width=512")))
#define POLYRULE_COUNT_WORDS __attribute__((target("popcnt")))
#define POLYRULE_SUPPORTS(feature) (__builtin_cpu_supports(feature) != 0)
#else
#define POLYRULE_HAS_COUNT_VECTORS 0
#define POLYRULE_COUNT_VECTORS
#define POLYRULE_COUNT_WORDS
#define POLYRULE_SUPPORTS(feature) false
#endif
