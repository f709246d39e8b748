/** Which convolutions are computed by fewer products, and the points of their inputs. */
#include "winograd.h"

#include <cstdlib>
#include <cstring>

namespace tl {
namespace {

/** Patches at least: the filter's points cost as much as those of many patches. */
constexpr int64_t kLeastPatches = 32;
/** How many times fewer products there must be. */
constexpr double kLeastGain = 1.5;

/** TensorFlow's own switch for such convolutions, which are on unless it says no. */
bool isWanted() {
  static const char* const wanted = std::getenv("TF_ENABLE_WINOGRAD_NONFUSED");
  return !wanted || (std::strcmp(wanted, "0") != 0 && std::strcmp(wanted, "false") != 0);
}

}  // namespace

bool suitsWinograd(const Convolution<float>& c) {
  if (!isWanted()) return false;
  const Axis &rows = c.axes[2], &columns = c.axes[3];
  if (c.groups != 1 || !c.axes[0].isPlain() || !c.axes[1].isPlain() || c.axes[1].out != 1) return false;
  if (rows.taps != columns.taps || (rows.taps != 3 && rows.taps != 5)) return false;
  for (const Axis* a : {&rows, &columns})
    if (a->stride != 1 || a->dilation != 1) return false;
  if (c.input.channel != 1 || c.output.channel != 1 || c.channels % 16 != 0 || c.features % 16 != 0) return false;
  if (c.filter.feature != 1 && c.filter.channel != 1) return false;
  const PatchGrid grid(c);
  const double products = static_cast<double>(grid.patches() * kPatchPoints);
  return grid.patches() >= kLeastPatches && static_cast<double>(c.positions() * c.taps()) > kLeastGain * products;
}

void PatchGrid::toPoints(int64_t line, const float* zeros, float* room, float* points, int64_t point, int64_t patch) const {
  const Axis &rows = c_.axes[2], &columns = c_.axes[3];
  const int64_t(&along)[kAxes] = c_.input.along;
  const Place at = placeOf(line);
  const int64_t top = at.top - rows.before, left = at.left - columns.before;
  const float* const image = c_.input.data + at.image * along[0];
  // The columns of pixels that there are: first and end.
  const int64_t first = std::clamp<int64_t>(-left, 0, pixels()), end = std::clamp<int64_t>(columns.in - left, first, pixels());
  const int64_t most = channelsAtOnce();
  for (int64_t channel = 0; channel < c_.channels; channel += most) {
    const int64_t channels = std::min(most, c_.channels - channel), row = pixels() * channels;
    PatchRows p;
    for (int64_t i = 0; i < kPatchSide; i++) {
      const bool there = top + i >= 0 && top + i < rows.in;
      p.rows[i] = there ? image + (top + i) * along[2] + (left + first) * along[3] + channel : zeros;
      p.steps[i] = there ? along[3] : 0;
      std::memset(room + i * row, 0, static_cast<size_t>(first * channels) * sizeof(float));
      std::memset(room + i * row + end * channels, 0, static_cast<size_t>((pixels() - end) * channels) * sizeof(float));
    }
    p.pixels = end - first;
    p.channels = channels;
    p.out = room + first * channels;
    p.outRow = row;
    simd().winograd.inputRows(p);
    simd().winograd.inputPoints({across_, channels, points + channel, point, patch, room, row, channels, kPatchSide, pixels()}, taps_);
  }
}

}  // namespace tl
