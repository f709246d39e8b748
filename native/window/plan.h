/** What the parts of the `window` instruction share: its operands and what is known of its windows before a run. */
#pragma once
#include "../core/pool.h"
#include "../core/program.h"
#include "../simd/kernels.h"

namespace tl {

constexpr int64_t kWidest = 8;  // bytes of the widest register value

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
using WindowSpans = std::vector<std::vector<Range>>;

/** Whether every point of an image is in one window and no other. */
inline bool isPartition(const WindowSpans& spans, const std::vector<int64_t>& image) {
  for (size_t axis = 0; axis < spans.size(); axis++) {
    int64_t end = 0;
    for (const Range& span : spans[axis]) {
      if (span.begin != end) return false;
      end = span.end;
    }
    if (end != image[axis]) return false;
  }
  return true;
}

struct WindowPlan {
  WindowOp op;
  bool gradient;
  /** Whether the gradient is that of a maximum, and if so, goes on only where that is above zero. */
  bool ofMax, positive;
  /** Whether vectors go along the last axis, because they cannot go along the channels. */
  bool byRows;
  /** Takes all windows of a row at once; null where operands must be converted first. */
  WindowRowFn rowKernel = nullptr;
  size_t axes;
  int64_t batch, channels;
  /** Spatial sizes. */
  std::vector<int64_t> image, pooled;
  std::vector<Operand> inputs;
  Operand output;
  Kind kind;
  WindowKernels kernels;
  /** What folds begin with. */
  alignas(kWidest) char start[kWidest] = {};
};

}  // namespace tl
