// The kernels around the shared functions of counting.h, which the reader of this file puts in front of it.
using namespace polyrule_count;

// Tuning parameters: threads of a counting block, such blocks that share a multiprocessor, and most columns that
// one of them counts together; rows that are listed together.
#ifndef POLYRULE_THREADS
#define POLYRULE_THREADS 1024
#define POLYRULE_RESIDENT 2
#define POLYRULE_TOGETHER 4
#define POLYRULE_CHUNK 4096
#endif
constexpr int kTogether = POLYRULE_TOGETHER;

// A touch is a row's number in its chunk and, in the lower bits, label * 4 + outcome.
constexpr int kChunk = POLYRULE_CHUNK, kPlaceBits = 18;

// Codes of one column: those of a feature, or of the values that earlier rules have set for a label.
template <class Code>
struct FeatureCodes {
  const Code* codes;
  __device__ void open(const void* all, i64 stride, int, const u64*, const u64*, int, int column) {
    codes = static_cast<const Code*>(all) + column * stride;
  }
  __device__ int operator()(i64 row) const { return codes[row]; }
};

struct LabelCodes {
  const u64 *set, *value;
  int words, bit;
  __device__ void open(const void*, i64, int features, const u64* is_set, const u64* values, int n_words, int column) {
    const int label = column - features;
    set = is_set + label / 64, value = values + label / 64, words = n_words, bit = label % 64;
  }
  __device__ int operator()(i64 row) const { return label_code(set[row * words], value[row * words], bit); }
};

__device__ __forceinline__ int count_bits(u64 bits) {
#ifdef __CUDA_ARCH__
  return __popcll(bits);
#else
  return __builtin_popcountll(bits);
#endif
}

// No weights: every row counts 1, which is all that cells of 32 bits are used for.
__device__ __forceinline__ unsigned weight_of(const i64*, i64, unsigned) { return 1; }
__device__ __forceinline__ u64 weight_of(const i64* weights, i64 row, u64) { return weights ? u64(weights[row]) : 1; }

// Lists the labels of every row whose outcome is not the most common one, chunk by chunk, in any order; one block of threads per chunk.
// Every thread of the counters then has as much to do as the others, however many labels a row has. No list of
// selected rows: those from `offset` on are meant. A chunk has room for `capacity` touches.
__global__ void list_touches(const u64* truth, const u64* set, const unsigned* selected, i64 offset, i64 n, int words,
                             const u64* modes, i64 capacity, unsigned* touches, unsigned* touched) {
  __shared__ unsigned used;
  if (threadIdx.x == 0) used = 0;
  __syncthreads();
  const u64 *mode_truth = modes, *mode_set = modes + words, *mask = modes + 2 * words;
  const i64 base = i64(blockIdx.x) * kChunk;
  const int size = int(n - base < kChunk ? n - base : kChunk);
  unsigned* listed = touches + blockIdx.x * capacity;
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    const i64 row = selected ? i64(selected[base + i]) : offset + base + i;
    for (int word = 0; word < words; ++word) {
      if (!mask[word]) continue;
      const u64 is = truth[row * words + word], was = set[row * words + word];
      u64 bits = off_mode(is, was, mode_truth[word], mode_set[word], mask[word]);
      if (!bits) continue;
      unsigned at = atomicAdd(&used, unsigned(count_bits(bits)));
      for (; bits; bits &= bits - 1) {
        const int bit = first_set_bit(bits);
        listed[at++] = unsigned(i) << kPlaceBits | unsigned((word * 64 + bit) * kOutcomes + outcome_at(is, was, bit));
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) touched[blockIdx.x] = used;
}

// Counts some columns (blockIdx.y) of some chunks (blockIdx.x) in shared memory: place 0 of a bin is its weight, slot[]
// names the place of every label and outcome, or -1 where there is none; place_of[] leads back.
template <class Cell, class Codes>
__global__ void __launch_bounds__(POLYRULE_THREADS, POLYRULE_RESIDENT)
count_shared(const void* codes, i64 stride, int features, const u64* set, const u64* value, const i64* weights,
             const unsigned* selected, i64 offset, i64 n, int words, int labels, const unsigned* touches,
             const unsigned* touched, i64 capacity, const int* columns, const i64* starts, int n_columns, int together,
             const int* slot, const int* place_of, int slots, int with_weight, i64* outcomes, i64* weight) {
  extern __shared__ u64 memory[];
  Cell* cells = reinterpret_cast<Cell*>(memory);
  const int first = blockIdx.y * together, n_together = min(together, n_columns - first);
  const int bins = int(starts[first + n_together] - starts[first]);
  int* places = reinterpret_cast<int*>(cells + bins * slots);
  for (int i = threadIdx.x; i < bins * slots; i += blockDim.x) cells[i] = 0;
  for (int i = threadIdx.x; i < labels * kOutcomes; i += blockDim.x) places[i] = slot[i];
  Codes column[kTogether];
  int begin[kTogether];
#pragma unroll
  for (int c = 0; c < kTogether; ++c)
    if (c < n_together) {
      column[c].open(codes, stride, features, set, value, words, columns[first + c]);
      begin[c] = int(starts[first + c] - starts[first]) * slots;
    }
  __syncthreads();
  for (i64 chunk = blockIdx.x; chunk * kChunk < n; chunk += gridDim.x) {
    const i64 base = chunk * kChunk;
    if (with_weight) {
      const int size = int(n - base < kChunk ? n - base : kChunk);
      for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const i64 row = selected ? i64(selected[base + i]) : offset + base + i;
        const Cell w = weight_of(weights, row, Cell());
#pragma unroll
        for (int c = 0; c < kTogether; ++c)
          if (c < n_together) atomicAdd(&cells[begin[c] + column[c](row) * slots], w);
      }
    }
    const unsigned* listed = touches + chunk * capacity;
    const unsigned size = touched[chunk];
    for (unsigned t = threadIdx.x; t < size; t += blockDim.x) {
      const unsigned touch = listed[t], full = touch & ((1u << kPlaceBits) - 1);
      const i64 i = base + (touch >> kPlaceBits), row = selected ? i64(selected[i]) : offset + i;
      const Cell w = weight_of(weights, row, Cell());
      const int place = places[full];
#pragma unroll
      for (int c = 0; c < kTogether; ++c)
        if (c < n_together) {
          const int at = begin[c] + column[c](row) * slots;
          if (place >= 0) atomicAdd(&cells[at + place], w);
          else  // an outcome without a place is counted in global memory
            atomicAdd(reinterpret_cast<u64*>(&outcomes[(starts[first] + at / slots) * labels * kOutcomes + full]), u64(w));
        }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < bins * slots; i += blockDim.x) {
    const Cell candidate = cells[i];
    if (!candidate) continue;
    const i64 bin = starts[first] + i / slots;
    const int place = i % slots;
    i64* target = place ? &outcomes[bin * labels * kOutcomes + place_of[place]] : &weight[bin];
    atomicAdd(reinterpret_cast<u64*>(target), u64(candidate));
  }
}

// The same without shared memory and without a list, for columns of more bins than fit.
template <class Codes>
__global__ void count_direct(const void* codes, i64 stride, int features, const u64* truth, const u64* set,
                             const u64* value, const i64* weights, const unsigned* selected, i64 n, int words, int labels,
                             const int* columns, const i64* starts, const u64* modes, i64* outcomes, i64* weight) {
  Codes column;
  column.open(codes, stride, features, set, value, words, columns[blockIdx.y]);
  const u64 *mode_truth = modes, *mode_set = modes + words, *mask = modes + 2 * words;
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < n; i += i64(gridDim.x) * blockDim.x) {
    const i64 row = selected ? i64(selected[i]) : i;
    const u64 w = weight_of(weights, row, u64());
    const i64 bin = starts[blockIdx.y] + column(row);
    atomicAdd(reinterpret_cast<u64*>(&weight[bin]), w);
    for (int word = 0; word < words; ++word) {
      const u64 is = truth[row * words + word], was = set[row * words + word];
      for (u64 bits = off_mode(is, was, mode_truth[word], mode_set[word], mask[word]); bits; bits &= bits - 1) {
        const int bit = first_set_bit(bits);
        const i64 place = i64(word * 64 + bit) * kOutcomes + outcome_at(is, was, bit);
        atomicAdd(reinterpret_cast<u64*>(&outcomes[bin * labels * kOutcomes + place]), w);
      }
    }
  }
}

// The outcome of each label that is not counted, its most common one: the weight that the others leave.
__global__ void fill_modes(i64* outcomes, const i64* weight, const int* mode_of_label, i64 bins, int labels) {
  const i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x;
  if (i >= bins * labels) return;
  i64* row = outcomes + i * kOutcomes;
  i64 rest = 0;
  const int mode = mode_of_label[i % labels];
  for (int k = 0; k < kOutcomes; ++k) rest += k == mode ? 0 : row[k];
  row[mode] = weight[i / labels] - rest;
}

// Running sums of every column over its bins, the missing value's left out (it keeps its own): counts (label and outcome),
// and the weights of the node and of the working set as two more.
__global__ void running_sums(const i64* outcomes, const i64* weight, const i64* occurs, const i64* starts, const i64* ends,
                             int n_columns, int width, i64* outcomes_upto, i64* weight_upto, i64* occurs_upto) {
  const int which = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  if (which >= width + 2) return;
  i64 sum = 0;
  for (i64 bin = starts[c]; bin < ends[c] - 1; ++bin) {
    if (which < width) outcomes_upto[bin * width + which] = sum += outcomes[bin * width + which];
    else if (which == width) weight_upto[bin] = sum += weight[bin];
    else occurs_upto[bin] = sum += occurs[bin];
  }
}

__device__ Candidate best_of_block(Candidate first) {
  __shared__ Candidate shared[256];
  shared[threadIdx.x] = first;
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half && better(shared[threadIdx.x + half], shared[threadIdx.x]))
      shared[threadIdx.x] = shared[threadIdx.x + half];
    __syncthreads();
  }
  return shared[0];
}

// One thread per bin and side of one column (blockIdx.y); the best of a block goes to out[].
__global__ void decide(const Measure* by, const i64* outcomes, const i64* weight, const i64* outcomes_upto, const i64* weight_upto,
                       const i64* occurs_upto, const i64* starts, const i64* ends, const unsigned char* numeric,
                       const int* own_label, const unsigned char* allowed, const i64* total, int labels, i64 min_coverage,
                       Candidate* out) {
  const Measure measure = *by;
  const int c = blockIdx.y;
  const i64 width = i64(labels) * kOutcomes;
  const i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x;
  const i64 bins = ends[c] - starts[c] - 1, b = i / 2, bin = starts[c] + b;
  const bool above = i % 2;
  Candidate candidate{0, 1, 0, -1};
  if (b < bins) {
    const i64 bin_weight = weight[bin], last = ends[c] - 2, node_weight = weight_upto[last] + weight[last + 1];
    const i64 order = (i64(c) << 24) + i;
    if (numeric[c]) {
      const i64 upto = weight_upto[bin], known_weight = weight_upto[last];
      const i64 before = b ? occurs_upto[bin - 1] : 0;
      const i64 covered = above ? known_weight - upto : upto;
      if (is_threshold(above, bin_weight, upto, known_weight, weight[ends[c] - 1], before, occurs_upto[bin], occurs_upto[last]) &&
          covered >= min_coverage)
        candidate = judge(measure, outcomes_upto + bin * width, outcomes_upto + last * width, above, total, allowed, labels, own_label[c],
                      order);
    } else if (!above && bin_weight > 0 && bin_weight < node_weight && bin_weight >= min_coverage) {
      candidate = judge(measure, outcomes + bin * width, outcomes + bin * width, false, total, allowed, labels, own_label[c], order);
    }
  }
  const Candidate best = best_of_block(candidate);
  if (threadIdx.x == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = best;
}

__global__ void best_of_all(const Candidate* candidate, int n, Candidate* out) {
  Candidate first{0, 1, 0, -1};
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (better(candidate[i], first)) first = candidate[i];
  const Candidate best = best_of_block(first);
  if (threadIdx.x == 0) *out = best;
}
