/** A matrix product for other instructions: in pieces of c, one or more for each thread; and how long products take here. */
#include <chrono>
#include <cmath>
#include <type_traits>

#include "../tensorloom.h"
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

double tl_multiply_time() {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t side = 96, size = side * side;
  // Some would be enough, but the first few warm up what they use, and others may be interrupted.
  constexpr int times = 5;
  std::vector<float> numbers(3 * size, 1.0f);
  tl::Gemm<float> g = {side, side, side, numbers.data(), side, 1, numbers.data() + size, side, 1, numbers.data() + 2 * size, side, 1};
  double least = HUGE_VAL;
  for (int i = 0; i < times; i++) {
    const Clock::time_point start = Clock::now();
    tl::multiplyAside(g);
    least = std::min(least, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return least / (side * size);
}
