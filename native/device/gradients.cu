// The kernels of the ensemble around the arithmetic of gradients.h, which the reader of this file puts in front of it.
// Contributions of rows are whole numbers, so that the order of additions does not matter.
using namespace polyrule_gradients;

using i64 = long long;
using u64 = unsigned long long;
using Code = unsigned short;

// Number of gradients, of at most 21 bits each, that fit into a sum of 32 bits.
constexpr int kTogether = 1000;

__device__ __forceinline__ void add_whole(i64* to, i64 more) { atomicAdd(reinterpret_cast<u64*>(to), u64(more)); }

// Puts the gradients of some rows and labels side by side, [row][label][gradient, hessian], and adds them up; one block
// of threads for every `chunk` rows. No list of rows: all are meant; nowhere to put them: they are only added up.
__global__ void gather(const int* gradient, const int* hessian, i64 labels, const int* rows, i64 n,
                       const i64* query_labels, int wide, int chunk, int* gradients, i64* total) {
  const int stride = 2 * wide, lanes = max(1, int(blockDim.x) / stride);
  const i64 base = i64(blockIdx.x) * chunk, end = min(n, base + chunk);
  for (int s = threadIdx.x; s < lanes * stride; s += blockDim.x) {
    const int j = s % stride;
    const int* from = (j % 2 ? hessian : gradient) + query_labels[j / 2];
    i64 sum = 0;
    for (i64 k = base + s / stride; k < end; k += lanes) {
      const int value = from[(rows ? i64(rows[k]) : k) * labels];
      if (gradients) gradients[k * stride + j] = value;
      sum += value;
    }
    add_whole(total + j, sum);
  }
}

// Where each of the rows stands in their list.
__global__ void place_rows(const int* rows, i64 n, int* place) {
  const i64 k = blockIdx.x * i64(blockDim.x) + threadIdx.x;
  if (k < n) place[rows[k]] = int(k);
}

// Adds the gradients of rows to the bins of a feature (blockIdx.y), in shared memory, for `n_labels` labels from `first`
// on. A part of its entries (blockIdx.x): all rows of the list, or those of it whose code is not the most common. at[]
// holds the place where the bins of each feature begin in the table of sums, [bin][label][gradient, hessian]. A feature
// of more bins than fit into shared memory is added up `directly`. Columns are as
// `polyrule.binning.binned_table.BinnedTable` holds them.
__global__ void add_up(const Code* codes, i64 examples, const int* slot, const int* count, const i64* starts,
                       const int* listed_rows, const Code* listed_codes, const int* features, const i64* at,
                       const int* place, const int* rows, i64 n, const int* gradients, int wide, int first,
                       int n_labels, int directly, i64* table) {
  extern __shared__ u64 memory[];
  const int f = features[blockIdx.y], stride = 2 * n_labels, lanes = max(1, int(blockDim.x) / stride);
  const bool dense = slot[f] >= 0;
  const int cells = directly ? 0 : (count[f] + 1) * stride;
  i64* sums = reinterpret_cast<i64*>(memory);
  int *part = reinterpret_cast<int*>(sums + cells), *where = part + cells, *code = where + kTogether;
  i64* out = table + at[blockIdx.y] * 2 * wide + 2 * first;
  const i64 entries = dense ? n : starts[f + 1] - starts[f];
  const i64 share = ((entries + gridDim.x - 1) / gridDim.x + kTogether - 1) / kTogether * kTogether;
  const i64 begin = blockIdx.x * share, end = min(entries, begin + share);
  if (begin >= end) return;
  for (int i = threadIdx.x; i < cells; i += blockDim.x) sums[i] = 0, part[i] = 0;
  for (i64 base = begin; base < end; base += kTogether) {
    const int n_entries = int(min(i64(kTogether), end - base));
    __syncthreads();
    for (int e = threadIdx.x; e < n_entries; e += blockDim.x) {
      const i64 k = base + e, listed = starts[f] + k;
      where[e] = dense ? int(k) : place ? place[listed_rows[listed]] : listed_rows[listed];
      code[e] = dense ? codes[slot[f] * examples + (rows ? i64(rows[k]) : k)] : listed_codes[listed];
    }
    __syncthreads();
    for (int s = threadIdx.x; s < lanes * stride; s += blockDim.x) {
      const int j = s % stride;
      for (int e = s / stride; e < n_entries; e += lanes) {
        if (where[e] < 0) continue;
        const int value = gradients[i64(where[e]) * 2 * wide + 2 * first + j];
        if (directly) add_whole(&out[i64(code[e]) * 2 * wide + j], value);
        else atomicAdd(&part[code[e] * stride + j], value);
      }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < cells; i += blockDim.x) sums[i] += part[i], part[i] = 0;
  }
  for (int i = threadIdx.x; i < cells; i += blockDim.x)  // each thread those that it has just added to
    if (sums[i]) add_whole(&out[i64(i / stride) * 2 * wide + i % stride], sums[i]);
}

// Parameters of the gain: the hessian of each label in all rows, and the sums of rows that are covered in any case,
// [label][gradient, hessian].
struct GainQuery {
  const i64 *root, *offset;
  double ridge, cost;
  int wide;
};

// The gain of all labels for a condition whose rows have the sums `upto`, or what they leave of `all`.
__device__ double gain_of_all(const GainQuery& query, const i64* upto, const i64* all, int sign) {
  double sum = 0;
  for (int first = 0; first < query.wide; first += 8) {
    double value[8];
    for (int i = 0; i < 8; ++i) {
      const int label = first + i;
      value[i] = 0;
      if (label == 0 || label >= query.wide) continue;  // the first column counts rows
      i64 both[2];
      for (int w = 0; w < 2; ++w) {
        const int j = 2 * label + w;
        both[w] = query.offset[j] + (all ? all[j] - upto[j] : upto[j]);
      }
      const double g = double(both[0]);
      value[i] = gain_of(g, double(both[1]), query.root[label] > 0 ? 1.0 / double(query.root[label]) : 0.0, query.ridge, query.cost);
      if (sign) value[i] = signed_gain(value[i], g, sign);
    }
    sum += sum_of_eight(value);
  }
  return sum;
}

// The best condition on each feature, one block of threads for each: its gain as bits, then bin * 4 + kind of test; a
// negative gain where there is none. The first column counts rows, and examples that are not synthetic.
__global__ void best_conditions(const int* slot, const int* counts, const unsigned char* is_nominal,
                                const int* most_common, const signed char* direction, const int* forbids,
                                const int* features, const i64* at, const i64* total, const i64* root, const i64* offset, double ridge, double cost,
                                int wide, int sign, i64 min_rows, i64* table, i64* best) {
  __shared__ double gains[256];
  __shared__ int places[256];
  const GainQuery query{root, offset, ridge, cost, wide};
  const int f = features[blockIdx.x], count = counts[f], stride = 2 * wide;
  const bool nominal = is_nominal[f];
  i64* sums = table + at[blockIdx.x] * stride;
  for (int j = threadIdx.x; j < stride; j += blockDim.x) {
    if (slot[f] < 0) {  // rows that are not listed are what the others leave
      i64 rest = total[j];
      for (int b = 0; b <= count; ++b)
        if (b != most_common[f]) rest -= sums[i64(b) * stride + j];
      sums[i64(most_common[f]) * stride + j] = rest;
    }
    if (!nominal)
      for (int b = 1; b < count; ++b) sums[i64(b) * stride + j] += sums[i64(b - 1) * stride + j];
  }
  __syncthreads();
  const int forbidden = forbids[f], low = sign_with(sign, -direction[f]), high = sign_with(sign, direction[f]);
  const i64 *all = sums + i64(count - 1) * stride, whole = total[0];
  double gain = -1;
  int place = -1;
  for (int i = threadIdx.x; i < (nominal ? count : 2 * (count - 1)); i += blockDim.x) {
    const int b = nominal ? i : i / 2, above = nominal ? 0 : i % 2;
    const i64* upto = sums + i64(b) * stride;
    const i64 rows = above ? all[0] - upto[0] : upto[0], examples = offset[1] + (above ? all[1] - upto[1] : upto[1]);
    bool offered = rows > 0 && rows < whole && examples >= min_rows;
    if (nominal) offered = offered && b != forbidden;
    else {
      offered = offered && (b == 0 || upto[0] > upto[-stride]);  // otherwise the same rows as the threshold before
      offered = offered && (above ? high : low) != kForbidden && (forbidden < 0 || (forbidden <= b) == (above == 1));
    }
    if (!offered) continue;
    const double candidate_gain = gain_of_all(query, upto, above ? all : nullptr, nominal ? sign : above ? high : low);
    if (candidate_gain > gain) gain = candidate_gain, place = i;
  }
  gains[threadIdx.x] = gain, places[threadIdx.x] = place;
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) {
      const double other = gains[threadIdx.x + half];
      const int its = places[threadIdx.x + half], place_here = places[threadIdx.x];
      if (other > gains[threadIdx.x] || (other == gains[threadIdx.x] && its < place_here))
        gains[threadIdx.x] = other, places[threadIdx.x] = its;
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  best[2 * blockIdx.x] = bits_of(gains[0]);
  best[2 * blockIdx.x + 1] = nominal ? places[0] * 4 + 2 : places[0] / 2 * 4 + places[0] % 2;
}

// The training data of additive rules, and their weights: those of label i are starts[i] to starts[i + 1].
struct Fit {
  const unsigned char* covers;  // [rules][examples]
  const float* targets;         // [labels][examples]
  const double* weights;
  i64 examples;
  const i64 *labels, *starts, *rules;
  const double* coefficients;
};
#define POLYRULE_FIT                                                                                         \
  const unsigned char *covers, const float *targets, const double *weights, i64 examples, const i64 *labels, \
      const i64 *starts, const i64 *rules, const double *coefficients

// The probability of one label in one row. Eight rules are added up at a time.
__device__ double probability_at(const Fit& fit, int place, i64 row) {
  double score = 0;
  for (i64 first = fit.starts[place]; first < fit.starts[place + 1]; first += 8) {
    double together = 0;
    for (i64 i = first; i < min(first + 8, fit.starts[place + 1]); ++i)
      if (fit.covers[fit.rules[i] * fit.examples + row]) together += fit.coefficients[i];
    score += together;
  }
  const double size = score < 0 ? -score : score;
  return sigmoid(score, exp_neg(size < kFarthest ? size : kFarthest));
}

// Rows of a block of threads that contribute to sums: how much, and by which rules each is covered, as bits.
struct Contributing {
  i64* value;
  u64* covered;  // [row][words]
  int words, rows;

  __device__ Contributing(u64* memory, int n_words, int chunk, i64 left)
      : value(reinterpret_cast<i64*>(memory)), covered(memory + chunk), words(n_words),
        rows(int(min(i64(chunk), left))) {}

  __device__ void note(int r, i64 contributed, const unsigned char* covers, i64 examples, i64 row, const i64* rules,
                       int n) {
    value[r] = contributed;
    for (int word = 0; word < words; ++word) {
      u64 bits = 0;
      for (int i = word * 64; i < min(n, word * 64 + 64); ++i)
        if (covers[(rules ? rules[i] : i64(i)) * examples + row]) bits |= u64(1) << (i - word * 64);
      covered[r * words + word] = bits;
    }
  }
  __device__ bool covers(int r, int rule) const { return covered[r * words + rule / 64] >> (rule % 64) & 1; }

  // Adds the contributions of the rows that each of n rules covers.
  __device__ void add_by_rule(int n, i64* sums) const {
    const int lanes = max(1, int(blockDim.x) / n);
    for (int s = threadIdx.x; s < lanes * n; s += blockDim.x) {
      i64 sum = 0;
      for (int r = s / n; r < rows; r += lanes)
        if (covers(r, s % n)) sum += value[r];
      if (sum) add_whole(&sums[s % n], sum);
    }
  }

  // The same for the rows that both of two rules cover, at [larger][smaller]. The lines of the triangle are taken in
  // pairs, a long one with a short one, which are equally long together.
  __device__ void add_by_pair(int n, i64* sums) const {
    for (int s = threadIdx.x; s < (n + 1) / 2 * (n + 1); s += blockDim.x) {
      const int line = s / (n + 1), place = s % (n + 1), longer = n - 1 - line;
      const int a = place <= longer ? longer : line, b = place <= longer ? place : place - longer - 1;
      if (place > longer && line == longer) continue;
      i64 sum = 0;
      for (int r = 0; r < rows; ++r)
        if (covers(r, a) && covers(r, b)) sum += value[r];
      if (sum) add_whole(&sums[i64(a) * n + b], sum);
    }
  }
};

// Derivatives of the losses of some labels (blockIdx.y) by their weights, in units: the first ones, or, of pairs of
// weights, the second ones. at[] holds the place where those of a label begin.
template <bool second>
__global__ void derivatives(POLYRULE_FIT, double unit, int words, int chunk, const i64* at, i64* sums) {
  extern __shared__ u64 memory[];
  const Fit fit{covers, targets, weights, examples, labels, starts, rules, coefficients};
  const i64 base = i64(blockIdx.x) * chunk, start = fit.starts[blockIdx.y];
  const int n = int(fit.starts[blockIdx.y + 1] - start);
  Contributing contributing(memory, words, chunk, fit.examples - base);
  const Contribution contributed(unit);
  for (int r = threadIdx.x; r < contributing.rows; r += blockDim.x) {
    const i64 row = base + r;
    const double probability = probability_at(fit, blockIdx.y, row);
    const double target = double(fit.targets[fit.labels[blockIdx.y] * fit.examples + row]);
    const double value = second ? hessian_of(probability, target) : gradient_of(probability, target);
    contributing.note(r, contributed(fit.weights[row], value), fit.covers, fit.examples, row, fit.rules + start, n);
  }
  __syncthreads();
  if (second) contributing.add_by_pair(n, sums + at[blockIdx.y]);
  else contributing.add_by_rule(n, sums + at[blockIdx.y]);
}

// Derivatives by every score, in whole units, into [rows][columns]: label k is column k + 1.
__global__ void write_gradients(POLYRULE_FIT, double scale, i64 columns, int* gradient, int* hessian) {
  const Fit fit{covers, targets, weights, examples, labels, starts, rules, coefficients};
  const i64 row = blockIdx.x * i64(blockDim.x) + threadIdx.x, label = fit.labels[blockIdx.y];
  if (row >= fit.examples) return;
  const Contribution contributed(scale);
  const double probability = probability_at(fit, blockIdx.y, row), weight = fit.weights[row];
  const double target = double(fit.targets[label * fit.examples + row]);
  const i64 min_hessian = target == target, value = contributed(weight, hessian_of(probability, target));
  gradient[row * columns + label + 1] = int(contributed(weight, gradient_of(probability, target)));
  hessian[row * columns + label + 1] = int(value > min_hessian ? value : min_hessian);
}

// Sums of the hessians of some labels (blockIdx.y) in those of some rows that each of n rules covers.
__global__ void shared_curvature(const unsigned char* covers, i64 examples, int n, const int* rows, i64 count,
                                 const int* hessian, i64 columns, const i64* labels, int words, int chunk, i64* sums) {
  extern __shared__ u64 memory[];
  const i64 base = i64(blockIdx.x) * chunk;
  Contributing contributing(memory, words, chunk, count - base);
  for (int r = threadIdx.x; r < contributing.rows; r += blockDim.x) {
    const i64 row = rows[base + r];
    contributing.note(r, hessian[row * columns + labels[blockIdx.y]], covers, examples, row, nullptr, n);
  }
  __syncthreads();
  contributing.add_by_rule(n, sums + i64(blockIdx.y) * n);
}
