/** Adding windows to an image, each where it lies: the windows of neighbouring positions overlap. */
#include "../simd/masks.h"

namespace tl::TL_SIMD {
namespace {

/** to[i] += from[i]. */
template <class T> TL_INLINE void addRow(int64_t length, const T* from, T* to) {
  constexpr int64_t lanes = lanesOf<T>;
  int64_t i = 0;
  for (; i + lanes <= length; i += lanes) storeVector(to + i, loadVector(to + i) + loadVector(from + i));
  if constexpr (kHasMasks) {
    const LaneMask mask = firstLanes(length - i);
    storeLanes(to + i, loadLanes(to + i, mask) + loadLanes(from + i, mask), mask);
  } else {
    for (; i < length; i++) to[i] += from[i];
  }
}

/** Position by position, all rows of a window: what is added to next was not stored just now. */
template <class T> void addWindows(const Windows<T>& w) {
  for (int64_t p = 0; p < w.positions; p++)
    for (int64_t r = 0; r < w.rows; r++)
      addRow(w.length, w.from + p * w.fromStep + r * w.fromRow, w.to + p * w.toStep + r * w.toRow);
}

}  // namespace

void fillWindows(SimdKernels& k) {
  k.addWindowsF32 = addWindows<float>;
  k.addWindowsF64 = addWindows<double>;
}

}  // namespace tl::TL_SIMD
