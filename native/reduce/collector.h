/** Collecting the results of folds over parts of an array. */
#pragma once
#include <cstring>

#include "../core/view.h"
#include "../simd/kernels.h"

namespace tl {

/** The fold behind a reduction that is no search for a position. */
inline FoldOp foldOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return FoldOp::sum;
    case ReduceOp::prod: return FoldOp::prod;
    case ReduceOp::max: case ReduceOp::any: return FoldOp::max;
    default: return FoldOp::min;
  }
}

/** What box results of a kind are collected in: sums and products of floats in a wider type. */
inline Kind wideOf(FoldOp op, Kind kind) {
  const bool ordered = op == FoldOp::max || op == FoldOp::min;
  return ordered ? kind : kind == Kind::f32 ? Kind::f64 : kind == Kind::c64 ? Kind::c128 : kind;
}

/** Collects n results in the wide kind, and brings them back. */
class Collector {
 public:
  Collector(FoldOp op, Kind kind) : kind_(kind), wide_(wideOf(op, kind)) {
    constexpr Op joins[] = {Op::add, Op::mul, Op::max, Op::min};
    const int join = static_cast<int>(joins[static_cast<int>(op)]);
    near_ = simd().ops[join][static_cast<int>(kind_)];
    far_ = simd().ops[join][static_cast<int>(wide_)];
    if (!near_ || !far_) refuse("a reduction is not defined for its type");
    const bool real = kind == Kind::f32 || kind == Kind::f64 || kind == Kind::c64 || kind == Kind::c128;
    addsZero_ = op == FoldOp::sum && real;
  }

  /** Bytes of a result in the wide kind. */
  int64_t wideBytes() const { return sizeOf(wide_); }

  /** near[i] = F(near[i], more[i]), in the narrow kind. */
  void join(int64_t n, void* near, const void* more) const { near_(n, {near, {near, more}, {1, 1}, 0, nullptr}); }
  /** The same in the wide kind. */
  void joinWide(int64_t n, void* wide, const void* more) const { far_(n, {wide, {wide, more}, {1, 1}, 0, nullptr}); }

  /** Folds narrow results into wide ones, or begins with them. */
  void take(int64_t n, bool first, const void* results, char* wide, char* spare) const {
    convert(kind_, wide_, n, results, first ? wide : spare);
    if (!first) joinWide(n, wide, spare);
  }
  void give(int64_t n, const void* wide, void* results) const { convert(wide_, kind_, n, wide, results); }

  /** Sums of more than one number begin with 0 in TensorFlow, so that those of -0 are 0. Here it is added last. */
  void settle(int64_t n, void* results) const {
    alignas(64) static constexpr char kZeros[kLanes * 16] = {};
    if (addsZero_) near_(n, {results, {results, kZeros}, {1, 0}, 0, nullptr});
  }

 private:
  static void convert(Kind from, Kind to, int64_t n, const void* in, void* out) {
    if (from == to)
      std::memcpy(out, in, static_cast<size_t>(n * sizeOf(from)));
    else
      simd().casts[static_cast<int>(from)][static_cast<int>(to)](n, {out, {in}, {1}, 0, nullptr});
  }

  Kind kind_, wide_;
  BlockFn near_, far_;
  bool addsZero_;
};

}  // namespace tl
