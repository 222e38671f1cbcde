// A safe and fast first look: can any candidate of a feature reach the value at all?
//
// All literals of a node are lanes of a vector. A feature's rows pass by in order, each adds its vector of gains (see
// singles.hpp) to the running sums, and only the largest and smallest sum of every lane is kept: whether `x <= t` or `x > t`
// reaches the value for some t can be read off them. The sums are exact integers, and every boundary is looked at, so
// "no" is always right; where the answer is "perhaps", the exact scan decides.
#pragma once

#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "columns.hpp"
#include "node.hpp"
#include "singles.hpp"

namespace polyrule {

inline constexpr std::size_t kLanes = 8;

// Extremes of the running sums over a list of rows at the starts of distinct values (and at its end, if asked for), and
// the final sums. `width` vectors of kLanes numbers, each starting at a multiple of their size.
void sweep_rows(const std::uint32_t* rows, std::size_t size, const std::int32_t* table, std::size_t width, bool at_end,
                std::int32_t* high, std::int32_t* low, std::int32_t* total);
void sweep_rows(const std::uint32_t* rows, std::size_t size, const double* table, std::size_t width, bool at_end,
                double* high, double* low, double* total);

// An array that starts at a cache line.
template <class T>
class LineArray {
 public:
  void resize(std::size_t size) {
    if (size <= size_) return;
    data_.reset(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64})));
    size_ = size;
  }
  T* get() { return data_.get(); }

 private:
  struct Release {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Release> data_;
  std::size_t size_ = 0;
};

template <class Lane>
class Sweep {
 public:
  // The largest table worth building, in bytes, and the largest sum a lane may hold.
  static constexpr std::size_t kLargestTable = std::size_t{8} << 20;
  static double capacity() { return sizeof(Lane) == 4 ? std::ldexp(1.0, 30) : std::ldexp(1.0, 52); }

  explicit Sweep(const Node& node) : node_(node) {
    for (std::uint32_t e = 0; e < node.labels.size(); ++e)
      for (int v = 0; v < 2; ++v)
        if (node.labels[e].usable(v)) literals_.push_back({e, v});
    width_ = (literals_.size() + kLanes - 1) / kLanes;
    high_.resize(width_ * kLanes);
    low_.resize(width_ * kLanes);
    total_.resize(width_ * kLanes);
  }

  std::size_t width() const { return width_; }
  std::size_t table_bytes(std::size_t rows) const { return rows * width_ * kLanes * sizeof(Lane); }

  template <class Int>
  void set_gains(const Gains<Int>& gains, const State& state) {
    table_.resize(state.rows * width_ * kLanes);
    empty_.assign(width_ * kLanes, 0);
    full_.assign(width_ * kLanes, 0);
    std::vector<Lane> usual(width_ * kLanes, 0);
    slot_.assign(node_.labels.size() * 2, SIZE_MAX);
    for (std::size_t i = 0; i < literals_.size(); ++i) {
      const auto [e, v] = literals_[i];
      const NodeLabel& label = node_.labels[e];
      slot_[e * 2 + std::size_t(v)] = i;
      usual[i] = static_cast<Lane>(gains.slope[v][label.usual]);
      empty_[i] = static_cast<Lane>(gains.empty_sum(label));
      full_[i] = static_cast<Lane>(gains.full_sum(label, v));
    }
    for (const Row row : node_.rows) {
      const Lane w = static_cast<Lane>(state.weights[row]);
      Lane* out = table_.get() + row * width_ * kLanes;
      for (std::size_t i = 0; i < usual.size(); ++i) out[i] = usual[i] * w;
      for (std::uint32_t t = node_.first[row]; t < node_.last[row]; ++t) {
        const std::size_t e = node_.touches[t] >> 2;
        for (int v = 0; v < 2; ++v)
          if (const std::size_t i = slot_[e * 2 + std::size_t(v)]; i != SIZE_MAX)
            out[i] = static_cast<Lane>(gains.slope[v][node_.touches[t] & 3]) * w;
      }
    }
  }

  // Rows in order, boundaries at distinct values: can a threshold reach the value? With `leaving_all` the rest of the
  // node counts as the other side of a boundary, otherwise the rest of the list.
  bool can_reach(const std::uint32_t* rows, std::size_t size, bool at_end, bool leaving_all) {
    sweep_rows(rows, size, table_.get(), width_, at_end, high_.get(), low_.get(), total_.get());
    for (std::size_t i = 0; i < literals_.size(); ++i) {
      const Lane whole = leaving_all ? full_[i] : empty_[i] + total_.get()[i];
      if (empty_[i] + high_.get()[i] >= 0 || whole - low_.get()[i] >= 0) return true;
    }
    return false;
  }

  // A set of rows, or with `others` the rest of the node, as the only candidate.
  bool set_can_reach(const std::uint32_t* rows, std::size_t size, bool others) {
    sweep_rows(rows, size, table_.get(), width_, true, high_.get(), low_.get(), total_.get());
    bool reached = false;
    for (std::size_t i = 0; i < literals_.size(); ++i) {
      const Lane sum = total_.get()[i];
      reached = reached || empty_[i] + sum >= 0 || (others && full_[i] - sum >= 0);
    }
    return reached;
  }

 private:
  struct Slot {
    std::uint32_t e;
    int value;
  };

  const Node& node_;
  std::vector<Slot> literals_;
  std::vector<std::size_t> slot_;
  std::size_t width_ = 0;
  LineArray<Lane> table_;  // per row, what it adds to every lane
  LineArray<Lane> high_, low_, total_;
  std::vector<Lane> empty_, full_;
};

}  // namespace polyrule
