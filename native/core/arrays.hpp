// Arrays for kernels that load whole vectors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace polyrule {

// An array that starts at a cache line. Growing it loses what it held.
template <class T>
class LineArray {
 public:
  void resize(std::size_t size) {
    if (size <= size_) return;
    data_.reset(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64})));
    size_ = size;
  }
  void assign(std::size_t size, T value) {
    resize(size);
    std::fill(data_.get(), data_.get() + size, value);
  }
  T* get() { return data_.get(); }
  const T* get() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Release {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Release> data_;
  std::size_t size_ = 0;
};

}  // namespace polyrule
