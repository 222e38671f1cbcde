// CUDA's words in plain C++, so that kernels run where there is no GPU: the threads of a block are contexts that take
// turns between two barriers, blocks run one after another.
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)

struct Place {
  unsigned x = 0, y = 0;
};

static Place threadIdx, blockIdx, blockDim, gridDim;
static unsigned long long* shared_memory;
static std::vector<ucontext_t> contexts;
static ucontext_t scheduler;

using std::max;
using std::min;

static void __syncthreads() { swapcontext(&contexts[threadIdx.x], &scheduler); }

template <class T, class U>
T atomicAdd(T* at, U more) {
  const T before = *at;
  *at += static_cast<T>(more);
  return before;
}

static void (*body)(void*);
static void* argument;
static std::vector<char> running;

static void enter() {
  const unsigned self = threadIdx.x;
  body(argument);
  running[self] = 0;
}

static void run_block() {
  constexpr std::size_t kStack = 1 << 16;
  static std::vector<char> stacks;
  const std::size_t n = blockDim.x;
  stacks.resize(n * kStack);
  contexts.resize(n);
  running.assign(n, 1);
  for (std::size_t i = 0; i < n; ++i) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks.data() + i * kStack;
    contexts[i].uc_stack.ss_size = kStack;
    contexts[i].uc_link = &scheduler;
    makecontext(&contexts[i], enter, 0);
  }
  while (std::count(running.begin(), running.end(), 1))
    for (std::size_t i = 0; i < n; ++i)
      if (running[i]) {
        threadIdx.x = static_cast<unsigned>(i);
        swapcontext(&scheduler, &contexts[i]);
      }
}

template <class... P, std::size_t... I>
void call(void (*kernel)(P...), void** values, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_const_t<P>*>(values[I])...);
}

template <class... P>
void launch(void (*kernel)(P...), unsigned grid_x, unsigned grid_y, unsigned threads, std::size_t shared, void** values) {
  using Call = std::pair<void (*)(P...), void**>;
  Call what{kernel, values};
  std::vector<unsigned long long> memory(shared / 8 + 1, ~0ULL);  // what lies there at first is not zero
  shared_memory = memory.data();
  argument = &what;
  body = [](void* given) {
    const auto* asked = static_cast<Call*>(given);
    call(asked->first, asked->second, std::index_sequence_for<P...>{});
  };
  gridDim = {grid_x, grid_y};
  blockDim = {threads, 1};
  for (blockIdx.y = 0; blockIdx.y < grid_y; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < grid_x; ++blockIdx.x) {
      std::fill(memory.begin(), memory.end(), ~0ULL);
      run_block();
    }
}
