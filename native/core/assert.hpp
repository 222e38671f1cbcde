// Checks of what a searcher relies on. On in debug and sanitizer builds, nothing at all in others.
#pragma once

#if !defined(NDEBUG) || defined(POLYRULE_SANITIZE)
#include <cstdio>
#include <cstdlib>

namespace polyrule {

[[noreturn]] inline void fail_assertion(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace polyrule

#define POLYRULE_ASSERTS 1
#define POLYRULE_ASSERT(...) \
  ((__VA_ARGS__) ? static_cast<void>(0) : polyrule::fail_assertion(#__VA_ARGS__, __FILE__, __LINE__))
#else
#define POLYRULE_ASSERTS 0
#define POLYRULE_ASSERT(...) static_cast<void>(0)
#endif
