/** Folding a dense block of values along its rows or columns; what is rarer than this is in plainFolds.cpp. */
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

// Of vectors and of single elements alike. Folding `nothing` in changes no result.
struct Sum {
  template <class V> static TL_INLINE V of(V a, V b) { return a + b; }
  template <class T> static constexpr T nothing = static_cast<T>(-0.0);
};
struct Prod {
  template <class V> static TL_INLINE V of(V a, V b) { return a * b; }
  template <class T> static constexpr T nothing = 1;
};
/** Extremes of floats: NaN wins. */
struct Max {
  template <class V> static TL_INLINE V of(V a, V b) { return a != a ? a : larger(a, b); }
  template <class T> static constexpr T nothing = -__builtin_inf();
};
struct Min {
  template <class V> static TL_INLINE V of(V a, V b) { return a != a ? a : smaller(a, b); }
  template <class T> static constexpr T nothing = __builtin_inf();
};

/** How many vectors are folded side by side: enough to hide the latency of an addition. */
constexpr int kBeside = 4;
/** Whether the processor itself fetches what is read in order better than with requests in between: a tenth more on family 25 of AMD's. */
inline bool foreseesReads() {
#if defined(__x86_64__)
  static const bool foresees = __builtin_cpu_is("amdfam19h");
  return foresees;
#else
  return false;
#endif
}

/**
 * Bytes between what is folded and what is fetched meanwhile: a block as long as this one comes from an array that is in no cache, which
 * takes longest to answer.
 */
template <class T> int64_t aheadOf(int64_t rows, int64_t columns) {
  if (foreseesReads()) return 0;
  constexpr int64_t kNear = 4096, kFar = 16384, kLongBlock = 64 << 10;
  return rows * columns * static_cast<int64_t>(sizeof(T)) >= kLongBlock ? kFar : kNear;
}
/** There may be nothing so far ahead, so it is an address and no pointer. */
template <class T> TL_INLINE void fetchAhead(const T* x, int64_t ahead) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(x) + static_cast<uintptr_t>(ahead)));
}

/** Where values come from: memory, or the products of two blocks. */
template <class T> struct Values {
  const T* x;
  int64_t ahead;
  TL_INLINE Full<T> at(int64_t i) const {
    fetchAhead(x + i, ahead);
    return loadVector(x + i);
  }
  TL_INLINE T single(int64_t i) const { return x[i]; }
  TL_INLINE Values from(int64_t i) const { return {x + i, ahead}; }
};
template <class T> struct Products {
  const T *x, *y;
  int64_t ahead;
  TL_INLINE Full<T> at(int64_t i) const {
    fetchAhead(x + i, ahead);
    fetchAhead(y + i, ahead);
    return loadVector(x + i) * loadVector(y + i);
  }
  TL_INLINE T single(int64_t i) const { return x[i] * y[i]; }
  TL_INLINE Products from(int64_t i) const { return {x + i, y + i, ahead}; }
};

/** Columns that are folded in one go, in vectors: then what is read lies side by side. */
constexpr int kAcross = 8;

/**
 * out[column] over `rows` rows that begin `step` apart, for so many vectors of columns, of which the last may have some in common with the
 * one before it.
 */
template <class T, class F, int Width, class From> TL_INLINE void foldDown(int64_t rows, int64_t columns, From x, int64_t step, T* to) {
  constexpr int N = lanesOf<T>;
  const int64_t last = columns - N;
  const auto at = [&](int j) TL_INLINE_LAMBDA { return x.at(j + 1 < Width ? j * N : last); };
  Full<T> sum[Width];
#pragma GCC unroll 8
  for (int j = 0; j < Width; j++) sum[j] = at(j);
  for (int64_t r = 1; r < rows; r++) {
    x = x.from(step);
#pragma GCC unroll 8
    for (int j = 0; j < Width; j++) sum[j] = F::of(sum[j], at(j));
  }
#pragma GCC unroll 8
  for (int j = 0; j < Width; j++) storeVector(to + (j + 1 < Width ? j * N : last), sum[j]);
}
template <class T, class F, int Width, class From> void chooseWidth(int64_t rows, int64_t columns, From x, int64_t step, T* to) {
  if constexpr (Width == 1) foldDown<T, F, 1>(rows, columns, x, step, to);
  else if (columns > (Width - 1) * lanesOf<T>) foldDown<T, F, Width>(rows, columns, x, step, to);
  else chooseWidth<T, F, Width - 1>(rows, columns, x, step, to);
}

/** The same for any number of columns that is at least that of a vector. */
template <class T, class F, class From> void foldLong(int64_t rows, int64_t columns, From x, int64_t step, T* to) {
  constexpr int64_t most = kAcross * lanesOf<T>;
  int64_t c = 0;
  for (; columns - c > most + lanesOf<T>; c += most) foldDown<T, F, kAcross>(rows, most, x.from(c), step, to + c);
  if (columns - c > most) {
    foldDown<T, F, 1>(rows, lanesOf<T>, x.from(c), step, to + c);
    c += lanesOf<T>;
  }
  chooseWidth<T, F, kAcross>(rows, columns - c, x.from(c), step, to + c);
}

/** to[i] = F(to[i], x[i]) for a few elements. */
template <class T, class F> TL_INLINE void foldInto(int64_t n, T* to, const T* x) {
  TL_SHORT_LOOP
  for (int64_t i = 0; i < n; i++) {
    to[i] = F::of(to[i], x[i]);
    TL_KEEP_SCALAR;
  }
}

/** Which lanes of a vector are folded. */
template <class T> using Mask = Full<MaskOf<T>>;
template <class T> TL_INLINE Mask<T> lastLanes(int64_t count) {
  Mask<T> mask;
  for (int i = 0; i < lanesOf<T>; i++) mask[i] = i >= lanesOf<T> - count ? -1 : 0;
  return mask;
}
template <class T, class F> TL_INLINE Full<T> only(Mask<T> mask, Full<T> x) {
  return mask ? x : splat<Full<T>>(F::template nothing<T>);
}

/**
 * A row of at least one vector, folded into one vector: several side by side first, so that errors grow slowly too. What is
 * left at its end, the lanes `end`, is read with some of its neighbours a second time.
 */
template <class T, class F, class From> TL_INLINE Full<T> foldToVector(int64_t n, From x, Mask<T> end) {
  constexpr int64_t N = lanesOf<T>;
  Full<T> sum = x.at(0);
  int64_t done = N;
  if (n >= kBeside * N) {
    Full<T> beside[kBeside];
#pragma GCC unroll 4
    for (int j = 0; j < kBeside; j++) beside[j] = x.at(j * N);
    for (done = kBeside * N; done + kBeside * N <= n; done += kBeside * N)
#pragma GCC unroll 4
      for (int j = 0; j < kBeside; j++) beside[j] = F::of(beside[j], x.at(done + j * N));
    sum = F::of(F::of(beside[0], beside[1]), F::of(beside[2], beside[3]));
  }
  for (; done + N <= n; done += N) sum = F::of(sum, x.at(done));
  return done < n ? F::of(sum, only<T, F>(end, x.at(n - N))) : sum;
}

/** The same for a row of so many vectors, the last of them not whole perhaps. */
template <class T, class F, int Count> TL_INLINE Full<T> foldFew(int64_t n, Values<T> from, Mask<T> end) {
  constexpr int64_t N = lanesOf<T>;
  Full<T> sum = from.at(0);
  for (int j = 1; j < Count - 1; j++) sum = F::of(sum, from.at(j * N));
  return F::of(sum, only<T, F>(end, from.at(n - N)));
}

/** Lane i takes the element place[i]. */
template <class T> TL_INLINE Full<T> spread(Full<T> x, Full<UnsignedOf<T>> place) {
#if defined(__clang__)
  Full<T> r;
  for (int i = 0; i < lanesOf<T>; i++) r[i] = x[place[i]];
  return r;
#else
  return __builtin_shuffle(x, place);
#endif
}
/** Every second element of a and then of b, the first of them or the second. */
template <class T> TL_INLINE Full<T> alternate(Full<T> a, Full<T> b, int first) {
  return picked(a, b, [&](int i) TL_INLINE_LAMBDA { return 2 * i + first; });
}
/** Neighbours folded to one: half as many of a, and then of b. */
template <class T, class F> TL_INLINE Full<T> foldNeighbours(Full<T> a, Full<T> b) {
  return F::of(alternate<T>(a, b, 0), alternate<T>(a, b, 1));
}
/** The vectors at(first), … of which there are `Count`: stretches of as many lanes folded to one each, in their order. */
template <class T, class F, int Count, class At> TL_INLINE Full<T> foldStretches(const At& at, int first = 0) {
  if constexpr (Count == 1) return at(first);
  else return foldNeighbours<T, F>(foldStretches<T, F, Count / 2>(at, first), foldStretches<T, F, Count / 2>(at, first + Count / 2));
}

/** The same for long rows, one after the other from its beginning to its end, as memory likes. */
template <class T, class F> void foldLongColumns(int64_t rows, int64_t columns, const T* x, T* to) {
  constexpr int64_t N = lanesOf<T>;
  const int64_t ahead = aheadOf<T>(rows, columns);
  __builtin_memcpy(to, x, static_cast<size_t>(columns) * sizeof(T));
  for (int64_t r = 1; r < rows; r++) {
    x += columns;
    const auto foldAt = [&](int64_t c, Full<T> before) TL_INLINE_LAMBDA {
      fetchAhead(x + c, ahead);
      return F::of(before, loadVector(x + c));
    };
    // What is left at the end is computed with some of its neighbours a second time.
    const Full<T> end = loadVector(to + columns - N);
    for (int64_t c = 0; c + N <= columns; c += N) storeVector(to + c, foldAt(c, loadVector(to + c)));
    if (columns % N != 0) storeVector(to + columns - N, foldAt(columns - N, end));
  }
}

template <class T, class F> void foldColumns(int64_t rows, int64_t columns, const void* in, void* out) {
  constexpr int64_t kWidth = kAcross * lanesOf<T>, kMany = 64, kLongRow = 256;
  const T* x = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  const int64_t ahead = aheadOf<T>(rows, columns);
  const bool narrow = columns < lanesOf<T> || (columns < kBeside * lanesOf<T> && rows >= kMany);
  if (columns >= kLongRow) return foldLongColumns<T, F>(rows, columns, x, to);
  if (!narrow) return foldLong<T, F>(rows, columns, Values<T>{x, ahead}, columns, to);
  // Short rows: as many whole rows as fit side by side make one long one, which is folded in halves at the end.
  const int64_t together = kWidth / columns < rows ? kWidth / columns : rows;
  const int64_t width = together * columns, rounds = rows / together;
  T wide[kWidth];
  if (width < lanesOf<T>)
    __builtin_memcpy(wide, x, static_cast<size_t>(width) * sizeof(T));
  else
    foldLong<T, F>(rounds, width, Values<T>{x, ahead}, width, wide);
  const int64_t done = width < lanesOf<T> ? 1 : rounds;
  for (int64_t r = done * together; r < rows; r += together) {
    const int64_t more = rows - r < together ? rows - r : together;
    foldInto<T, F>(more * columns, wide, x + r * columns);
  }
  for (int64_t left = together; left > 1; left -= left / 2)
    foldInto<T, F>(left / 2 * columns, wide, wide + (left - left / 2) * columns);
  __builtin_memcpy(to, wide, static_cast<size_t>(columns) * sizeof(T));
}

/** Rows of at least a vector become a vector each, toVector(row), and as many of these as have lanes are folded together. */
template <class T, class F, class ToVector> TL_INLINE void foldVectors(int64_t rows, T* to, const ToVector& toVector) {
  constexpr int64_t N = lanesOf<T>;
  T vectors[N * N];
  const auto vector = [&](int i) { return loadVector(vectors + i * N); };
  int64_t r = 0;
  for (; r + N <= rows; r += N) {
    TL_SHORT_LOOP
    for (int64_t i = 0; i < N; i++) storeVector(vectors + i * N, toVector(r + i));
    storeVector(to + r, foldStretches<T, F, N>(vector));
  }
  TL_SHORT_LOOP
  for (; r < rows; r++) {
    Full<T> sum = toVector(r);
    for (int64_t left = N; left > 1; left /= 2) sum = foldNeighbours<T, F>(sum, sum);
    to[r] = sum[0];
  }
}
template <class T, class F, class From> void foldLongRows(int64_t rows, int64_t columns, From x, T* to) {
  const Mask<T> end = lastLanes<T>(columns % lanesOf<T>);
  foldVectors<T, F>(rows, to, [&](int64_t r) TL_INLINE_LAMBDA { return foldToVector<T, F>(columns, x.from(r * columns), end); });
}
template <class T, class F, int Count> void foldFewVectors(int64_t rows, int64_t columns, Values<T> x, T* to) {
  const Mask<T> end = lastLanes<T>(columns - (Count - 1) * lanesOf<T>);
  foldVectors<T, F>(rows, to, [&](int64_t r) TL_INLINE_LAMBDA { return foldFew<T, F, Count>(columns, x.from(r * columns), end); });
}

/** Rows of more than Room / 2 and at most Room elements, a part of a vector: each gets so much of one. */
template <class T, class F, int Room> void foldShortRows(int64_t rows, int64_t columns, const T* x, T* to) {
  constexpr int N = lanesOf<T>, kBesides = N / Room;
  Full<UnsignedOf<T>> place;
  Mask<T> mask;
  for (int i = 0; i < N; i++) {
    const bool isElement = i % Room < columns;
    place[i] = static_cast<UnsignedOf<T>>(isElement ? i / Room * columns + i % Room : 0);
    mask[i] = isElement ? -1 : 0;
  }
  T last[N * Room + N] = {};
  const int64_t ahead = aheadOf<T>(rows, columns);
  for (int64_t r = 0; r < rows; r += N) {
    const T* from = x + r * columns;
    const bool isWhole = (r + N - kBesides) * columns + N <= rows * columns;
    // At the end there may not be a whole vector to read.
    if (!isWhole) {
      const int64_t left = rows - r < N ? rows - r : N;
      __builtin_memcpy(last, from, static_cast<size_t>(left * columns) * sizeof(T));
      from = last;
    }
    const Full<T> sums = foldStretches<T, F, Room>([&](int i) TL_INLINE_LAMBDA {
      const Full<T> vector = Values<T>{from, ahead}.at(i * kBesides * columns);
      return only<T, F>(mask, kBesides == 1 ? vector : spread<T>(vector, place));
    });
    if (rows - r >= N) {
      storeVector(to + r, sums);
    } else {
      T results[N];
      storeVector(results, sums);
      __builtin_memcpy(to + r, results, static_cast<size_t>(rows - r) * sizeof(T));
    }
  }
}
/** The least room there is. */
template <class T, class F, int Room = 2> TL_INLINE void chooseRoom(int64_t rows, int64_t columns, const T* x, T* to) {
  if constexpr (Room == lanesOf<T>) foldShortRows<T, F, Room>(rows, columns, x, to);
  else if (columns <= Room) foldShortRows<T, F, Room>(rows, columns, x, to);
  else chooseRoom<T, F, 2 * Room>(rows, columns, x, to);
}

/** However many rows there are and wherever one stands, its elements are folded in the same order. */
template <class T, class F> void foldRows(int64_t rows, int64_t columns, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  const Values<T> from{x, aheadOf<T>(rows, columns)};
  switch ((columns + lanesOf<T> - 1) / lanesOf<T>) {
    case 1: return chooseRoom<T, F>(rows, columns, x, to);
    case 2: return foldFewVectors<T, F, 2>(rows, columns, from, to);
    case 3: return foldFewVectors<T, F, 3>(rows, columns, from, to);
    default: return foldLongRows<T, F>(rows, columns, from, to);
  }
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
  const Products<float> from{x, y, aheadOf<float>(rows, columns)};
  if (columns < lanesOf<float>) fewProducts(rows, columns, columns, 1, from, to);
  else foldLongRows<float, Sum>(rows, columns, from, to);
}
void productColumns(int64_t rows, int64_t columns, const float* x, const float* y, float* to) {
  const Products<float> from{x, y, aheadOf<float>(rows, columns)};
  if (columns < lanesOf<float>) fewProducts(columns, rows, 1, columns, from, to);
  else foldLong<float, Sum>(rows, columns, from, columns, to);
}

template <class T, class F> void fill(SimdKernels& k, FoldOp op, Kind kind) {
  k.foldRows[static_cast<int>(op)][static_cast<int>(kind)] = foldRows<T, F>;
  k.foldColumns[static_cast<int>(op)][static_cast<int>(kind)] = foldColumns<T, F>;
}

}  // namespace

void fillFolds(SimdKernels& k) {
  fill<float, Sum>(k, FoldOp::sum, Kind::f32);
  fill<float, Prod>(k, FoldOp::prod, Kind::f32);
  fill<float, Max>(k, FoldOp::max, Kind::f32);
  fill<float, Min>(k, FoldOp::min, Kind::f32);
  fill<double, Sum>(k, FoldOp::sum, Kind::f64);
  fill<double, Prod>(k, FoldOp::prod, Kind::f64);
  fill<double, Max>(k, FoldOp::max, Kind::f64);
  fill<double, Min>(k, FoldOp::min, Kind::f64);
  k.productRows = productRows;
  k.productColumns = productColumns;
  // Sums of integers wrap, whatever their sign.
  fill<uint32_t, Sum>(k, FoldOp::sum, Kind::i32);
  fill<uint32_t, Sum>(k, FoldOp::sum, Kind::u32);
}

}  // namespace tl::TL_SIMD
