/** What windows do with blocks of channels: folds over the points of a window, and spreading gradients over them. */
#include "../simd/extremes.h"

namespace tl::TL_SIMD {
namespace {

/** Positions of points take as much room as the values beside them, so that both fill the same vectors. */
template <int Size> struct PositionOf;
template <> struct PositionOf<4> { using type = int32_t; };
template <> struct PositionOf<8> { using type = int64_t; };
template <class T> using Position = typename PositionOf<sizeof(T)>::type;

/** As many bytes as a register holds. */
#if defined(__AVX512F__)
constexpr int64_t kBytes = 64;
#elif defined(__AVX__)
constexpr int64_t kBytes = 32;
#else
constexpr int64_t kBytes = 16;
#endif
template <class T> struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T> using Vector = typename VectorOf<T>::type;
template <class T> constexpr int64_t kWidth = kBytes / static_cast<int64_t>(sizeof(T));

/** One step of a loop, on a vector or, for what is left over, on a single element. */
template <class T> struct Lanes {
  using Values = Vector<T>;
  using Positions = Vector<Position<T>>;
  template <class V, class From> static TL_INLINE V load(const From* at) {
    V v;
    __builtin_memcpy(&v, at, sizeof(V));
    return v;
  }
  template <class V, class To> static TL_INLINE void store(To* at, V v) { __builtin_memcpy(at, &v, sizeof(V)); }
  static TL_INLINE Values all(T x) { return x - Values{}; }
  static TL_INLINE Values absolute(Values x) { return x < 0 ? -x : x; }
};
template <class T> struct Single {
  using Values = T;
  using Positions = Position<T>;
  template <class V, class From> static TL_INLINE V load(const From* at) { return *at; }
  template <class V, class To> static TL_INLINE void store(To* at, V v) { *at = v; }
  static TL_INLINE Values all(T x) { return x; }
  static TL_INLINE Values absolute(Values x) { return x < 0 ? -x : x; }
};

/** Runs a step at every vector of [0, n), then at every element that is left. */
template <class T, template <class, class> class Step> void each(const WindowArgs& a) {
  int64_t i = 0;
  for (; i + kWidth<T> <= a.n; i += kWidth<T>) Step<T, Lanes<T>>::at(a, i);
  TL_SHORT_LOOP
  for (; i < a.n; i++) {
    Step<T, Single<T>>::at(a, i);
    TL_KEEP_SCALAR;
  }
}

template <class T> TL_INLINE const T* point(const WindowArgs& a, int64_t p) { return static_cast<const T*>(a.points[p]); }
template <class T> TL_INLINE T* target(const WindowArgs& a, int64_t p) { return static_cast<T*>(a.targets[p]); }
template <class T> TL_INLINE const T* pooled(const WindowArgs& a, int k) { return static_cast<const T*>(a.pooled[k]); }

/** A fold begins with `start`, or goes on from what is there. */
template <class T, class L> TL_INLINE typename L::Values begun(const WindowArgs& a, int64_t i) {
  using V = typename L::Values;
  if (a.start) return L::all(*static_cast<const T*>(a.start));
  return L::template load<V>(static_cast<const T*>(a.out) + i);
}

template <class T, class L> struct Max {
  static TL_INLINE void at(const WindowArgs& a, int64_t i) {
    using V = typename L::Values;
    V best = begun<T, L>(a, i);
    TL_SHORT_LOOP
    for (int64_t p = 0; p < a.count; p++) {
      const V x = L::template load<V>(point<T>(a, p) + i);
      best = larger(x, best);
    }
    L::store(static_cast<T*>(a.out) + i, best);
  }
};

/** The sum, divided by `divisor` unless that is 0. */
template <class T, class L> struct Sum {
  static TL_INLINE void at(const WindowArgs& a, int64_t i) {
    using V = typename L::Values;
    V sum = begun<T, L>(a, i);
    TL_SHORT_LOOP
    for (int64_t p = 0; p < a.count; p++) sum = sum + L::template load<V>(point<T>(a, p) + i);
    if (a.divisor != 0) sum = sum / L::all(static_cast<T>(a.divisor));
    L::store(static_cast<T*>(a.out) + i, sum);
  }
};

/** The first maximum, its value in `out` and its number in `position`; the first of all points begins both. */
template <class T, class L> struct ArgMax {
  static TL_INLINE void at(const WindowArgs& a, int64_t i) {
    using V = typename L::Values;
    using P = typename L::Positions;
    T* out = static_cast<T*>(a.out) + i;
    Position<T>* position = static_cast<Position<T>*>(a.position) + i;
    const bool begins = a.first == 0;
    V best = L::template load<V>(begins ? point<T>(a, 0) + i : out);
    P number = begins ? P{} : L::template load<P>(position);
    P here = P{} + static_cast<Position<T>>(a.first + begins);
    TL_SHORT_LOOP
    for (int64_t p = begins; p < a.count; p++, here = here + 1) {
      const V x = L::template load<V>(point<T>(a, p) + i);
      number = x > best ? here : number;
      best = x > best ? x : best;
    }
    L::store(out, best);
    L::store(position, number);
  }
};

/** The gradient gets dy at the point that `position` names; `out` is the maximum there. */
template <class T, class L> struct Spread {
  static TL_INLINE void at(const WindowArgs& a, int64_t i) {
    using V = typename L::Values;
    using P = typename L::Positions;
    V dy = L::template load<V>(pooled<T>(a, 0) + i);
    if (a.positive) dy = L::template load<V>(static_cast<const T*>(a.out) + i) > 0 ? dy : dy * T{0};
    const P number = L::template load<P>(static_cast<const Position<T>*>(a.position) + i);
    P here = P{} + static_cast<Position<T>>(a.first);
    TL_SHORT_LOOP
    for (int64_t p = 0; p < a.count; p++, here = here + 1) {
      T* to = target<T>(a, p) + i;
      L::store(to, L::template load<V>(to) + (number == here ? dy : V{}));
    }
  }
};

/** The gradient gets dy where x is near the pooled value. */
template <class T, class L> struct Near {
  static TL_INLINE void at(const WindowArgs& a, int64_t i) {
    using V = typename L::Values;
    const V y = L::template load<V>(pooled<T>(a, 0) + i), dy = L::template load<V>(pooled<T>(a, 1) + i);
    const V close = L::all(static_cast<T>(1e-5));
    TL_SHORT_LOOP
    for (int64_t p = 0; p < a.count; p++) {
      T* to = target<T>(a, p) + i;
      const V distance = L::absolute(L::template load<V>(point<T>(a, p) + i) - y);
      L::store(to, L::template load<V>(to) + (distance < close ? dy : V{}));
    }
  }
};

/** The gradient gets the same share of dy at every point. */
template <class T, class L> struct Share {
  static TL_INLINE void at(const WindowArgs& a, int64_t i) {
    using V = typename L::Values;
    const V part = L::template load<V>(pooled<T>(a, 0) + i) * L::all(static_cast<T>(1.0 / a.divisor));
    TL_SHORT_LOOP
    for (int64_t p = 0; p < a.count; p++) {
      T* to = target<T>(a, p) + i;
      L::store(to, L::template load<V>(to) + part);
    }
  }
};

/** The `targets` at the first point that equals the pooled value. Points go last to first, so that the first one stays. */
template <class T, class L> struct Pick {
  static TL_INLINE void at(const WindowArgs& a, int64_t i) {
    using V = typename L::Values;
    const V y = L::template load<V>(pooled<T>(a, 0) + i);
    V found = begun<T, L>(a, i);
    TL_SHORT_LOOP
    for (int64_t p = a.count - 1; p >= 0; p--) {
      const V g = L::template load<V>(static_cast<const T*>(target<T>(a, p)) + i);
      found = L::template load<V>(point<T>(a, p) + i) == y ? g : found;
    }
    L::store(static_cast<T*>(a.out) + i, found);
  }
};

/** Most windows are two by two: their steps are compiled for this size, others for any. */
constexpr int64_t kUsual = 2, kAnySize = 0;

/** Runs a step for every window of a row, at every vector of channels, then at every channel that is left. */
template <class T, template <class, class, int64_t> class Step> void eachWindow(const WindowRow& a) {
  for (int64_t w = 0; w < a.windows; w++) {
    int64_t i = 0;
    if (a.rowCount == kUsual && a.spans[w][1] - a.spans[w][0] == kUsual)
      for (; i + kWidth<T> <= a.n; i += kWidth<T>) Step<T, Lanes<T>, kUsual>::at(a, w, i);
    else
      for (; i + kWidth<T> <= a.n; i += kWidth<T>) Step<T, Lanes<T>, kAnySize>::at(a, w, i);
    TL_SHORT_LOOP
    for (; i < a.n; i++) {
      Step<T, Single<T>, kAnySize>::at(a, w, i);
      TL_KEEP_SCALAR;
    }
  }
}

template <class T> TL_INLINE const T* along(const char* row, int64_t step, int64_t at, int64_t i) {
  return reinterpret_cast<const T*>(row + step * at) + i;
}

/** Calls f(r, k) for the points [begin, end) of the given rows, in order. */
template <int64_t Size, class F> TL_INLINE void eachPoint(int64_t first, int64_t last, int64_t begin, int64_t end, F f) {
  if constexpr (Size == kUsual) {
#pragma GCC unroll 2
    for (int64_t r = 0; r < Size; r++)
#pragma GCC unroll 2
      for (int64_t k = 0; k < Size; k++) f(r, begin + k);
  } else {
    TL_SHORT_LOOP
    for (int64_t r = first; r < last; r++) {
      TL_SHORT_LOOP
      for (int64_t k = begin; k < end; k++) f(r, k);
    }
  }
}

/** The fold of a window by F, which gets what there is and the next value. */
template <class T, class L, int64_t Size, class F>
TL_INLINE typename L::Values foldWindow(const WindowRow& a, int64_t w, int64_t i, F f) {
  using V = typename L::Values;
  V value = L::all(*static_cast<const T*>(a.start));
  eachPoint<Size>(0, a.rowCount, a.spans[w][0], a.spans[w][1], [&](int64_t r, int64_t k) {
    value = f(value, L::template load<V>(along<T>(a.rows[r], a.step, k, i)));
  });
  return value;
}
template <class T> TL_INLINE T* pooledOut(const WindowRow& a, int64_t w, int64_t i) {
  return reinterpret_cast<T*>(a.out + a.outStep * w) + i;
}

template <class T, class L, int64_t Size> struct MaxOf {
  static TL_INLINE void at(const WindowRow& a, int64_t w, int64_t i) {
    using V = typename L::Values;
    L::store(pooledOut<T>(a, w, i), foldWindow<T, L, Size>(a, w, i, [](V best, V x) { return larger(x, best); }));
  }
};
template <class T, class L, int64_t Size> struct SumOf {
  static TL_INLINE void at(const WindowRow& a, int64_t w, int64_t i) {
    using V = typename L::Values;
    L::store(pooledOut<T>(a, w, i), foldWindow<T, L, Size>(a, w, i, [](V sum, V x) { return sum + x; }));
  }
};
template <class T, class L, int64_t Size> struct MeanOf {
  static TL_INLINE void at(const WindowRow& a, int64_t w, int64_t i) {
    using V = typename L::Values;
    const int64_t count = a.rowCount * (a.spans[w][1] - a.spans[w][0]);
    const V sum = foldWindow<T, L, Size>(a, w, i, [](V total, V x) { return total + x; });
    L::store(pooledOut<T>(a, w, i), count > 0 ? sum / L::all(static_cast<T>(count)) : sum);
  }
};

/** Gives every target of a window what `part` says. */
template <class T, class L, int64_t Size, class Part> TL_INLINE void eachTarget(const WindowRow& a, int64_t w, int64_t i, Part part) {
  using V = typename L::Values;
  eachPoint<Size>(a.firstTarget, a.lastTarget, a.spans[w][0], a.spans[w][1], [&](int64_t r, int64_t k) {
    T* const to = reinterpret_cast<T*>(a.targets[r] + a.targetStep * k) + i;
    const V more = part();
    L::store(to, a.alone ? more : L::template load<V>(to) + more);
  });
}
/** Whether a window's targets are all its points. */
inline bool hasAllTargets(const WindowRow& a) { return a.firstTarget == 0 && a.lastTarget == a.rowCount; }

/** The gradient of a maximum: the window's first maximum is found, and gets dy. */
template <class T, class L, int64_t Size> struct SpreadOf {
  static TL_INLINE void at(const WindowRow& a, int64_t w, int64_t i) {
    using V = typename L::Values;
    using P = typename L::Positions;
    const int64_t begin = a.spans[w][0], end = a.spans[w][1];
    if (begin == end) return;
    V best = L::template load<V>(along<T>(a.rows[0], a.step, begin, i));
    P number = P{}, here = P{};
    eachPoint<Size>(0, a.rowCount, begin, end, [&](int64_t r, int64_t k) {
      const T* const from = along<T>(a.rows[r], a.step, k, i);
      __builtin_prefetch(reinterpret_cast<const char*>(from) + a.ahead);
      const V x = L::template load<V>(from);
      number = x > best ? here : number;
      best = x > best ? x : best;
      here = here + 1;
    });
    V dy = L::template load<V>(along<T>(a.pooled, a.pooledStep, w, i));
    if (a.positive) dy = best > 0 ? dy : dy * T{0};
    const auto next = [&] {
      const V more = number == here ? dy : V{};
      here = here + 1;
      return more;
    };
    here = P{} + static_cast<Position<T>>(a.firstTarget * (end - begin));
    if (hasAllTargets(a)) eachTarget<T, L, Size>(a, w, i, next);
    else eachTarget<T, L, kAnySize>(a, w, i, next);
  }
};

/** The gradient of a mean: every point gets the same share of dy. */
template <class T, class L, int64_t Size> struct ShareOf {
  static TL_INLINE void at(const WindowRow& a, int64_t w, int64_t i) {
    using V = typename L::Values;
    const int64_t count = a.rowCount * (a.spans[w][1] - a.spans[w][0]);
    const V dy = L::template load<V>(along<T>(a.pooled, a.pooledStep, w, i));
    const V part = dy * L::all(static_cast<T>(1.0 / static_cast<double>(count)));
    const auto next = [&] { return part; };
    if (hasAllTargets(a)) eachTarget<T, L, Size>(a, w, i, next);
    else eachTarget<T, L, kAnySize>(a, w, i, next);
  }
};

template <class T, class L> struct Divide {
  static TL_INLINE void at(const WindowArgs& a, int64_t i) {
    using V = typename L::Values;
    T* out = static_cast<T*>(a.out) + i;
    L::store(out, L::template load<V>(out) / L::all(static_cast<T>(a.divisor)));
  }
};

/** Sums of integers wrap, so signed ones are added as unsigned; only dividing needs the sign. */
template <class T, class Unsigned> void integerMean(const WindowArgs& a) {
  WindowArgs sum = a;
  sum.divisor = 0;
  each<Unsigned, Sum>(sum);
  if (a.divisor != 0) each<T, Divide>(a);
}

template <class T, class Unsigned> WindowKernels kernelsOf() {
  WindowKernels k = {};
  k.max = each<T, Max>;
  k.sum = each<Unsigned, Sum>;
  k.mean = integerMean<T, Unsigned>;
  k.argmax = each<T, ArgMax>;
  k.spread = each<Unsigned, Spread>;
  k.pick = each<T, Pick>;
  k.maxRow = eachWindow<T, MaxOf>;
  k.sumRow = eachWindow<Unsigned, SumOf>;
  return k;
}
template <class T> WindowKernels floatKernelsOf() {
  WindowKernels k = kernelsOf<T, T>();
  k.mean = each<T, Sum>;
  k.meanRow = eachWindow<T, MeanOf>;
  k.spreadRow = eachWindow<T, SpreadOf>;
  k.shareRow = eachWindow<T, ShareOf>;
  k.near = each<T, Near>;
  k.share = each<T, Share>;
  return k;
}

}  // namespace

void fillWindow(SimdKernels& k) {
  k.window[static_cast<int>(Kind::f32)] = floatKernelsOf<float>();
  k.window[static_cast<int>(Kind::f64)] = floatKernelsOf<double>();
  k.window[static_cast<int>(Kind::i32)] = kernelsOf<int32_t, uint32_t>();
  k.window[static_cast<int>(Kind::i64)] = kernelsOf<int64_t, uint64_t>();
  k.window[static_cast<int>(Kind::u32)] = kernelsOf<uint32_t, uint32_t>();
  k.window[static_cast<int>(Kind::u64)] = kernelsOf<uint64_t, uint64_t>();
}

}  // namespace tl::TL_SIMD
