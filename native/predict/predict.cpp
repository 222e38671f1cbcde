#include "predict/predict.hpp"

namespace polyrule {

void predict(const FlatList& list, BlockSource& source, std::size_t rows, std::uint8_t* labels, std::int32_t* setter) {
  const std::size_t width = list.labels;
  std::vector<Word> set(width), ones(width);
  std::fill(setter, setter + rows * width, -1);

  source.for_each(rows, [&](std::size_t first, std::size_t count, const double* values, Word active) {
    std::fill(set.begin(), set.end(), 0);
    std::fill(ones.begin(), ones.end(), 0);
    const Block block{values, set.data(), ones.data()};

    for (std::size_t r = 0; r < list.bodies.rules && active; ++r) {
      const Word now = fired(list.bodies, r, block, active);
      if (!now) continue;
      Word changed = 0;
      const auto assign = [&](std::size_t l, bool value) {
        const Word fresh = now & ~set[l];
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
  });
}

void add_weights(const FlatWeights& ensemble, BlockSource& source, std::size_t rows, double* scores) {
  const std::size_t width = ensemble.labels;
  source.for_each(rows, [&](std::size_t first, std::size_t count, const double* values, Word all) {
    double* out = scores + first * width;
    for (std::size_t i = 0; i < count; ++i) std::copy_n(ensemble.intercepts, width, out + i * width);
    for (std::size_t r = 0; r < ensemble.bodies.rules; ++r) {
      const Word now = fired(ensemble.bodies, r, Block{values}, all);
      if (!now) continue;
      const std::int32_t head = ensemble.head_start[r], end = ensemble.head_start[r + 1];
      for_each_bit(now, 0, [&](std::size_t i) {
        for (std::int32_t h = head; h < end; ++h)
          out[i * width + std::size_t(ensemble.head_label[h])] += ensemble.weight[h];
      });
    }
  });
}

void cover(const Bodies& bodies, BlockSource& source, std::size_t rows, std::uint8_t* covers) {
  std::fill(covers, covers + rows * bodies.rules, std::uint8_t{0});
  source.for_each(rows, [&](std::size_t first, std::size_t, const double* values, Word all) {
    for (std::size_t r = 0; r < bodies.rules; ++r)
      for_each_bit(fired(bodies, r, Block{values}, all), first,
                   [&](std::size_t i) { covers[i * bodies.rules + r] = 1; });
  });
}

}  // namespace polyrule
