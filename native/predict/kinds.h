// Kinds of tests in packed bodies. The only place where they are defined: `conditions/packed.py` and the report's
// `format.js` repeat the numbers, and tests/conditions/test_packed.py compares them with this file.
#pragma once

enum TestKind {
  kAtMost = 0,    // value <= threshold
  kAbove = 1,     // value > threshold
  kCategory = 2,  // value == category
  kLabel = 3,     // a label that earlier rules have set
  kIn = 4,        // value is one of several categories
  kMissing = 5,   // value is NaN, or is not
  kGroup = 6      // at least some of the tests that follow hold
};
