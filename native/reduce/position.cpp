/** Positions of extremes along an axis. */
#include <algorithm>
#include <type_traits>

#include "boxes.h"

namespace tl {
namespace {

/** Elements of a row that are compared at once, and that a row has at least for two passes with vectors to be faster than one without. */
constexpr int64_t kAtOnce = 64, kLeastRow = 48;

/** Where x, which is one of `n` elements, is first. */
template <class T> int64_t firstOf(T x, const T* in, int64_t n) {
  int64_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    using Mark = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;  // as wide as what is compared, for vectors
    Mark found = 0;
    for (int64_t k = 0; k < kAtOnce; k++) found |= static_cast<Mark>(in[i + k] == x);
    if (found) break;
  }
  while (in[i] != x) i++;
  return i;
}

/** Positions of extremes: updates (best, position) with a block that begins at `base` along the folded axis. */
struct BestArgs {
  int64_t outer, inner, base;
  bool innerFolded, first, largest;
  /** Gives the extreme of a row, or NaN if there is one; null for types that it is not faster for. */
  FoldFn fold;
  const void* values;
  void* best;
  int64_t* position;
};
template <class T> void foldBest(const BestArgs& a) {
  const T* x = static_cast<const T*>(a.values);
  T* best = static_cast<T*>(a.best);
  // NaN beats nothing, and loses even where it came first.
  const auto beats = [&](T value, T champion) {
    return (a.largest ? value > champion : value < champion) || (champion != champion && value == value);
  };
  if (a.innerFolded) {
    for (int64_t r = 0; r < a.outer; r++, x += a.inner) {
      T champion = a.first ? x[0] : best[r];
      int64_t position = a.first ? 0 : a.position[r];
      int64_t unseen = 0;
      if (a.fold && a.inner >= kLeastRow) {
        T extreme;
        a.fold(1, a.inner, x, &extreme);
        if (beats(extreme, champion)) {
          champion = extreme;
          position = a.base + firstOf(extreme, x, a.inner);
        }
        // With NaN among them each must be looked at.
        if (extreme == extreme) unseen = a.inner;
      }
      for (int64_t i = unseen; i < a.inner; i++)
        if (beats(x[i], champion)) {
          champion = x[i];
          position = a.base + i;
        }
      best[r] = champion;
      a.position[r] = position;
    }
    return;
  }
  if (a.first) {
    std::copy(x, x + a.inner, best);
    std::fill(a.position, a.position + a.inner, int64_t{0});
  }
  for (int64_t r = 0; r < a.outer; r++, x += a.inner)
    for (int64_t c = 0; c < a.inner; c++) {
      const bool wins = beats(x[c], best[c]);
      best[c] = wins ? x[c] : best[c];
      a.position[c] = wins ? a.base + r : a.position[c];
    }
}
using FindFn = void (*)(const BestArgs&);
FindFn bestFor(Kind kind) {
  switch (kind) {
    case Kind::f32: return foldBest<float>;
    case Kind::f64: return foldBest<double>;
    case Kind::i32: return foldBest<int32_t>;
    case Kind::i64: return foldBest<int64_t>;
    case Kind::u32: return foldBest<uint32_t>;
    case Kind::u64: return foldBest<uint64_t>;
    case Kind::b8: return foldBest<uint8_t>;
    default: refuse("complex numbers have no order");
  }
}

class FindPosition final : public BoxReduction {
 public:
  FindPosition(const Expression& e, const Layout& layout, int64_t result, const Operand& output, bool largest)
      : BoxReduction(e, layout, result, output, false), largest_(largest), find_(bestFor(kind_)) {
    const FoldOp extreme = largest ? FoldOp::max : FoldOp::min;
    if (kind_ == Kind::f32 || kind_ == Kind::f64) fold_ = simd().foldRows[static_cast<int>(extreme)][static_cast<int>(kind_)];
  }

  Failure run(void* const* table) override {
    int32_t failure = 0;
    const int64_t boxes = kept_.boxes();
    const int64_t parts = std::min(boxes, Pool::get().parts(work_, kFoldGrain));
    Pool::get().run(parts, [&](int64_t part) {
      char* scratch = Pool::scratch(4 * kRegister + body_->scratchBytes());
      Body::Run run(*body_, table, scratch + 4 * kRegister, &failure);
      const Range range = rangeOf(part, parts, boxes);
      Box kept = boxAt(kept_, range.begin);
      for (int64_t b = range.begin; b < range.end; b++, advance(kept_, kept)) findIn(table, run, kept, scratch);
    });
    Failure result;
    result.code = static_cast<FailureCode>(failure);
    return result;
  }

 private:
  void findIn(void* const* table, Body::Run& run, const Box& kept, char* scratch) {
    char* spare = scratch + 2 * kRegister;
    BestArgs args;
    args.best = scratch;
    args.position = reinterpret_cast<int64_t*>(scratch + kRegister);
    args.innerFolded = innerFolded_;
    args.largest = largest_;
    args.fold = fold_;
    Box folded = boxAt(folded_, 0);
    for (int64_t i = 0, n = folded_.boxes(); i < n; i++, advance(folded_, folded)) {
      const Box box = meet(kept, folded);
      args.values = values(run, box, spare);
      args.outer = innerFolded_ ? kept.points : folded.points;
      args.inner = box.points / args.outer;
      args.first = i == 0;
      args.base = 0;
      for (int d = 0; d < space_.rank; d++)
        if (space_.mark[d]) args.base = folded.start[d];
      find_(args);
    }
    if (output_.dtype == DType::i64) {
      store(table, kept, copyOf(8), reinterpret_cast<char*>(args.position), 8);
      return;
    }
    int32_t* narrow = reinterpret_cast<int32_t*>(spare);
    for (int64_t i = 0; i < kept.points; i++) narrow[i] = static_cast<int32_t>(args.position[i]);
    store(table, kept, copyOf(4), spare, 4);
  }

  bool largest_;
  FindFn find_;
  FoldFn fold_ = nullptr;
};

}  // namespace

InstructionPtr makePosition(const Expression& e, const Layout& layout, int64_t result, const Operand& output, bool largest) {
  return make<FindPosition>(e, layout, result, output, largest);
}

}  // namespace tl
