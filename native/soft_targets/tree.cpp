#include "soft_targets/tree.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "core/lanes.hpp"
#include "core/machine.hpp"

namespace polyrule {
namespace {

using Sums = std::array<std::int32_t, kCodeWidth>;

struct Part {
  Sums sums{};
  std::int32_t weight = 0, count = 0;
};

// Splitmix64.
struct Random {
  std::uint64_t state;

  std::uint64_t operator()() {
    std::uint64_t bits = state += 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
  }
};

// The rows of the bag, those of a node next to each other.
struct Bag {
  std::vector<std::int32_t> rows, weights, place;  // where a row is, -1 if it is not in the bag
  std::vector<Sums> products;

  // All rows have the same code.
  bool alike(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin + 1; i < end; ++i)
      for (std::size_t k = 0; k < kCodeWidth; ++k)
        if (std::int64_t{products[i][k]} * weights[begin] != std::int64_t{products[begin][k]} * weights[i])
          return false;
    return true;
  }
};

using Codes = Lanes<std::int32_t, kCodeWidth>;

// What lies at most at the cut. No branches: whether a row does is a coin's toss.
POLYRULE_VECTOR_CLONES void sum_left(const float* values, float cut, const Sums* products, const std::int32_t* weights,
                                     std::size_t size, Part& left) {
  Codes sums{};
  std::int32_t weight = 0, count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::int32_t mask = -static_cast<std::int32_t>(values[i] <= cut);
    sums += load<Codes>(products[i].data()) & fill<Codes>(mask);
    weight += weights[i] & mask;
    count -= mask;
  }
  store(left.sums.data(), sums);
  left.weight = weight, left.count = count;
}

// The smallest and the largest of values, beside those that are given.
POLYRULE_VECTOR_CLONES void find_ends(const float* values, std::size_t size, float& low, float& high) {
  using Values = Lanes<float, 8>;
  Values lows = fill<Values>(low), highs = fill<Values>(high);
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    const Values lane_values = load<Values>(values + i);
    lows = smaller(lane_values, lows), highs = larger(lane_values, highs);
  }
  for (std::size_t k = 0; k < 8; ++k) low = std::min<float>(low, lows[k]), high = std::max<float>(high, highs[k]);
  for (; i < size; ++i) low = std::min(low, values[i]), high = std::max(high, values[i]);
}

constexpr std::size_t kFew = 64;

// One column in one node: its values, or those that are not the most common one.
class Look {
 public:
  Look(const Ground& ground, const Bag& bag) : ground_(ground), bag_(bag), values_(ground.bag), places_(ground.bag) {}

  float low = 0, high = 0;

  void at(std::size_t feature, std::size_t begin, std::size_t count) {
    const float* column = ground_.columns + feature * ground_.examples;
    const auto first = ground_.starts[feature], last = ground_.starts[feature + 1];
    begin_ = begin, count_ = size_ = count, mode_ = ground_.modes[feature];
    listed_ = last > first && static_cast<std::size_t>(last - first) < count;
    if (listed_) {
      size_ = 0;
      for (auto i = first; i < last; ++i) {
        const std::int32_t row = ground_.listed[i];
        const std::size_t place = static_cast<std::size_t>(bag_.place[row]) - begin;
        if (place < count) places_[size_] = static_cast<std::int32_t>(place), values_[size_++] = column[row];
      }
    } else if (count < kFew) {  // their rows stay in the cache, columns do not
      for (std::size_t i = 0; i < count; ++i)
        values_[i] = ground_.design[static_cast<std::size_t>(bag_.rows[begin + i]) * ground_.features + feature];
    } else {
      for (std::size_t i = 0; i < count; ++i) values_[i] = column[bag_.rows[begin + i]];
    }
    low = high = size_ < count ? mode_ : values_[0];
    find_ends(values_.data(), size_, low, high);
  }

  void left(float cut, const Part& all, Part& out) {
    if (!listed_) return sum_left(values_.data(), cut, &bag_.products[begin_], &bag_.weights[begin_], count_, out);
    const bool mode_is_left = mode_ <= cut;
    out = {};
    for (std::size_t i = 0; i < size_; ++i) {
      if ((values_[i] <= cut) == mode_is_left) continue;
      const std::size_t place = begin_ + static_cast<std::size_t>(places_[i]);
      for (std::size_t k = 0; k < kCodeWidth; ++k) out.sums[k] += bag_.products[place][k];
      out.weight += bag_.weights[place], ++out.count;
    }
    if (mode_is_left) {
      for (std::size_t k = 0; k < kCodeWidth; ++k) out.sums[k] = all.sums[k] - out.sums[k];
      out.weight = all.weight - out.weight, out.count = all.count - out.count;
    }
  }

 private:
  const Ground& ground_;
  const Bag& bag_;
  std::vector<float> values_;
  std::vector<std::int32_t> places_;
  std::size_t begin_ = 0, count_ = 0, size_ = 0;
  float mode_ = 0;
  bool listed_ = false;
};

// How far apart the two sides are, but for what all cuts of a node share.
double split_gain(const Part& left, const Part& all) {
  double low = 0, high = 0;
  for (std::size_t k = 0; k < kCodeWidth; ++k) {
    const double left_sum = left.sums[k], right_sum = all.sums[k] - left.sums[k];
    low += left_sum * left_sum, high += right_sum * right_sum;
  }
  return low / left.weight + high / (all.weight - left.weight);
}

// Moves what goes left to the front, in the order it had; returns how many do.
template <class T, class Goes>
std::size_t divide(T* values, std::size_t size, std::vector<T>& spare, Goes&& goes_left) {
  spare.clear();
  std::size_t left = 0;
  for (std::size_t i = 0; i < size; ++i)
    if (goes_left(i)) values[left++] = values[i];
    else spare.push_back(values[i]);
  std::copy(spare.begin(), spare.end(), values + left);
  return left;
}

struct Task {
  std::size_t begin, end, first, last;  // of the bag, and of the other rows
  std::size_t alive;                    // features that are not known to be constant
  std::ptrdiff_t parent;                // whose right child this is, or -1
};

}  // namespace

std::size_t grow_tree(const Ground& ground, const Nodes& nodes, std::int32_t* leaves) {
  Bag bag{{ground.rows, ground.rows + ground.bag},
          {ground.weights, ground.weights + ground.bag},
          std::vector<std::int32_t>(ground.examples, -1),
          std::vector<Sums>(ground.bag)};
  for (std::size_t i = 0; i < ground.bag; ++i)
    for (std::size_t k = 0; k < kCodeWidth; ++k)
      bag.products[i][k] = ground.codes[i * kCodeWidth + k] * ground.weights[i];
  std::vector<std::int32_t> rest, features(ground.features), spare;
  for (std::size_t row = 0, i = 0; row < ground.examples; ++row)
    if (i < ground.bag && bag.rows[i] == static_cast<std::int32_t>(row))
      bag.place[row] = static_cast<std::int32_t>(i++);
    else rest.push_back(static_cast<std::int32_t>(row));
  std::iota(features.begin(), features.end(), 0);
  std::vector<Sums> spare_products;
  Look look(ground, bag);
  std::vector<Task> tasks{{0, ground.bag, 0, rest.size(), ground.features, -1}};
  Random random{ground.seed};
  std::size_t size = 0;
  std::int32_t leaf = 0;
  while (!tasks.empty()) {
    auto [begin, end, first, last, alive, parent] = tasks.back();
    tasks.pop_back();
    const std::size_t node = size++, count = end - begin;
    if (parent >= 0) nodes.right[parent] = static_cast<std::int32_t>(node);
    nodes.feature[node] = -1;
    if (count >= 2 * ground.smallest && !bag.alike(begin, end)) {
      Part all, left;
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t k = 0; k < kCodeWidth; ++k) all.sums[k] += bag.products[i][k];
        all.weight += bag.weights[i];
      }
      all.count = static_cast<std::int32_t>(count);
      double best = -1;
      const std::size_t n_tried = (ground.tried * alive + ground.features - 1) / ground.features;
      for (std::size_t drawn = 0, visited = 0; drawn < alive && (visited < n_tried || !drawn); ++visited) {
        const std::uint64_t bits = random();
        std::swap(features[drawn], features[drawn + static_cast<std::size_t>(((bits >> 32) * (alive - drawn)) >> 32)]);
        look.at(static_cast<std::size_t>(features[drawn]), begin, count);
        if (!(look.low < look.high)) {
          std::swap(features[drawn], features[--alive]);
          continue;
        }
        ++drawn;
        float cut = look.low + static_cast<float>(bits & 0xffffff) * 0x1p-24f * (look.high - look.low);
        if (!(cut < look.high)) cut = look.low;
        look.left(cut, all, left);
        const std::size_t smaller = static_cast<std::size_t>(left.count);
        if (smaller < ground.smallest || count - smaller < ground.smallest) continue;
        if (const double value = split_gain(left, all); value > best)
          best = value, nodes.feature[node] = features[drawn - 1], nodes.cut[node] = cut;
      }
    }
    if (nodes.feature[node] < 0) {
      nodes.right[node] = leaf;
      for (std::size_t i = begin; i < end; ++i) leaves[bag.rows[i]] = leaf;
      for (std::size_t i = first; i < last; ++i) leaves[rest[i]] = leaf;
      ++leaf;
      continue;
    }
    const float* column = ground.columns + static_cast<std::size_t>(nodes.feature[node]) * ground.examples;
    const float cut = nodes.cut[node];
    const auto goes_left = [&](std::size_t i) { return column[bag.rows[begin + i]] <= cut; };
    divide(&bag.products[begin], count, spare_products, goes_left);
    divide(&bag.weights[begin], count, spare, goes_left);
    const std::size_t middle = begin + divide(&bag.rows[begin], count, spare, goes_left);
    for (std::size_t i = begin; i < end; ++i) bag.place[bag.rows[i]] = static_cast<std::int32_t>(i);
    const std::size_t half = first + divide(rest.data() + first, last - first, spare,
                                            [&](std::size_t i) { return column[rest[first + i]] <= cut; });
    tasks.push_back({middle, end, half, last, alive, static_cast<std::ptrdiff_t>(node)});
    tasks.push_back({begin, middle, first, half, alive, -1});
  }
  return size;
}

void find_leaves(const std::int32_t* feature, const float* cut, const std::int32_t* right, const float* design,
                 std::size_t examples, std::size_t features, std::int32_t* leaves) {
  for (std::size_t row = 0; row < examples; ++row, design += features) {
    std::size_t node = 0;
    while (feature[node] >= 0)
      node = design[feature[node]] <= cut[node] ? node + 1 : static_cast<std::size_t>(right[node]);
    leaves[row] = right[node];
  }
}

}  // namespace polyrule
