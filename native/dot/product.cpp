/** A matrix product for other instructions: in pieces of c, one or more for each thread. */
#include <algorithm>
#include <type_traits>

#include "method.h"

namespace tl {
namespace {

Method<float> methodFor(const Gemm<float>& g) {
  const bool tiles = simd().tiles.gemm && simd().tiles.suitsGemm(g.m, g.n, g.k);
  return tiles ? withTiles() : withVectors(simd().gemmF32);
}
Method<double> methodFor(const Gemm<double>&) { return withVectors(simd().gemmF64); }

}  // namespace

template <class T>
void multiply(const Gemm<T>& whole) {
  const Method<T> method = methodFor(whole);
  const double work = static_cast<double>(whole.m) * static_cast<double>(whole.n) * static_cast<double>(whole.k);
  const Grid grid(whole.m, whole.n, Pool::get().parts(work, method.grain));
  const int64_t bytes = method.scratch(grid.rows, grid.columns, whole.k);
  Pool::get().run(grid.down * grid.across, [&](int64_t piece) {
    Gemm<T> g = whole;
    const int64_t i = piece / grid.across * grid.rows, j = piece % grid.across * grid.columns;
    g.m = std::min(grid.rows, whole.m - i);
    g.n = std::min(grid.columns, whole.n - j);
    if (g.m <= 0 || g.n <= 0) return;
    g.a += i * g.aRow;
    g.b += j * g.bColumn;
    g.c += i * g.cRow + j * g.cColumn;
    method.multiply(g, Pool::scratch(bytes));
  });
}

template void multiply(const Gemm<float>&);
template void multiply(const Gemm<double>&);

}  // namespace tl
