/** Folding a dense block of values along its rows or columns; what is rarer than this is in plainFolds.cpp. */
#include "../simd/transpose.h"
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

// Of vectors and of single elements alike.
struct Sum {
  template <class V> static TL_INLINE V of(V a, V b) { return a + b; }
};
/** Extremes of floats: NaN wins. */
struct Max {
  template <class V> static TL_INLINE V of(V a, V b) { return a != a ? a : a > b ? a : b; }
};
struct Min {
  template <class V> static TL_INLINE V of(V a, V b) { return a != a ? a : a < b ? a : b; }
};

/** How many vectors are folded side by side: enough to hide the latency of an addition. */
constexpr int kBeside = 4;
/** Bytes between what is folded and what is fetched meanwhile. */
constexpr int64_t kAhead = 4096;
/** There may be nothing so far ahead, so it is an address and no pointer. */
template <class T> TL_INLINE void fetchAhead(const T* x) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(x) + kAhead));
}

/** Where values come from: memory, or the products of two blocks. */
template <class T> struct Values {
  const T* x;
  TL_INLINE Full<T> at(int64_t i) const {
    fetchAhead(x + i);
    return loadVector(x + i);
  }
  TL_INLINE T single(int64_t i) const { return x[i]; }
  TL_INLINE Values from(int64_t i) const { return {x + i}; }
};
template <class T> struct Products {
  const T *x, *y;
  TL_INLINE Full<T> at(int64_t i) const {
    fetchAhead(x + i);
    fetchAhead(y + i);
    return loadVector(x + i) * loadVector(y + i);
  }
  TL_INLINE T single(int64_t i) const { return x[i] * y[i]; }
  TL_INLINE Products from(int64_t i) const { return {x + i, y + i}; }
};

/** The vectors x[0], x[step], … x[(count - 1) * step], each Width wide, folded into `to`. */
template <class T, class F, int Width, class From> TL_INLINE void foldDown(int64_t count, From x, int64_t step, T* to) {
  constexpr int N = lanesOf<T>;
  Full<T> sum[Width];
  for (int j = 0; j < Width; j++) sum[j] = x.at(j * N);
  for (int64_t r = 1; r < count; r++) {
    x = x.from(step);
    for (int j = 0; j < Width; j++) sum[j] = F::of(sum[j], x.at(j * N));
  }
  for (int j = 0; j < Width; j++) storeVector(to + j * N, sum[j]);
}

/** out[column] over `rows` rows that begin `step` apart, for at least a vector of columns. */
template <class T, class F, class From> void foldLong(int64_t rows, int64_t columns, From x, int64_t step, T* to) {
  constexpr int64_t N = lanesOf<T>;
  int64_t c = 0;
  for (; c + kBeside * N <= columns; c += kBeside * N) foldDown<T, F, kBeside>(rows, x.from(c), step, to + c);
  for (; c + N <= columns; c += N) foldDown<T, F, 1>(rows, x.from(c), step, to + c);
  // What is left is computed with some of its neighbours a second time.
  if (c < columns) foldDown<T, F, 1>(rows, x.from(columns - N), step, to + columns - N);
}

/** to[i] = F(to[i], x[i]) for a few elements. */
template <class T, class F> TL_INLINE void foldInto(int64_t n, T* to, const T* x) {
  TL_SHORT_LOOP
  for (int64_t i = 0; i < n; i++) {
    to[i] = F::of(to[i], x[i]);
    TL_KEEP_SCALAR;
  }
}

/** A row of at least one vector, folded into one vector: several side by side first, so that errors grow slowly too. */
template <class T, class F, class From> TL_INLINE Full<T> foldToVector(int64_t n, From x) {
  constexpr int64_t N = lanesOf<T>;
  Full<T> sum = x.at(0);
  int64_t done = N;
  if (n >= kBeside * N) {
    Full<T> beside[kBeside];
    for (int j = 0; j < kBeside; j++) beside[j] = x.at(j * N);
    for (done = kBeside * N; done + kBeside * N <= n; done += kBeside * N)
      for (int j = 0; j < kBeside; j++) beside[j] = F::of(beside[j], x.at(done + j * N));
    sum = F::of(F::of(beside[0], beside[1]), F::of(beside[2], beside[3]));
  }
  for (; done + N <= n; done += N) sum = F::of(sum, x.at(done));
  if (done < n) {
    T lanes[N];
    storeVector(lanes, sum);
    TL_SHORT_LOOP
    for (int64_t i = 0; i < n - done; i++) {
      lanes[i] = F::of(lanes[i], x.single(done + i));
      TL_KEEP_SCALAR;
    }
    sum = loadVector(lanes);
  }
  return sum;
}

template <class T, class F> void foldColumns(int64_t rows, int64_t columns, const void* in, void* out) {
  constexpr int64_t kWidth = 4 * kBeside * lanesOf<T>, kMany = 64;
  const T* x = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  const bool narrow = columns < lanesOf<T> || (columns < kBeside * lanesOf<T> && rows >= kMany);
  if (!narrow) return foldLong<T, F>(rows, columns, Values<T>{x}, columns, to);
  // Short rows: as many whole rows as fit side by side make one long one, which is folded in halves at the end.
  const int64_t together = kWidth / columns < rows ? kWidth / columns : rows;
  const int64_t width = together * columns, rounds = rows / together;
  T wide[kWidth];
  if (width < lanesOf<T>)
    __builtin_memcpy(wide, x, static_cast<size_t>(width) * sizeof(T));
  else
    foldLong<T, F>(rounds, width, Values<T>{x}, width, wide);
  const int64_t done = width < lanesOf<T> ? 1 : rounds;
  for (int64_t r = done * together; r < rows; r += together) {
    const int64_t more = rows - r < together ? rows - r : together;
    foldInto<T, F>(more * columns, wide, x + r * columns);
  }
  for (int64_t left = together; left > 1; left -= left / 2)
    foldInto<T, F>(left / 2 * columns, wide, wide + (left - left / 2) * columns);
  __builtin_memcpy(to, wide, static_cast<size_t>(columns) * sizeof(T));
}

/** A row of less than a vector, element after element. */
template <class T, class F> TL_INLINE T foldInOrder(int64_t n, const T* x) {
  T sum = x[0];
  for (int64_t i = 1; i < n; i++) {
    sum = F::of(sum, x[i]);
    TL_KEEP_SCALAR;
  }
  return sum;
}

/** Rows of at least a vector become a vector each, and some of these are turned over and folded together. */
template <class T, class F, class From> void foldLongRows(int64_t rows, int64_t columns, From x, T* to) {
  constexpr int64_t N = lanesOf<T>;
  T vectors[N * N];
  for (int64_t r = 0; r < rows;) {
    const int64_t count = rows - r < N ? rows - r : N;
    for (int64_t i = 0; i < count; i++)
      storeVector(vectors + i * N, foldToVector<T, F>(columns, x.from((r + i) * columns)));
    if (count == 1) {
      to[r] = foldInOrder<T, F>(N, vectors);
    } else {
      T turned[N * N] = {}, results[N];
      transposeBlock<sizeof(T)>(N, count, turned, N, vectors, N);
      foldDown<T, F, 1>(N, Values<T>{turned}, N, results);
      __builtin_memcpy(to + r, results, static_cast<size_t>(count) * sizeof(T));
    }
    r += count;
  }
}

/** However many rows there are and wherever one stands, its elements are folded in the same order. */
template <class T, class F> void foldRows(int64_t rows, int64_t columns, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  constexpr int64_t N = lanesOf<T>;
  // Short rows: turned over some dozens at a time, they are long columns.
  constexpr int64_t kShort = 32, kTogether = 64;
  if (columns < kShort) {
    int64_t r = 0;
    for (T turned[kShort * kTogether]; columns > 1 && rows - r >= N;) {
      const int64_t count = rows - r < kTogether ? rows - r : kTogether;
      transposeBlock<sizeof(T)>(columns, count, turned, kTogether, x + r * columns, columns);
      foldLong<T, F>(columns, count, Values<T>{turned}, kTogether, to + r);
      r += count;
    }
    for (; r < rows; r++) to[r] = foldInOrder<T, F>(columns, x + r * columns);
    return;
  }
  foldLongRows<T, F>(rows, columns, Values<T>{x}, to);
}
/** Of fewer columns than a vector has, element after element; there are such at the end of longer rows. */
void fewProducts(int64_t count, int64_t length, int64_t step, int64_t along, Products<float> from, float* to) {
  TL_SHORT_LOOP
  for (int64_t i = 0; i < count; i++) {
    float sum = from.single(i * step);
    for (int64_t k = 1; k < length; k++) {
      sum += from.single(i * step + k * along);
      TL_KEEP_SCALAR;
    }
    to[i] = sum;
  }
}
void productRows(int64_t rows, int64_t columns, const float* x, const float* y, float* to) {
  if (columns < lanesOf<float>) fewProducts(rows, columns, columns, 1, {x, y}, to);
  else foldLongRows<float, Sum>(rows, columns, Products<float>{x, y}, to);
}
void productColumns(int64_t rows, int64_t columns, const float* x, const float* y, float* to) {
  if (columns < lanesOf<float>) fewProducts(columns, rows, 1, columns, {x, y}, to);
  else foldLong<float, Sum>(rows, columns, Products<float>{x, y}, columns, to);
}

template <class T, class F> void fill(SimdKernels& k, FoldOp op, Kind kind) {
  k.foldRows[static_cast<int>(op)][static_cast<int>(kind)] = foldRows<T, F>;
  k.foldColumns[static_cast<int>(op)][static_cast<int>(kind)] = foldColumns<T, F>;
}

}  // namespace

void fillFolds(SimdKernels& k) {
  fill<float, Sum>(k, FoldOp::sum, Kind::f32);
  fill<float, Max>(k, FoldOp::max, Kind::f32);
  fill<float, Min>(k, FoldOp::min, Kind::f32);
  fill<double, Sum>(k, FoldOp::sum, Kind::f64);
  fill<double, Max>(k, FoldOp::max, Kind::f64);
  fill<double, Min>(k, FoldOp::min, Kind::f64);
  k.productRows = productRows;
  k.productColumns = productColumns;
  // Sums of integers wrap, whatever their sign.
  fill<uint32_t, Sum>(k, FoldOp::sum, Kind::i32);
  fill<uint32_t, Sum>(k, FoldOp::sum, Kind::u32);
}

}  // namespace tl::TL_SIMD
