/** A matrix product for other instructions: in pieces of c, one or more for each thread. */
#include <type_traits>

#include "method.h"

namespace tl {
namespace {

Method<float> methodFor(const Gemm<float>& g) {
  return suitsTiles(g, false) ? withTiles() : withVectors(simd().gemmF32);
}
Method<double> methodFor(const Gemm<double>&) { return withVectors(simd().gemmF64); }

}  // namespace

template <class T>
void multiply(const Gemm<T>& whole) {
  const Method<T> method = methodFor(whole);
  const double work = static_cast<double>(whole.m) * static_cast<double>(whole.n) * static_cast<double>(whole.k);
  const Grid grid(whole.m, whole.n, Pool::get().parts(work, method.grain));
  const int64_t bytes = method.scratch(grid.rows.most(), grid.columns.most(), whole.k);
  Pool::get().run(grid.pieces(), [&](int64_t piece) {
    Gemm<T> g = whole;
    const Range rows = grid.rowsOf(piece), columns = grid.columnsOf(piece);
    g.m = rows.end - rows.begin;
    g.n = columns.end - columns.begin;
    g.a += rows.begin * g.aRow;
    g.b += columns.begin * g.bColumn;
    g.c += rows.begin * g.cRow + columns.begin * g.cColumn;
    method.multiply(g, Pool::scratch(bytes));
  });
}

template void multiply(const Gemm<float>&);
template void multiply(const Gemm<double>&);

}  // namespace tl
