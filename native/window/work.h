/**
 * The work of one thread on a `window` instruction.
 *
 * Vectors go along the channels of a point, which usually lie side by side: a kernel keeps a vector of channels in
 * registers while it walks over the points of a window. In the usual case it does so for all windows of a row in one
 * call. Where channels do not lie side by side, or are of a type that registers do not hold, work goes window by window
 * and the points are loaded into scratch memory first. Folds of single-channel images (LRN, NCHW) are instead vectorized
 * along the last axis.
 */
#pragma once
#include <algorithm>
#include <cstring>

#include "plan.h"

namespace tl {

constexpr int64_t kBlock = 256;  // channels at a time
constexpr int64_t kPoints = 32;  // points at a time, where they are loaded into scratch memory

/** What one thread needs: its place in the pooled image, and scratch memory. */
class WindowWork {
 public:
  WindowWork(const WindowPlan& w, void* const* table, const WindowSpans& spans)
      : w_(w), table_(table), spans_(spans), at_(w.axes), offsets_(w.inputs.size() + 1), lines_(w.inputs.size() + 1),
        alone_(w.rowKernel && isPartition(spans, w.image)) {}

  void pooledRow(int64_t n, int64_t row) {
    if (w_.rowKernel) return eachWindow(row, w_.axes - 1, [&] { foldWindows(n); });
    if (w_.byRows) return eachWindow(row, w_.axes - 1, [&] { foldRow(n); });
    eachWindow(row, w_.axes, [&] { foldWindow(n); });
  }

  void gradientRows(int64_t n, Range rows) {
    // Rows are cleared just before the first window that adds to them, while they are on their way into the cache.
    int64_t cleared = rows.begin;
    const auto clearTo = [&](int64_t end) {
      for (; !alone_ && cleared < std::min(end, rows.end); cleared++) clearRow(n, cleared);
    };
    for (int64_t o = 0; o < w_.pooled[0]; o++) {
      const Range span = spans_[0][static_cast<size_t>(o)];
      const Range own = {std::max(span.begin, rows.begin), std::min(span.end, rows.end)};
      if (own.begin >= own.end) continue;
      clearTo(own.end);
      if (w_.rowKernel)
        eachWindow(o, w_.axes - 1, [&] { spreadWindows(n, span, own); });
      else
        eachWindow(o, w_.axes, [&] { spreadWindow(n, span, own); });
    }
    clearTo(rows.end);
  }

 private:
  /** Calls `visit` with `at_` on every window whose first coordinate is `row`, over the first `axes` axes. */
  template <class Visit> void eachWindow(int64_t row, size_t axes, Visit visit) {
    std::fill(at_.begin(), at_.end(), 0);
    at_[0] = row;
    for (size_t axis = 1; axis < axes; axis++)
      if (w_.pooled[axis] == 0) return;
    for (;;) {
      visit();
      size_t axis = axes;
      for (;;) {
        if (axis <= 1) return;
        axis--;
        if (++at_[axis] < w_.pooled[axis]) break;
        at_[axis] = 0;
      }
    }
  }

  Range span(size_t axis) const { return spans_[axis][static_cast<size_t>(at_[axis])]; }

  /**
   * The points of the window at `at_` in an operand of the image's size, over the first `axes` axes, row-major, in bytes
   * from its batch. Gives their number.
   */
  int64_t pointsOf(const Operand& o, size_t slot, size_t axes) {
    int64_t count = 1;
    for (size_t axis = 0; axis < axes; axis++) count *= span(axis).end - span(axis).begin;
    std::vector<int64_t>& points = offsets_[slot];
    if (static_cast<int64_t>(points.size()) < count) points.resize(static_cast<size_t>(count));
    if (count == 0) return 0;
    points[0] = 0;
    // Every axis repeats what the axes before it gave, from the end, so that nothing is overwritten before it is read.
    int64_t made = 1;
    for (size_t axis = 0; axis < axes; axis++) {
      const Range range = span(axis);
      const int64_t step = o.stride(axis) * o.size, length = range.end - range.begin;
      int64_t* const p = points.data();
      for (int64_t i = made - 1; i >= 0; i--) {
        const int64_t base = p[i] + range.begin * step;
        for (int64_t k = length - 1; k >= 0; k--) p[i * length + k] = base + k * step;
      }
      made *= length;
    }
    return count;
  }

  /** Where the pooled point at `at_` is in an operand of the pooled image's size. */
  char* pooledAt(const Operand& o, int64_t n) const {
    int64_t offset = 0;
    for (size_t axis = 0; axis < w_.axes; axis++) offset += at_[axis] * o.stride(axis);
    return o.base(table_, n) + offset * o.size;
  }

  /** Pointers to a block of channels at some points, loaded into scratch memory where kernels cannot use them in place. */
  void** linesOf(const Operand& o, size_t slot, char* base, const WindowArgs& args, int64_t c) {
    std::vector<void*>& lines = lines_[slot];
    if (static_cast<int64_t>(lines.size()) < args.count) lines.resize(static_cast<size_t>(args.count));
    void** const line = lines.data();
    const int64_t* const points = offsets_[slot].data() + args.first;
    char* const from = base + c * o.channelStep * o.size;
    if (o.direct) {
      for (int64_t p = 0; p < args.count; p++) line[p] = from + points[p];
      return line;
    }
    char* const scratch = scratchOf(slot);
    for (int64_t p = 0; p < args.count; p++) {
      line[p] = scratch + p * kBlock * kWidest;
      o.load(args.n, line[p], 1, from + points[p], o.channelStep);
    }
    return line;
  }

  char* scratchOf(size_t slot) {
    if (scratch_.empty()) scratch_.resize(lines_.size());
    std::vector<char>& memory = scratch_[slot];
    if (memory.empty()) memory.resize(static_cast<size_t>(kPoints * kBlock * kWidest) + 64);
    return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~uintptr_t{63});
  }

  /** A block of channels of a pooled point, for reading. */
  const void* pooledLine(const Operand& o, char* at, int64_t c, int64_t n, void* scratch) const {
    char* const from = at + c * o.channelStep * o.size;
    if (o.direct) return from;
    o.load(n, scratch, 1, from, o.channelStep);
    return scratch;
  }

  /** Sets the points of `args` to pieces that scratch memory has room for, to all at once if it is not needed. */
  template <class Visit> static void inPieces(WindowArgs& args, int64_t begin, int64_t end, bool whole, Visit visit) {
    const int64_t most = whole ? end - begin : kPoints;
    for (args.first = begin; args.first < end; args.first += most) {
      args.count = std::min(most, end - args.first);
      visit();
    }
  }

  /** What row kernels need to know of the windows whose outer coordinates are in `at_`. */
  WindowRow rowOf(const Operand& x, int64_t n, const Operand& pooled) {
    const size_t last = w_.axes - 1;
    WindowRow row = {};
    row.n = w_.channels;
    row.windows = w_.pooled[last];
    row.spans = reinterpret_cast<const int64_t(*)[2]>(spans_[last].data());
    row.rowCount = pointsOf(x, 0, last);
    row.rows = rowPointers(0, x.base(table_, n), row.rowCount);
    row.ahead = (span(0).end - span(0).begin) * x.stride(0) * x.size;
    row.step = x.stride(last) * x.size;
    row.start = w_.start;
    row.pooled = row.out = pooledAt(pooled, n);
    row.pooledStep = row.outStep = pooled.stride(last) * pooled.size;
    return row;
  }

  char** rowPointers(size_t slot, char* base, int64_t count) {
    std::vector<void*>& lines = lines_[slot];
    if (static_cast<int64_t>(lines.size()) < count) lines.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; i++) lines[static_cast<size_t>(i)] = base + offsets_[slot][static_cast<size_t>(i)];
    return reinterpret_cast<char**>(lines.data());
  }

  void foldWindows(int64_t n) { w_.rowKernel(rowOf(w_.inputs[0], n, w_.output)); }

  /** As `spreadWindow`, for all windows along the last axis. */
  void spreadWindows(int64_t n, Range span, Range own) {
    const Operand& dx = w_.output;
    const size_t slot = w_.inputs.size(), last = w_.axes - 1;
    // A mean has no image to look at; the gradient's own rows have the same shape.
    WindowRow row = rowOf(w_.ofMax ? w_.inputs[0] : dx, n, w_.inputs.back());
    if (row.rowCount == 0) return;
    pointsOf(dx, slot, last);
    const int64_t perRow = row.rowCount / (span.end - span.begin);
    row.targets = rowPointers(slot, dx.base(table_, n), row.rowCount);
    row.targetStep = dx.stride(last) * dx.size;
    row.firstTarget = (own.begin - span.begin) * perRow;
    row.lastTarget = (own.end - span.begin) * perRow;
    row.positive = w_.positive;
    row.alone = alone_;
    w_.rowKernel(row);
  }

  void foldWindow(int64_t n) {
    const Operand& x = w_.inputs[0];
    const int64_t count = pointsOf(x, 0, w_.axes);
    char* const base = x.base(table_, n);
    char* const to = pooledAt(w_.output, n);
    const bool pick = w_.op == WindowOp::pick;
    const Operand* g = pick ? &w_.inputs[2] : nullptr;
    if (pick) pointsOf(*g, 2, w_.axes);
    const bool inPlace = w_.output.direct && w_.op != WindowOp::argmax;
    const bool whole = x.direct && (!pick || g->direct);
    const int64_t piece = whole ? std::max<int64_t>(count, 1) : kPoints, pieces = std::max<int64_t>((count + piece - 1) / piece, 1);
    for (int64_t c = 0; c < w_.channels; c += kBlock) {
      WindowArgs args = {};
      args.n = std::min(kBlock, w_.channels - c);
      char* const target = to + c * w_.output.channelStep * w_.output.size;
      args.out = inPlace ? target : out_;
      args.position = position_;
      if (pick) args.pooled[0] = pooledLine(w_.inputs[1], pooledAt(w_.inputs[1], n), c, args.n, line_[0]);
      for (int64_t i = 0; i < pieces; i++) {
        // Picking wants the first equal point, so pieces come from the end, each overwriting what later ones found.
        args.first = (pick ? pieces - 1 - i : i) * piece;
        args.count = std::min(piece, count - args.first);
        args.start = i == 0 ? w_.start : nullptr;
        args.divisor = i + 1 == pieces && w_.op == WindowOp::mean ? static_cast<double>(count) : 0;
        args.points = linesOf(x, 0, base, args, c);
        if (pick) args.targets = linesOf(*g, 2, g->base(table_, n), args, c);
        if (count > 0 || w_.op != WindowOp::argmax) kernel()(args);
      }
      if (w_.op == WindowOp::argmax)
        storePositions(args.n, count, target);
      else if (!inPlace)
        w_.output.store(args.n, target, w_.output.channelStep, out_, 1);
    }
  }

  WindowFn kernel() const {
    switch (w_.op) {
      case WindowOp::max: return w_.kernels.max;
      case WindowOp::argmax: return w_.kernels.argmax;
      case WindowOp::pick: return w_.kernels.pick;
      case WindowOp::mean: return w_.kernels.mean;
      default: return w_.kernels.sum;
    }
  }

  /** Numbers within windows as positions in the image. */
  void storePositions(int64_t n, int64_t count, char* target) const {
    const Operand& to = w_.output;
    for (int64_t i = 0; i < n; i++) {
      int64_t number = sizeOf(w_.kind) == 4 ? reinterpret_cast<const int32_t*>(position_)[i]
                                             : reinterpret_cast<const int64_t*>(position_)[i];
      int64_t flat = count == 0 ? -1 : 0, step = 1;
      for (size_t axis = w_.axes; axis-- > 0 && count > 0;) {
        const Range range = span(axis);
        flat += (range.begin + number % (range.end - range.begin)) * step;
        number /= range.end - range.begin;
        step *= w_.image[axis];
      }
      *reinterpret_cast<int64_t*>(target + i * to.channelStep * to.size) = flat;
    }
  }

  /** A pooled row at once: first the rows of the image that its windows share, element by element, then along the row. */
  void foldRow(int64_t n) {
    const Operand& x = w_.inputs[0];
    const size_t last = w_.axes - 1;
    const int64_t rows = pointsOf(x, 0, last);
    row_.resize(static_cast<size_t>(w_.image[last] * x.size));
    at_[last] = 0;
    for (int64_t c = 0; c < w_.channels; c++) {
      char* const base = x.base(table_, n) + c * x.channelStep * x.size;
      char* const line = rows == 1 ? base + offsets_[0][0] : row_.data();
      if (rows != 1) {
        WindowArgs args = {};
        args.n = w_.image[last];
        args.count = rows;
        args.out = line;
        args.start = w_.start;
        args.points = pointers(rows, [&](int64_t r) { return base + offsets_[0][static_cast<size_t>(r)]; });
        kernel()(args);
      }
      foldAlong(line, rows, pooledAt(w_.output, n) + c * w_.output.channelStep * w_.output.size);
    }
  }

  template <class At> void** pointers(int64_t count, At at) {
    std::vector<void*>& lines = lines_[0];
    if (static_cast<int64_t>(lines.size()) < count) lines.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; i++) lines[static_cast<size_t>(i)] = at(i);
    return lines.data();
  }

  /** Windows along a row; neighbours that are one step apart and of one length are folded together. */
  void foldAlong(char* line, int64_t rows, char* to) {
    const std::vector<Range>& spans = spans_[w_.axes - 1];
    const int64_t size = w_.inputs[0].size, outStep = w_.output.stride(w_.axes - 1);
    const size_t windows = spans.size();
    for (size_t o = 0; o < windows;) {
      const Range first = spans[o];
      int64_t together = 1;
      for (; o + static_cast<size_t>(together) < windows && together < kBlock; together++) {
        const Range next = spans[o + static_cast<size_t>(together)];
        if (next.begin != first.begin + together || next.end != first.end + together) break;
      }
      char* const target = to + static_cast<int64_t>(o) * outStep * size;
      WindowArgs args = {};
      args.n = together;
      args.count = rows == 0 ? 0 : first.end - first.begin;
      args.out = outStep == 1 ? target : out_;
      args.start = w_.start;
      args.divisor = w_.op == WindowOp::mean ? static_cast<double>(rows * args.count) : 0;
      args.points = pointers(args.count, [&](int64_t p) { return line + (first.begin + p) * size; });
      kernel()(args);
      if (outStep != 1) w_.output.store(together, target, outStep, out_, 1);
      o += static_cast<size_t>(together);
    }
  }

  void clearRow(int64_t n, int64_t row) {
    const Operand& o = w_.output;
    char* const base = o.base(table_, n) + row * o.stride(0) * o.size;
    int64_t dense = o.channelStep == 1 ? w_.channels : 0;
    for (size_t axis = w_.axes; axis-- > 1;) dense = o.stride(axis) == dense ? dense * w_.image[axis] : 0;
    if (dense > 0) {
      std::memset(base, 0, static_cast<size_t>(dense * o.size));
      return;
    }
    std::vector<int64_t> index(w_.axes, 0);
    for (size_t axis = 1; axis < w_.axes; axis++)
      if (w_.image[axis] == 0) return;
    for (;;) {
      int64_t offset = 0;
      for (size_t axis = 1; axis < w_.axes; axis++) offset += index[axis] * o.stride(axis);
      char* const at = base + offset * o.size;
      if (o.channelStep == 1)
        std::memset(at, 0, static_cast<size_t>(w_.channels * o.size));
      else
        for (int64_t c = 0; c < w_.channels; c++) std::memset(at + c * o.channelStep * o.size, 0, static_cast<size_t>(o.size));
      size_t axis = w_.axes;
      for (;;) {
        if (axis <= 1) return;
        axis--;
        if (++index[axis] < w_.image[axis]) break;
        index[axis] = 0;
      }
    }
  }

  /** Adds what a window gives to the rows `own` of the image; `span` is where it is on the first axis. */
  void spreadWindow(int64_t n, Range span, Range own) {
    const Operand& x = w_.inputs[0];
    const Operand& dy = w_.inputs.back();
    const Operand& dx = w_.output;
    const size_t slot = w_.inputs.size();
    const int64_t count = pointsOf(dx, slot, w_.axes);
    if (count == 0) return;
    if (w_.op != WindowOp::meanGradient) pointsOf(x, 0, w_.axes);
    const int64_t perRow = count / (span.end - span.begin);
    const int64_t begin = (own.begin - span.begin) * perRow, end = (own.end - span.begin) * perRow;
    char* const from = x.base(table_, n);
    char* const to = dx.base(table_, n);
    const bool near = w_.op == WindowOp::nearGradient, max = w_.ofMax;
    const WindowFn kernel = near ? w_.kernels.near : max ? w_.kernels.spread : w_.kernels.share;
    for (int64_t c = 0; c < w_.channels; c += kBlock) {
      WindowArgs args = {};
      args.n = std::min(kBlock, w_.channels - c);
      args.out = out_;
      args.position = position_;
      args.divisor = static_cast<double>(count);
      args.positive = w_.positive;
      args.pooled[near ? 1 : 0] = pooledLine(dy, pooledAt(dy, n), c, args.n, line_[0]);
      if (near) args.pooled[0] = pooledLine(w_.inputs[1], pooledAt(w_.inputs[1], n), c, args.n, line_[1]);
      if (max)
        inPieces(args, 0, count, x.direct, [&] {
          args.points = linesOf(x, 0, from, args, c);
          w_.kernels.argmax(args);
        });
      inPieces(args, begin, end, dx.direct && (!near || x.direct), [&] {
        args.targets = linesOf(dx, slot, to, args, c);
        if (near) args.points = linesOf(x, 0, from, args, c);
        kernel(args);
        if (dx.direct) return;
        const int64_t* const points = offsets_[slot].data() + args.first;
        for (int64_t p = 0; p < args.count; p++)
          dx.store(args.n, to + points[p] + c * dx.channelStep * dx.size, dx.channelStep, args.targets[p], 1);
      });
    }
  }

  const WindowPlan& w_;
  void* const* table_;
  const WindowSpans& spans_;
  std::vector<int64_t> at_;
  /** Per operand, and last for the result: the window's points, pointers to them, and copies of them. */
  std::vector<std::vector<int64_t>> offsets_;
  std::vector<std::vector<void*>> lines_;
  std::vector<std::vector<char>> scratch_;
  std::vector<char> row_;
  /** Whether windows store their gradients, which no others add to. */
  bool alone_;
  alignas(64) char out_[kBlock * kWidest];
  alignas(64) char position_[kBlock * kWidest];
  alignas(64) char line_[2][kBlock * kWidest];
};

}  // namespace tl
