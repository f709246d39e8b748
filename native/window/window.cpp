/**
 * The `window` instruction: pooling and its gradients.
 *
 * Work goes window by window, with all channels of a point side by side: the pointers to a window's points go to a kernel
 * that keeps a vector of channels in registers while it walks over them. Where channels do not lie side by side, or are
 * of a type that registers do not hold, they are loaded into scratch memory first. Folds of single-channel images
 * (LRN, NCHW) are instead vectorized along the last axis.
 *
 * Gradients are split by rows of the image, not by windows: every thread writes rows of its own, and each element adds
 * up its windows in order, whatever the number of threads.
 */
#include <algorithm>
#include <cstring>
#include <limits>

#include "../core/pool.h"
#include "../core/program.h"
#include "../simd/kernels.h"

namespace tl {
namespace {

constexpr double kGrain = 100e3;   // bytes read and written that pay for another thread
constexpr int64_t kBlock = 256;    // channels at a time
constexpr int64_t kPoints = 32;    // points at a time, where they are loaded into scratch memory
constexpr int64_t kWidest = 8;     // bytes of the widest register value

/** One operand: where its points are, and whether kernels can work on it in place. */
struct Operand {
  View view;
  int64_t size = 0, channelStep = 1;
  bool direct = false;
  ConvertFn load = nullptr, store = nullptr;

  Operand() = default;
  explicit Operand(const View& v) : view(v), size(sizeOf(v.dtype)), channelStep(v.strides.back()) {
    direct = isNative(v.dtype) && (channelStep == 1 || v.dims.back() <= 1);
    load = simd().load[static_cast<int>(v.dtype)];
    store = simd().store[static_cast<int>(v.dtype)];
  }
  int64_t stride(size_t axis) const { return view.strides[axis + 1]; }
  char* base(void* const* table, int64_t n) const { return view.at(table) + n * view.strides[0] * size; }
};

/** The windows of one run: per axis, where each begins and ends inside the image. */
using Spans = std::vector<std::vector<Range>>;

class Window final : public Instruction {
 public:
  Window(WindowOp op, std::vector<View> inputs, const View& output, std::vector<View> spans)
      : op_(op), spans_(std::move(spans)), output_(output) {
    for (const View& v : inputs) inputs_.emplace_back(v);
    gradient_ = op == WindowOp::maxGradient || op == WindowOp::nearGradient || op == WindowOp::meanGradient;
    const View& image = gradient_ ? output : inputs[0];
    const View& pooled = gradient_ ? inputs.back() : output;
    check(image, pooled, inputs);
    axes_ = spans_.size();
    batch_ = image.dims[0];
    channels_ = image.dims.back();
    image_.assign(image.dims.begin() + 1, image.dims.end() - 1);
    pooled_.assign(pooled.dims.begin() + 1, pooled.dims.end() - 1);
    kind_ = kindOf(inputs[0].dtype);
    kernels_ = simd().window[static_cast<int>(kind_)];
    checkType(inputs[0].dtype);
    setStart(inputs[0].dtype);
    const Operand& x = inputs_[0];
    // A row of the last axis is a run of elements: vectors go along it when they cannot go along the channels.
    const bool folds = op == WindowOp::max || op == WindowOp::sum || op == WindowOp::mean;
    byRows_ = folds && isNative(x.view.dtype) && x.stride(axes_ - 1) == 1 && (channels_ == 1 || x.channelStep != 1);
  }

  Failure run(void* const* table) override {
    if (output_.view.size() == 0) return {};
    const Spans spans = readSpans(table);
    int64_t bytes = output_.view.size() * output_.size;
    for (const Operand& o : inputs_) bytes += o.view.size() * o.size;
    const int64_t wanted = Pool::get().parts(static_cast<double>(bytes), kGrain);
    // A unit of a fold is a row of the pooled image; one of a gradient, some rows of the image.
    const int64_t rows = gradient_ ? image_[0] : byRows_ && axes_ == 1 ? 1 : pooled_[0];
    const int64_t pieces = gradient_ ? std::min(rows, (wanted + batch_ - 1) / batch_) : rows;
    const int64_t units = batch_ * pieces, parts = std::min(units, wanted);
    Pool::get().run(parts, [&](int64_t part) {
      Work work(*this, table, spans);
      const Range range = rangeOf(part, parts, units);
      for (int64_t u = range.begin; u < range.end; u++) {
        const Range own = rangeOf(u % pieces, pieces, rows);
        if (gradient_)
          work.gradientRows(u / pieces, own);
        else
          work.pooledRow(u / pieces, own.begin);
      }
    });
    return {};
  }

 private:
  static void require(bool condition, const char* message) {
    if (!condition) refuse(message);
  }

  void check(const View& image, const View& pooled, const std::vector<View>& inputs) const {
    const size_t rank = spans_.size() + 2;
    require(rank > 2 && image.dims.size() == rank && pooled.dims.size() == rank, "the ranks of a window do not agree");
    const bool ends = image.dims.front() == pooled.dims.front() && image.dims.back() == pooled.dims.back();
    require(ends, "a window's batch and channels must be the same on both sides");
    for (size_t axis = 0; axis < spans_.size(); axis++) {
      const View& s = spans_[axis];
      const bool fits = s.dtype == DType::i64 && s.dims.size() == 2 && s.dims[1] == 2 && s.dims[0] == pooled.dims[axis + 1];
      require(fits, "bad spans of a window");
    }
    const DType result = op_ == WindowOp::argmax ? DType::i64 : inputs[0].dtype;
    require(output_.view.dtype == result, "bad type of a window's output");
    for (size_t i = 0; i < inputs.size(); i++) {
      require(inputs[i].dtype == inputs[0].dtype, "a window's inputs must have one type");
      const bool wide = op_ == WindowOp::pick ? i != 1 : gradient_ ? i + 1 != inputs.size() && i == 0 : true;
      require(inputs[i].dims == (wide ? image.dims : pooled.dims), "the sizes of a window do not agree");
    }
  }

  void checkType(DType dtype) const {
    const bool narrow = !isNative(dtype) && kind_ != Kind::f32;
    bool known = false;
    switch (op_) {
      case WindowOp::max: known = kernels_.max; break;
      case WindowOp::sum:
      case WindowOp::mean: known = kernels_.sum && !narrow; break;
      case WindowOp::pick: known = kernels_.pick; break;
      case WindowOp::nearGradient: known = kernels_.near; break;
      case WindowOp::meanGradient: known = kernels_.share; break;
      default: known = kernels_.argmax; break;
    }
    require(known, "a window operation is not defined for its type");
  }

  /** What folds begin with: zero, or for a maximum the lowest finite value of the type. */
  void setStart(DType dtype) {
    const auto begin = [&](auto value) { std::memcpy(start_, &value, sizeof(value)); };
    if (op_ != WindowOp::max) return;
    switch (dtype) {
      case DType::f16: return begin(-65504.0f);
      case DType::bf16: return begin(-3.3895313892515355e38f);
      case DType::f32: return begin(std::numeric_limits<float>::lowest());
      case DType::f64: return begin(std::numeric_limits<double>::lowest());
      case DType::i8: return begin(int32_t{INT8_MIN});
      case DType::i16: return begin(int32_t{INT16_MIN});
      case DType::i32: return begin(INT32_MIN);
      case DType::i64: return begin(INT64_MIN);
      default: return;
    }
  }

  Spans readSpans(void* const* table) const {
    Spans spans(axes_);
    for (size_t axis = 0; axis < axes_; axis++) {
      const int64_t* bounds = spans_[axis].as<int64_t>(table);
      for (int64_t i = 0; i < pooled_[axis]; i++) {
        const int64_t begin = std::clamp<int64_t>(bounds[2 * i], 0, image_[axis]);
        spans[axis].push_back({begin, std::max(begin, std::clamp<int64_t>(bounds[2 * i + 1], 0, image_[axis]))});
      }
    }
    return spans;
  }

  /** What one thread needs: its place in the pooled image, and scratch memory. */
  class Work {
   public:
    Work(const Window& w, void* const* table, const Spans& spans)
        : w_(w), table_(table), spans_(spans), at_(w.axes_), offsets_(w.inputs_.size() + 1), lines_(w.inputs_.size() + 1) {}

    void pooledRow(int64_t n, int64_t row) {
      eachWindow(row, [&] {
        if (w_.byRows_)
          foldRow(n);
        else
          foldWindow(n);
      });
    }

    void gradientRows(int64_t n, Range rows) {
      // Rows are cleared just before the first window that adds to them, while they are on their way into the cache.
      int64_t cleared = rows.begin;
      const auto clearTo = [&](int64_t end) {
        for (; cleared < std::min(end, rows.end); cleared++) clearRow(n, cleared);
      };
      for (int64_t o = 0; o < w_.pooled_[0]; o++) {
        const Range span = spans_[0][static_cast<size_t>(o)];
        const Range own = {std::max(span.begin, rows.begin), std::min(span.end, rows.end)};
        if (own.begin >= own.end) continue;
        clearTo(own.end);
        eachWindow(o, [&] { spreadWindow(n, span, own); });
      }
      clearTo(rows.end);
    }

   private:
    /** Calls `visit` with `at_` on every window whose first coordinate is `row`; by rows, the last coordinate stays 0. */
    template <class Visit> void eachWindow(int64_t row, Visit visit) {
      std::fill(at_.begin(), at_.end(), 0);
      at_[0] = row;
      const size_t axes = w_.byRows_ ? w_.axes_ - 1 : w_.axes_;
      for (size_t axis = 1; axis < axes; axis++)
        if (w_.pooled_[axis] == 0) return;
      for (;;) {
        visit();
        size_t axis = axes;
        for (;;) {
          if (axis <= 1) return;
          axis--;
          if (++at_[axis] < w_.pooled_[axis]) break;
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
      for (size_t axis = 0; axis < w_.axes_; axis++) offset += at_[axis] * o.stride(axis);
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

    void foldWindow(int64_t n) {
      const Operand& x = w_.inputs_[0];
      const int64_t count = pointsOf(x, 0, w_.axes_);
      char* const base = x.base(table_, n);
      char* const to = pooledAt(w_.output_, n);
      const bool pick = w_.op_ == WindowOp::pick;
      const Operand* g = pick ? &w_.inputs_[2] : nullptr;
      if (pick) pointsOf(*g, 2, w_.axes_);
      const bool inPlace = w_.output_.direct && w_.op_ != WindowOp::argmax;
      const bool whole = x.direct && (!pick || g->direct);
      const int64_t piece = whole ? std::max<int64_t>(count, 1) : kPoints, pieces = std::max<int64_t>((count + piece - 1) / piece, 1);
      for (int64_t c = 0; c < w_.channels_; c += kBlock) {
        WindowArgs args = {};
        args.n = std::min(kBlock, w_.channels_ - c);
        char* const target = to + c * w_.output_.channelStep * w_.output_.size;
        args.out = inPlace ? target : out_;
        args.position = position_;
        if (pick) args.pooled[0] = pooledLine(w_.inputs_[1], pooledAt(w_.inputs_[1], n), c, args.n, line_[0]);
        for (int64_t i = 0; i < pieces; i++) {
          // Picking wants the first equal point, so pieces come from the end, each overwriting what later ones found.
          args.first = (pick ? pieces - 1 - i : i) * piece;
          args.count = std::min(piece, count - args.first);
          args.start = i == 0 ? w_.start_ : nullptr;
          args.divisor = i + 1 == pieces && w_.op_ == WindowOp::mean ? static_cast<double>(count) : 0;
          args.points = linesOf(x, 0, base, args, c);
          if (pick) args.targets = linesOf(*g, 2, g->base(table_, n), args, c);
          if (count > 0 || w_.op_ != WindowOp::argmax) kernel()(args);
        }
        if (w_.op_ == WindowOp::argmax)
          storePositions(args.n, count, target);
        else if (!inPlace)
          w_.output_.store(args.n, target, w_.output_.channelStep, out_, 1);
      }
    }

    WindowFn kernel() const {
      switch (w_.op_) {
        case WindowOp::max: return w_.kernels_.max;
        case WindowOp::argmax: return w_.kernels_.argmax;
        case WindowOp::pick: return w_.kernels_.pick;
        case WindowOp::mean: return w_.kernels_.mean;
        default: return w_.kernels_.sum;
      }
    }

    /** Numbers within windows as positions in the image. */
    void storePositions(int64_t n, int64_t count, char* target) const {
      const Operand& to = w_.output_;
      for (int64_t i = 0; i < n; i++) {
        int64_t number = sizeOf(w_.kind_) == 4 ? reinterpret_cast<const int32_t*>(position_)[i]
                                               : reinterpret_cast<const int64_t*>(position_)[i];
        int64_t flat = count == 0 ? -1 : 0, step = 1;
        for (size_t axis = w_.axes_; axis-- > 0 && count > 0;) {
          const Range range = span(axis);
          flat += (range.begin + number % (range.end - range.begin)) * step;
          number /= range.end - range.begin;
          step *= w_.image_[axis];
        }
        *reinterpret_cast<int64_t*>(target + i * to.channelStep * to.size) = flat;
      }
    }

    /** A pooled row at once: first the rows of the image that its windows share, element by element, then along the row. */
    void foldRow(int64_t n) {
      const Operand& x = w_.inputs_[0];
      const size_t last = w_.axes_ - 1;
      const int64_t rows = pointsOf(x, 0, last);
      row_.resize(static_cast<size_t>(w_.image_[last] * x.size));
      at_[last] = 0;
      for (int64_t c = 0; c < w_.channels_; c++) {
        char* const base = x.base(table_, n) + c * x.channelStep * x.size;
        char* const line = rows == 1 ? base + offsets_[0][0] : row_.data();
        if (rows != 1) {
          WindowArgs args = {};
          args.n = w_.image_[last];
          args.count = rows;
          args.out = line;
          args.start = w_.start_;
          args.points = pointers(rows, [&](int64_t r) { return base + offsets_[0][static_cast<size_t>(r)]; });
          kernel()(args);
        }
        foldAlong(line, rows, pooledAt(w_.output_, n) + c * w_.output_.channelStep * w_.output_.size);
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
      const std::vector<Range>& spans = spans_[w_.axes_ - 1];
      const int64_t size = w_.inputs_[0].size, outStep = w_.output_.stride(w_.axes_ - 1);
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
        args.start = w_.start_;
        args.divisor = w_.op_ == WindowOp::mean ? static_cast<double>(rows * args.count) : 0;
        args.points = pointers(args.count, [&](int64_t p) { return line + (first.begin + p) * size; });
        kernel()(args);
        if (outStep != 1) w_.output_.store(together, target, outStep, out_, 1);
        o += static_cast<size_t>(together);
      }
    }

    void clearRow(int64_t n, int64_t row) {
      const Operand& o = w_.output_;
      char* const base = o.base(table_, n) + row * o.stride(0) * o.size;
      std::vector<int64_t> index(w_.axes_, 0);
      for (size_t axis = 1; axis < w_.axes_; axis++)
        if (w_.image_[axis] == 0) return;
      for (;;) {
        int64_t offset = 0;
        for (size_t axis = 1; axis < w_.axes_; axis++) offset += index[axis] * o.stride(axis);
        char* const at = base + offset * o.size;
        if (o.channelStep == 1)
          std::memset(at, 0, static_cast<size_t>(w_.channels_ * o.size));
        else
          for (int64_t c = 0; c < w_.channels_; c++) std::memset(at + c * o.channelStep * o.size, 0, static_cast<size_t>(o.size));
        size_t axis = w_.axes_;
        for (;;) {
          if (axis <= 1) return;
          axis--;
          if (++index[axis] < w_.image_[axis]) break;
          index[axis] = 0;
        }
      }
    }

    /** Adds what a window gives to the rows `own` of the image; `span` is where it is on the first axis. */
    void spreadWindow(int64_t n, Range span, Range own) {
      const Operand& x = w_.inputs_[0];
      const Operand& dy = w_.inputs_.back();
      const Operand& dx = w_.output_;
      const size_t slot = w_.inputs_.size();
      const int64_t count = pointsOf(dx, slot, w_.axes_);
      if (count == 0) return;
      if (w_.op_ != WindowOp::meanGradient) pointsOf(x, 0, w_.axes_);
      const int64_t perRow = count / (span.end - span.begin);
      const int64_t begin = (own.begin - span.begin) * perRow, end = (own.end - span.begin) * perRow;
      char* const from = x.base(table_, n);
      char* const to = dx.base(table_, n);
      const bool near = w_.op_ == WindowOp::nearGradient, max = w_.op_ == WindowOp::maxGradient;
      const WindowFn kernel = near ? w_.kernels_.near : max ? w_.kernels_.spread : w_.kernels_.share;
      for (int64_t c = 0; c < w_.channels_; c += kBlock) {
        WindowArgs args = {};
        args.n = std::min(kBlock, w_.channels_ - c);
        args.out = out_;
        args.position = position_;
        args.divisor = static_cast<double>(count);
        args.pooled[near ? 1 : 0] = pooledLine(dy, pooledAt(dy, n), c, args.n, line_[0]);
        if (near) args.pooled[0] = pooledLine(w_.inputs_[1], pooledAt(w_.inputs_[1], n), c, args.n, line_[1]);
        if (max)
          inPieces(args, 0, count, x.direct, [&] {
            args.points = linesOf(x, 0, from, args, c);
            w_.kernels_.argmax(args);
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

    const Window& w_;
    void* const* table_;
    const Spans& spans_;
    std::vector<int64_t> at_;
    /** Per operand, and last for the result: the window's points, pointers to them, and copies of them. */
    std::vector<std::vector<int64_t>> offsets_;
    std::vector<std::vector<void*>> lines_;
    std::vector<std::vector<char>> scratch_;
    std::vector<char> row_;
    alignas(64) char out_[kBlock * kWidest];
    alignas(64) char position_[kBlock * kWidest];
    alignas(64) char line_[2][kBlock * kWidest];
  };

  WindowOp op_;
  std::vector<View> spans_;
  Operand output_;
  std::vector<Operand> inputs_;
  WindowKernels kernels_;
  alignas(8) char start_[kWidest] = {};
  Kind kind_;
  bool gradient_, byRows_;
  size_t axes_;
  int64_t batch_, channels_;
  std::vector<int64_t> image_, pooled_;
};

int64_t inputsOf(WindowOp op) {
  switch (op) {
    case WindowOp::pick:
    case WindowOp::nearGradient: return 3;
    case WindowOp::maxGradient: return 2;
    default: return 1;
  }
}

}  // namespace

InstructionPtr decodeWindow(Reader& in) {
  const WindowOp op = in.code<WindowOp>("window operation");
  const int64_t axes = in.word(1, 64, "number of spatial axes");
  std::vector<View> inputs, spans;
  for (int64_t i = 0; i < inputsOf(op); i++) inputs.push_back(in.view());
  const View output = in.view();
  for (int64_t i = 0; i < axes; i++) spans.push_back(in.view());
  return make<Window>(op, std::move(inputs), output, std::move(spans));
}

}  // namespace tl
