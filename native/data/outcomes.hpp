// What a label of a row is, for the counts of a rule.
#pragma once

namespace polyrule {

// Rows of one kind move the counts of a rule on a straight line. A label whose truth is not known counts nowhere,
// covered or not, set or not.
enum Outcome : int { kAbsent = 0, kPresent = 1, kAbsentSet = 2, kPresentSet = 3, kUnknown = 4 };
inline constexpr int kOutcomes = 4;  // those that count

// Whether a covered row of this kind is a true positive of the literal `label = value`.
inline bool is_right(int outcome, int value) { return outcome == value; }

}  // namespace polyrule
