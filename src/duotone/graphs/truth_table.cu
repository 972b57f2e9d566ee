// The levels of every dataset of a truth table, on a GPU.
//
// 32 datasets to a word. Dataset x has a colour and a distance d, the fewest votes that flip its answer. In registers d is unary:
// the bit of x in near[k] says d <= k. Along one axis, of x and its neighbour y, near[k] of x becomes
//
//     near[k] of x  or  near[k - 1] of y  or  colours differ,
//
// one instruction for 32 datasets, and axis after axis is exact, since the datasets are a product. In memory d is binary: 2^BITS - d,
// or 0 where d is larger than MOST, so that a dataset takes BITS + 1 bits. A trip through memory takes many axes: a tile of words
// stays in shared memory, and a stage takes a few axes of it in registers.
//
// After s axes no finite distance exceeds s, so the first stages need few planes (FROM is how many there are before a stage).

typedef unsigned int word;
typedef unsigned long long wide;

constexpr int RECORD = 8;                // so many words of each plane stand together in memory
constexpr int FIRST = 13, INSIDE = 5;    // the first trip's tile is 2^FIRST words; a word has 2^INSIDE datasets
constexpr int TOGETHER = 4;              // axes of the first step beyond those inside words

// One instruction each; left to itself the compiler shares parts of them and needs more.
#ifdef __CUDA_ARCH__
template <int TABLE> __device__ __forceinline__ word three(word a, word b, word c) {
  word result;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(TABLE));
  return result;
}
__device__ __forceinline__ word any_of(word a, word b, word c) { return three<0xfe>(a, b, c); }
__device__ __forceinline__ word or_both(word a, word b, word c) { return three<0xf8>(a, b, c); }
__device__ __forceinline__ word choose(word a, word b, word c) { return three<0xca>(a, b, c); }
#else
__device__ __forceinline__ word any_of(word a, word b, word c) { return a | b | c; }
__device__ __forceinline__ word or_both(word a, word b, word c) { return a | (b & c); }
__device__ __forceinline__ word choose(word a, word b, word c) { return (a & b) | (~a & c); }
#endif

template <int BITS> struct Form {
  static constexpr int PLANES = BITS + 1;
  static constexpr int MOST = BITS == 6 ? 37 : (1 << BITS) - 1;  // nobody has more than 37 voters to change
  static constexpr int AXES = BITS == 4 ? 3 : 2;                 // as many as registers hold
};

template <int BITS, int MOST> __device__ __forceinline__ void unpack(const word *code, word *near) {
  word least[(1 << BITS) + 1];  // bit of x in least[j]: the number in memory is at least j
  least[0] = ~0u;
  least[1 << BITS] = 0;
#pragma unroll
  for (int b = BITS - 1; b >= 0; b--)
#pragma unroll
    for (int j = 1 << b; j < 1 << BITS; j += 2 << b)
      least[j] = or_both(least[j + (1 << b)], least[j - (1 << b)], code[b]);
  near[0] = 0;
#pragma unroll
  for (int k = 1; k <= MOST; k++) near[k] = least[(1 << BITS) - k];
}

// Bit b of how many planes are set, of which those beyond MOST are as that one: every 2^b-th plane changes it.
template <int BITS, int MOST> __device__ __forceinline__ void pack(const word *near, word *code) {
#pragma unroll
  for (int b = 0; b < BITS; b++) {
    word bit = 0;
#pragma unroll
    for (int k = 1 << b; k <= MOST; k += 1 << b) bit ^= near[k];
    if (((((1 << BITS) - 1) >> b) - (MOST >> b)) & 1) bit ^= near[MOST];
    code[b] = bit;
  }
}

// The axes of WORDS words, from AXIS on: distances up to KNOWN before, and one more with each axis, but for those beyond MOST.
template <int WORDS, int KNOWN, int MOST, int AXIS = 1>
__device__ __forceinline__ void axes(const word *colour, word (*near)[MOST + 1]) {
  if constexpr (AXIS < WORDS) {
    constexpr int LAST = KNOWN < MOST ? KNOWN + 1 : MOST;
#pragma unroll
    for (int j = 0; j < WORDS; j++)
      if (!(j & AXIS)) {
        const int i = j | AXIS;
        const word differ = colour[j] ^ colour[i];
        near[j][LAST] = near[j][KNOWN];
        near[i][LAST] = near[i][KNOWN];
#pragma unroll
        for (int k = LAST; k >= 1; k--) {
          const word x = any_of(near[j][k], near[i][k - 1], differ);
          near[i][k] = any_of(near[i][k], near[j][k - 1], differ);
          near[j][k] = x;
        }
      }
    axes<WORDS, LAST, MOST, 2 * AXIS>(colour, near);
  }
}

// The neighbours of a word's datasets along one of its five axes.
template <int AXIS> __device__ __forceinline__ word across(word x) {
  constexpr word lower[INSIDE] = {0x55555555u, 0x33333333u, 0x0f0f0f0fu, 0x00ff00ffu, 0x0000ffffu};
  return choose(lower[AXIS], x >> (1 << AXIS), x << (1 << AXIS));
}

template <int AXIS = 0> __device__ __forceinline__ void inside(word colour, word *near) {
  if constexpr (AXIS < INSIDE) {
    const word differ = colour ^ across<AXIS>(colour);
    near[0] = 0;
    near[AXIS + 1] = near[AXIS];
#pragma unroll
    for (int k = AXIS + 1; k >= 1; k--) near[k] = any_of(near[k], across<AXIS>(near[k - 1]), differ);
    inside<AXIS + 1>(colour, near);
  }
}

// Where the words of a tile are: 2^row in a row, and rows 2^high words apart.
struct Place {
  wide base;
  int row, high;
  __device__ __forceinline__ wide word_of(int t) const { return base + (t & ((1 << row) - 1)) + ((wide)(t >> row) << high); }
};

template <int BITS> __device__ __forceinline__ wide in_memory(wide w) {
  return w / RECORD * (RECORD * Form<BITS>::PLANES) + w % RECORD;
}

// Words that a warp takes together lie in different banks, whichever axes a stage has; in_tile(s ^ t) = in_tile(s) ^ in_tile(t).
__device__ __forceinline__ int in_tile(int t) { return t ^ ((t >> 3) & 0x18) ^ ((t >> 5) & 7); }

// AXES axes of a tile, from word bit `at` on; from memory instead of the tile if it is the first stage, and into memory if the last.
template <int BITS, int SIZE, int AXES, int FROM>
__device__ __forceinline__ void stage(word *tile, word *planes, Place place, int at, bool first, bool last) {
  constexpr int WORDS = 1 << AXES, ALL = Form<BITS>::MOST, MOST = FROM + AXES < ALL ? FROM + AXES : ALL;
  const wide step = (wide)Form<BITS>::PLANES << (at < place.row ? at : at - place.row + place.high);
  int apart[AXES];
#pragma unroll
  for (int axis = 0; axis < AXES; axis++) apart[axis] = in_tile(1 << (at + axis));
  for (int item = threadIdx.x; item < 1 << (SIZE - AXES); item += blockDim.x) {
    const int base = (item & ((1 << at) - 1)) | ((item >> at) << (at + AXES));
    word *const memory = planes + in_memory<BITS>(place.word_of(base));
    int here[WORDS];
    here[0] = in_tile(base);
#pragma unroll
    for (int axis = 0; axis < AXES; axis++)
#pragma unroll
      for (int j = 0; j < 1 << axis; j++) here[j + (1 << axis)] = here[j] ^ apart[axis];
    word colour[WORDS], code[WORDS][BITS], near[WORDS][MOST + 1];
    if (first) {
#pragma unroll
      for (int j = 0; j < WORDS; j++) {
        colour[j] = memory[j * step];
#pragma unroll
        for (int b = 0; b < BITS; b++) code[j][b] = memory[j * step + (b + 1) * RECORD];
      }
    } else {
#pragma unroll
      for (int j = 0; j < WORDS; j++) {
        const word *const from = tile + here[j];
        colour[j] = from[0];
#pragma unroll
        for (int b = 0; b < BITS; b++) code[j][b] = from[(b + 1) << SIZE];
      }
    }
#pragma unroll
    for (int j = 0; j < WORDS; j++) unpack<BITS, MOST>(code[j], near[j]);
    axes<WORDS, FROM, MOST>(colour, near);
#pragma unroll
    for (int j = 0; j < WORDS; j++) pack<BITS, MOST>(near[j], code[j]);
    if (last) {
#pragma unroll
      for (int j = 0; j < WORDS; j++) {
        memory[j * step] = colour[j];
#pragma unroll
        for (int b = 0; b < BITS; b++) memory[j * step + (b + 1) * RECORD] = code[j][b];
      }
    } else {
#pragma unroll
      for (int j = 0; j < WORDS; j++) {
        word *const to = tile + here[j];
        to[0] = colour[j];
#pragma unroll
        for (int b = 0; b < BITS; b++) to[(b + 1) << SIZE] = code[j][b];
      }
    }
  }
  __syncthreads();
}

// The axes that the first step left, from the lowest words up; the last stage's words are next to each other, as memory wants it.
template <int BITS, int FROM, int AT> __device__ __forceinline__ void next_stages(word *tile, word *planes, Place place) {
  constexpr int LEFT = FIRST - TOGETHER - AT;
  if constexpr (LEFT > 0) {
    constexpr int AXES = LEFT < Form<BITS>::AXES ? LEFT : Form<BITS>::AXES;
    constexpr int KNOWN = BITS == 4 && FROM < Form<BITS>::MOST ? FROM : Form<BITS>::MOST;
    stage<BITS, FIRST, AXES, KNOWN>(tile, planes, place, AT, false, LEFT == AXES);
    next_stages<BITS, FROM + AXES, AT + AXES>(tile, planes, place);
  }
}

// The first trip: from answers alone, the axes of 2^FIRST neighbouring words.
template <int BITS> __global__ void __launch_bounds__(256, 1) first_trip(const word *answers, word *planes) {
  extern __shared__ word tile[];
  constexpr int WORDS = 1 << TOGETHER, MOST = INSIDE + TOGETHER, APART = FIRST - TOGETHER;
  const Place place = {(wide)blockIdx.x << FIRST, FIRST, FIRST};
  for (int item = threadIdx.x; item < 1 << APART; item += blockDim.x) {
    word colour[WORDS], near[WORDS][MOST + 1], code[BITS];
#pragma unroll
    for (int j = 0; j < WORDS; j++) colour[j] = answers[place.base + item + (j << APART)];
#pragma unroll
    for (int j = 0; j < WORDS; j++) inside(colour[j], near[j]);
    axes<WORDS, INSIDE, MOST>(colour, near);
#pragma unroll
    for (int j = 0; j < WORDS; j++) {
      const int to = in_tile(item | (j << APART));
      pack<BITS, MOST>(near[j], code);
      tile[to] = colour[j];
#pragma unroll
      for (int b = 0; b < BITS; b++) tile[((b + 1) << FIRST) + to] = code[b];
    }
  }
  __syncthreads();
  next_stages<BITS, INSIDE + TOGETHER, 0>(tile, planes, place);
}

// A further trip: `count` axes from word bit `high` on, in tiles of rows of 2^(SIZE - count) words.
template <int BITS, int SIZE> __global__ void __launch_bounds__(SIZE < FIRST ? 192 : 384, SIZE < FIRST ? 2 : 1)
further_trip(word *planes, int high, int count) {
  extern __shared__ word tile[];
  constexpr int AXES = Form<BITS>::AXES, MOST = Form<BITS>::MOST;
  const int row = SIZE - count;
  const wide number = blockIdx.x, below = number & (((wide)1 << (high - row)) - 1);
  const Place place = {(below << row) | ((number >> (high - row)) << (high + count)), row, high};
  for (int at = row, left = count; left > 0;) {
    const int now = left < AXES ? left : AXES;
    const bool first = left == count, last = left == now;
    if (now == AXES) stage<BITS, SIZE, AXES, MOST>(tile, planes, place, at, first, last);
    else if (now == 2) stage<BITS, SIZE, 2, MOST>(tile, planes, place, at, first, last);
    else stage<BITS, SIZE, 1, MOST>(tile, planes, place, at, first, last);
    at += now;
    left -= now;
  }
}

// How many datasets have distance at most k, in counts[k], and how many of these are a yes, in counts[MOST + 1 + k]; k = 0 is all.
template <int BITS> __global__ void tally(const word *planes, wide words, wide *counts) {
  constexpr int MOST = Form<BITS>::MOST;
  word all[MOST + 1] = {}, yes[MOST + 1] = {};
  for (wide w = (wide)blockIdx.x * blockDim.x + threadIdx.x; w < words; w += (wide)gridDim.x * blockDim.x) {
    const word *const memory = planes + in_memory<BITS>(w);
    word code[BITS], near[MOST + 1];
#pragma unroll
    for (int b = 0; b < BITS; b++) code[b] = memory[(b + 1) * RECORD];
    const word colour = memory[0];
    unpack<BITS, MOST>(code, near);
    near[0] = ~0u;
#pragma unroll
    for (int k = 0; k <= MOST; k++) {
      all[k] += __popc(near[k]);
      yes[k] += __popc(near[k] & colour);
    }
  }
#pragma unroll
  for (int k = 0; k <= MOST; k++) {
    const word every = __reduce_add_sync(~0u, all[k]), blue = __reduce_add_sync(~0u, yes[k]);
    if (threadIdx.x % 32 == 0) {
      atomicAdd(counts + k, (wide)every);
      atomicAdd(counts + MOST + 1 + k, (wide)blue);
    }
  }
}

// Colour in bit 6, and below it the distance, or 0 where it is larger than MOST.
template <int BITS> __global__ void look(const word *planes, const wide *datasets, wide count, unsigned char *seen) {
  for (wide i = (wide)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (wide)gridDim.x * blockDim.x) {
    const word *const memory = planes + in_memory<BITS>(datasets[i] >> INSIDE);
    const int bit = datasets[i] & 31;
    int number = 0;
#pragma unroll
    for (int b = 0; b < BITS; b++) number |= (memory[(b + 1) * RECORD] >> bit & 1) << b;
    seen[i] = (memory[0] >> bit & 1) << 6 | (number ? (1 << BITS) - number : 0);
  }
}

// The levels of all datasets of some words, a byte each, as `TruthTable.levels` has them: 127 and -128 where nothing flips the answer.
template <int BITS> __global__ void spread(const word *planes, wide start, wide words, signed char *levels) {
  for (wide w = (wide)blockIdx.x * blockDim.x + threadIdx.x; w < words; w += (wide)gridDim.x * blockDim.x) {
    const word *const memory = planes + in_memory<BITS>(start + w);
    word code[BITS];
#pragma unroll
    for (int b = 0; b < BITS; b++) code[b] = memory[(b + 1) * RECORD];
    const word colour = memory[0];
    for (int bit = 0; bit < 32; bit++) {
      int number = 0;
#pragma unroll
      for (int b = 0; b < BITS; b++) number |= (code[b] >> bit & 1) << b;
      const int distance = number ? (1 << BITS) - number : 128;
      levels[w * 32 + bit] = colour >> bit & 1 ? distance - 1 : -distance;
    }
  }
}

// Weighted votes. The sums of the five lowest weights are in order in `low`, and chosen[i] has those from the i-th on; `middle` has
// the sums of the next weights, `high` those of the others.
__global__ void weigh(const long long *low, const word *chosen, const long long *middle, int middle_bits, const long long *high,
                      long long threshold, wide words, word *answers) {
  for (wide w = (wide)blockIdx.x * blockDim.x + threadIdx.x; w < words; w += (wide)gridDim.x * blockDim.x) {
    const long long missing = threshold - middle[w & (((wide)1 << middle_bits) - 1)] - high[w >> middle_bits];
    int below = 0;  // how many of the sums are too small
#pragma unroll
    for (int step = 32; step >= 1; step /= 2)
      if (below + step <= 32 && low[below + step - 1] < missing) below += step;
    answers[w] = chosen[below];
  }
}
