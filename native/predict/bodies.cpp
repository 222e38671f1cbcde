#include "predict/bodies.hpp"

namespace polyrule {

namespace {

// Whether a category belongs to a set; anything that is no category does not, NaN among it.
bool is_member(const std::int32_t* set, double x) {
  if (!(x >= 0 && x < set[0])) return false;
  const auto code = static_cast<std::int32_t>(x);
  return code == x && set[1 + code] != 0;
}

// Calls judge with the test of a kind, as a function of a number.
template <class Judge>
Word with_test(std::uint8_t kind, double value, const std::int32_t* sets, Judge&& judge) {
  // NaN fails every comparison, so a missing value satisfies nothing but being missing.
  switch (kind) {
    case kAtMost:
      return judge([=](double x) { return x <= value; });
    case kAbove:
      return judge([=](double x) { return x > value; });
    case kIn:
      return judge([set = sets + static_cast<std::ptrdiff_t>(value)](double x) { return is_member(set, x); });
    case kMissing:
      return judge([=](double x) { return (x != x) == (value != 0); });
    default:
      return judge([=](double x) { return x == value; });
  }
}

template <class Holds>
Word test_all(const double* x, Holds&& holds) {
  Word mask = 0;
  for (std::size_t byte = 0; byte < 8; ++byte) {
    Word part = 0;
    for (std::size_t i = 0; i < 8; ++i) part |= Word(holds(x[byte * 8 + i])) << i;
    mask |= part << (byte * 8);
  }
  return mask;
}

}  // namespace

Word passing(const Bodies& bodies, std::size_t test, const Block& block, Word rows) {
  const std::uint8_t kind = bodies.kind[test];
  const double value = bodies.value[test];
  const auto place = static_cast<std::size_t>(bodies.index[test]);
  if (kind == kLabel) return rows & block.set[place] & (value != 0 ? block.ones[place] : ~block.ones[place]);
  const double* x = block.values + place * 64;
  return with_test(kind, value, bodies.sets, [&](auto&& holds) {
    if (std::popcount(rows) > 12) return rows & test_all(x, holds);
    for_each_bit(rows, 0, [&](std::size_t i) {
      if (!holds(x[i])) rows &= ~(Word{1} << i);
    });
    return rows;
  });
}

Word passing_group(const Bodies& bodies, std::size_t group, const Block& block, Word rows) {
  const std::size_t end = group + 1 + static_cast<std::size_t>(bodies.index[group]);
  const auto min_members = static_cast<std::size_t>(bodies.value[group]);
  if (min_members == 1) {
    Word none = rows;
    for (std::size_t test = group + 1; test < end && none; ++test) none &= ~passing(bodies, test, block, none);
    return rows & ~none;
  }
  std::uint32_t member_count[64] = {};
  for (std::size_t test = group + 1; test < end; ++test)
    for_each_bit(passing(bodies, test, block, rows), 0, [&](std::size_t i) { ++member_count[i]; });
  for_each_bit(rows, 0, [&](std::size_t i) {
    if (member_count[i] < min_members) rows &= ~(Word{1} << i);
  });
  return rows;
}

BlockSource::BlockSource(const double* values, std::int64_t row_step, std::int64_t column_step,
                         std::vector<std::int32_t> used)
    : values_(values), row_step_(row_step), column_step_(column_step), used_(std::move(used)) {}

BlockSource::BlockSource(const double* data, const std::int32_t* indices, const std::int64_t* starts,
                         std::vector<std::int32_t> used)
    : data_(data), indices_(indices), starts_(starts), used_(std::move(used)) {
  for (const std::int32_t column : used_) at_.push_back(starts[column]);
}

void BlockSource::load(std::size_t first, std::size_t count, double* block) {
  for (std::size_t slot = 0; slot < used_.size(); ++slot) {
    double* out = block + slot * 64;
    if (values_) {
      const double* in = values_ + std::int64_t(first) * row_step_ + used_[slot] * column_step_;
      for (std::size_t i = 0; i < count; ++i) out[i] = in[std::int64_t(i) * row_step_];
    } else {
      std::fill(out, out + 64, 0.0);
      std::int64_t& at = at_[slot];
      const std::int64_t end = starts_[used_[slot] + 1];
      const auto last = static_cast<std::int64_t>(first + count);
      for (; at < end && indices_[at] < last; ++at) out[indices_[at] - std::int64_t(first)] = data_[at];
    }
  }
}

}  // namespace polyrule
