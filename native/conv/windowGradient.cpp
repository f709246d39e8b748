/**
 * The input of a convolution with few channels from its output: the window of every position is computed, and added where it lies.
 *
 * Windows are the rows of a matrix product: of positions with features, and of features with all taps and channels, which are many
 * even where channels are few. Adding them up takes less time than a product with as few columns as there are channels would.
 */
#include <algorithm>
#include <vector>

#include "../core/pool.h"
#include "../dot/method.h"
#include "convolution.h"

namespace tl {
namespace {

constexpr int kLast = kAxes - 1;
/** Channels at most, and features at least, for which this is faster. */
constexpr int64_t kMostChannels = 8, kLeastFeatures = 8;
/** Bytes of windows that are computed together: a part of the second cache. */
constexpr int64_t kWindowBytes = 512 << 10;
/** Multiply-adds for which this is faster, those that pay for waking another thread, and elements of windows to add that do. */
constexpr double kLeastWork = 20e3, kGrain = 400e3, kAddGrain = 20e3;

void addWindows(const Windows<float>& w) { simd().addWindowsF32(w); }
void addWindows(const Windows<double>& w) { simd().addWindowsF64(w); }

template <class T>
class WindowGradient {
 public:
  explicit WindowGradient(const Convolution<T>& c)
      : c_(c), row_(c.axes[kLast].taps * c.channels), window_(c.taps() * c.channels),
        rows_(std::clamp<int64_t>(kWindowBytes / (c.axes[kLast].out * window_ * static_cast<int64_t>(sizeof(T))), 1, c.axes[2].out)) {}

  void run() {
    clearResult(c_, ConvResult::input);
    const std::vector<T> filter = denseFilter();
    const int64_t images = c_.axes[0].out, threads = Pool::get().parts(c_.work(), kGrain);
    // Threads take whole images, if there are enough, or else share every one.
    const int64_t seats = 2 * images > threads ? std::min(images, threads) : 1;
    const int64_t room = rows_ * c_.axes[kLast].out * window_;
    T* const memory = reinterpret_cast<T*>(Pool::sharedScratch(seats * room * static_cast<int64_t>(sizeof(T))));
    Pool::get().run(images, [&](int64_t image, int64_t seat) {
      for (int64_t j = 0; j < c_.axes[1].out; j++)
        for (int64_t k = 0; k < c_.axes[2].out; k += rows_)
          runRows(image, j, k, std::min(rows_, c_.axes[2].out - k), filter.data(), memory + seat * room);
    }, seats);
  }

 private:
  /** The filter as [features, taps, channels]. */
  std::vector<T> denseFilter() const {
    std::vector<T> dense(static_cast<size_t>(c_.features * window_));
    const Filter<T>& f = c_.filter;
    for (int64_t column = 0; column < window_; column++) {
      int64_t tap = column / c_.channels;
      const T* from = f.data + column % c_.channels * f.channel;
      for (int axis = kLast; axis >= 0; axis--) {
        from += tap % c_.axes[axis].taps * f.tap[axis];
        tap /= c_.axes[axis].taps;
      }
      copyOf(sizeof(T))(c_.features, dense.data() + column, window_, from, f.feature);
    }
    return dense;
  }

  /**
   * Computes the windows of some rows of positions, and adds them. Windows overlap, so a thread adds what falls into rows of the image
   * that are its own: to each of them in the same order as one thread alone would.
   */
  void runRows(int64_t image, int64_t j, int64_t first, int64_t rows, const T* filter, T* windows) const {
    const int64_t(&along)[kAxes] = c_.output.along;
    const int64_t length = c_.axes[kLast].out;
    const T* const from = c_.output.data + image * along[0] + j * along[1] + first * along[2];
    const bool follow = along[2] == length * along[kLast];
    for (int64_t k = 0; k < rows; k += follow ? rows : 1)
      multiply<T>({follow ? rows * length : length, window_, c_.features, from + k * along[2], along[kLast], c_.output.channel, filter,
                   window_, 1, windows + k * length * window_, window_, 1});
    const Axis& a = c_.axes[2];
    const int64_t top = std::max<int64_t>(0, first * a.stride - a.before);
    const int64_t bottom = std::min(a.in, (first + rows - 1) * a.stride - a.before + (a.taps - 1) * a.dilation + 1);
    const int64_t threads = Pool::get().parts(static_cast<double>(rows * length * window_), kAddGrain);
    const int64_t parts = Pool::finer(threads, bottom - top);
    Pool::get().run(parts, [&](int64_t part) {
      const Range mine = rangeOf(part, parts, bottom - top), pixels = {top + mine.begin, top + mine.end};
      for (int64_t k = 0; k < rows; k++) addRow(image, j, first + k, pixels, windows + k * length * window_);
    }, threads);
  }

  /** The taps that meet some pixels of an axis at a position of it. */
  Range taps(int axis, int64_t position, Range pixels) const {
    const Axis& a = c_.axes[axis];
    const int64_t first = position * a.stride - a.before;
    const int64_t begin = first < pixels.begin ? (pixels.begin - first + a.dilation - 1) / a.dilation : 0;
    const int64_t end = first < pixels.end ? std::min(a.taps, (pixels.end - 1 - first) / a.dilation + 1) : 0;
    return {std::min(begin, end), end};
  }
  Range taps(int axis, int64_t position) const { return taps(axis, position, {0, c_.axes[axis].in}); }

  /** Adds what falls into some rows of pixels of the windows of a row of positions. */
  void addRow(int64_t image, int64_t j, int64_t k, Range pixels, const T* windows) const {
    const Range planes = taps(1, j), rows = taps(2, k, pixels);
    if (rows.begin == rows.end) return;
    const Axis &a = c_.axes[1], &b = c_.axes[2], &last = c_.axes[kLast];
    const int64_t(&along)[kAxes] = c_.input.along;
    Windows<T> w;
    w.rows = rows.end - rows.begin;
    w.toRow = b.dilation * along[2];
    w.fromRow = row_;
    w.toStep = last.stride * along[kLast];
    w.fromStep = window_;
    for (int64_t plane = planes.begin; plane < planes.end; plane++) {
      const T* const from = windows + (plane * b.taps + rows.begin) * row_;
      T* const to = c_.input.data + image * along[0] + (j * a.stride + plane * a.dilation - a.before) * along[1] +
                    (k * b.stride + rows.begin * b.dilation - b.before) * along[2];
      for (int64_t l = 0; l < last.out; l += w.positions) {
        const Range columns = taps(kLast, l);
        const bool whole = columns.begin == 0 && columns.end == last.taps;
        // All positions whose windows lie in the image, or one of the others.
        w.positions = whole ? std::max<int64_t>(1, std::min(last.out, (last.in - last.taps + last.before) / last.stride + 1) - l) : 1;
        w.length = (columns.end - columns.begin) * c_.channels;
        w.from = from + l * window_ + columns.begin * c_.channels;
        w.to = to + (l * last.stride + columns.begin - last.before) * along[kLast];
        if (w.length > 0) addWindows(w);
      }
    }
  }

  const Convolution<T>& c_;
  /** Elements of a row of a window, and of all of it; rows of positions that are computed together. */
  int64_t row_, window_, rows_;
};

}  // namespace

template <class T>
bool windowGradient(const Convolution<T>& c) {
  const bool dense = (c.channels == 1 || c.input.channel == 1) && c.input.along[kLast] == c.channels;
  if (!dense || c.groups > 1 || c.channels > kMostChannels || c.features < kLeastFeatures) return false;
  // The batch has no taps, and those of the last axis must lie side by side.
  if (c.axes[kLast].dilation != 1 || c.axes[kLast].taps * c.axes[2].taps < 4 || c.work() < kLeastWork) return false;
  WindowGradient<T>(c).run();
  return true;
}

template bool windowGradient(const Convolution<float>&);
template bool windowGradient(const Convolution<double>&);

}  // namespace tl
