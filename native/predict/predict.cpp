#include "predict/predict.hpp"

#include <algorithm>

namespace polyrule {

namespace {

enum : std::uint8_t { kAtMost = 0, kAbove = 1, kCategory = 2, kLabel = 3, kIn = 4, kMissing = 5 };

// Whether a category belongs to a set; anything that is no category does not, NaN among it.
bool is_member(const std::int32_t* set, double x) {
  if (!(x >= 0 && x < set[0])) return false;
  const auto code = static_cast<std::int32_t>(x);
  return code == x && set[1 + code] != 0;
}

bool holds(std::uint8_t kind, double x, double value, const std::int32_t* sets) {
  // NaN fails every comparison, so a missing value satisfies nothing but being missing.
  switch (kind) {
    case kAtMost:
      return x <= value;
    case kAbove:
      return x > value;
    case kIn:
      return is_member(sets + static_cast<std::ptrdiff_t>(value), x);
    case kMissing:
      return (x != x) == (value != 0);
    default:
      return x == value;
  }
}

template <class Compare>
Word compare_all(const double* x, Compare&& compare) {
  Word mask = 0;
  for (std::size_t byte = 0; byte < 8; ++byte) {
    Word part = 0;
    for (std::size_t i = 0; i < 8; ++i) part |= Word(compare(x[byte * 8 + i])) << i;
    mask |= part << (byte * 8);
  }
  return mask;
}

Word compare_block(std::uint8_t kind, const double* x, double value, const std::int32_t* sets) {
  if (kind == kIn || kind == kMissing) return compare_all(x, [=](double v) { return holds(kind, v, value, sets); });
  if (kind == kAtMost) return compare_all(x, [=](double v) { return v <= value; });
  if (kind == kAbove) return compare_all(x, [=](double v) { return v > value; });
  return compare_all(x, [=](double v) { return v == value; });
}

}  // namespace

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

void predict(const FlatList& list, BlockSource& source, std::size_t rows, std::uint8_t* labels, std::int32_t* setter) {
  const std::size_t width = list.labels;
  std::vector<double> block(std::max<std::size_t>(1, source.used().size()) * 64, 0.0);
  std::vector<Word> set(width), ones(width);
  std::fill(setter, setter + rows * width, -1);

  for (std::size_t first = 0; first < rows; first += 64) {
    const std::size_t count = std::min<std::size_t>(64, rows - first);
    source.load(first, count, block.data());
    std::fill(set.begin(), set.end(), 0);
    std::fill(ones.begin(), ones.end(), 0);
    Word active = count == 64 ? ~Word{0} : (Word{1} << count) - 1;

    for (std::size_t r = 0; r < list.rules && active; ++r) {
      Word fired = active;
      for (std::int32_t c = list.body_start[r]; c < list.body_start[r + 1] && fired; ++c) {
        const std::uint8_t kind = list.kind[c];
        const double value = list.value[c];
        if (kind == kLabel) {
          const auto l = static_cast<std::size_t>(list.index[c]);
          fired &= set[l] & (value != 0 ? ones[l] : ~ones[l]);
          continue;
        }
        const double* x = block.data() + static_cast<std::size_t>(list.index[c]) * 64;
        if (std::popcount(fired) > 12) {
          fired &= compare_block(kind, x, value, list.sets);
        } else {
          for_each_bit(fired, 0, [&](std::size_t i) {
            if (!holds(kind, x[i], value, list.sets)) fired &= ~(Word{1} << i);
          });
        }
      }
      if (!fired) continue;
      Word changed = 0;
      const auto assign = [&](std::size_t l, bool value) {
        const Word fresh = fired & ~set[l];
        if (!fresh) return;
        set[l] |= fresh;
        if (value) ones[l] |= fresh;
        changed |= fresh;
        for_each_bit(fresh, 0, [&](std::size_t i) { setter[(first + i) * width + l] = static_cast<std::int32_t>(r); });
      };
      for (std::int32_t h = list.head_start[r]; h < list.head_start[r + 1]; ++h)
        assign(static_cast<std::size_t>(list.head_label[h]), list.head_value[h] != 0);
      if (list.full)
        for (std::size_t l = 0; l < width; ++l) assign(l, false);
      if (list.stop[r]) active &= ~changed;
      if (changed) {
        // Rows with nothing left to set cannot change any more.
        Word complete = changed;
        for (std::size_t l = 0; l < width && complete; ++l) complete &= set[l];
        active &= ~complete;
      }
    }
    for (std::size_t l = 0; l < width; ++l) {
      const Word result = ones[l] | (list.defaults[l] ? ~set[l] : 0);
      for (std::size_t i = 0; i < count; ++i) labels[(first + i) * width + l] = (result >> i) & 1;
    }
  }
}

}  // namespace polyrule
