/**
 * Checks the native library without Node: programs of every common instruction at sizes around the borders of its blocks,
 * against plain loops. For sanitizers, valgrind and emulated processors, where running Node is slow or impossible.
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../native/tensorloom.h"

namespace {

int failures = 0, checks = 0;

void expect(bool holds, const std::string& what) {
  checks++;
  if (holds) return;
  failures++;
  if (failures < 20) std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

/** A program under construction: bound buffers by slot, and the words of its instructions. */
class Program {
 public:
  int64_t code(const char* family, const char* name) {
    const int64_t number = tl_code(family, name);
    expect(number >= 0, std::string(family) + " " + name);
    return number;
  }
  void word(int64_t value) { words_.push_back(value); }
  void view(const char* dtype, int64_t slot, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
    for (const int64_t value : {code("dtype", dtype), slot, slot, int64_t{0}, static_cast<int64_t>(dims.size())}) word(value);
    for (const int64_t d : dims) word(d);
    for (const int64_t s : strides) word(s);
  }
  void run(std::vector<void*> table, int threads, const std::string& what) {
    std::vector<int64_t> all = {1};
    all.insert(all.end(), words_.begin(), words_.end());
    char error[200] = "";
    void* program = tl_program_create(all.data(), static_cast<int64_t>(all.size()), error, sizeof(error));
    expect(program != nullptr, what + ": " + error);
    if (!program) return;
    double result[4] = {};
    expect(tl_program_run(program, table.data(), result, nullptr, threads, 0, HUGE_VAL) == 1, what + " ran");
    tl_program_free(program);
  }

 private:
  std::vector<int64_t> words_;
};

/** Small whole numbers: sums of their products are exact in any order. */
double element(int64_t i) { return static_cast<double>((i * 7919 + 13) % 11 - 5); }

template <class T>
std::vector<T> filled(int64_t n, int64_t seed) {
  std::vector<T> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; i++) values[static_cast<size_t>(i)] = static_cast<T>(element(i + seed));
  return values;
}

template <class T>
void checkDot(const char* dtype, int64_t m, int64_t k, int64_t n, bool ta, bool tb, int threads) {
  // Exactly as large as the matrices: a sanitizer sees any step outside.
  std::vector<T> a = filled<T>(m * k, 1), b = filled<T>(k * n, 5), c(static_cast<size_t>(m * n), T(77));
  Program p;
  p.word(p.code("instruction", "dot"));
  p.view(dtype, 0, {m, k}, {ta ? 1 : k, ta ? m : 1});
  p.view(dtype, 1, {k, n}, {tb ? 1 : n, tb ? k : 1});
  p.view(dtype, 2, {m, n}, {n, 1});
  // One product, not packed for others, added to nothing, no map follows, with memory of its own.
  for (const int64_t value : {0, -1, 0, 0, -1}) p.word(value);
  const std::string what = std::string(dtype) + " product " + std::to_string(m) + " " + std::to_string(k) + " " + std::to_string(n);
  p.run({a.data(), b.data(), c.data()}, threads, what);
  bool same = true;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t l = 0; l < k; l++)
        sum += static_cast<double>(a[static_cast<size_t>(ta ? l * m + i : i * k + l)]) *
               static_cast<double>(b[static_cast<size_t>(tb ? j * k + l : l * n + j)]);
      same = same && static_cast<double>(c[static_cast<size_t>(i * n + j)]) == sum;
    }
  expect(same, what);
}

/** out = op(x) or op(x, y) over n elements, compared with a tolerance relative to the value. */
template <class T>
void checkMap(const char* dtype, const char* op, int64_t n, bool two, double tolerance, const std::function<double(double, double)>& want) {
  std::vector<T> x(static_cast<size_t>(n)), y(static_cast<size_t>(n)), out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; i++) {
    x[static_cast<size_t>(i)] = static_cast<T>(0.05 + 0.37 * static_cast<double>(i % 23));
    y[static_cast<size_t>(i)] = static_cast<T>(1.5 - 0.21 * static_cast<double>(i % 17));
  }
  Program p;
  p.word(p.code("instruction", "map"));
  p.word(1);
  p.word(n);
  p.word(two ? 2 : 1);
  p.view(dtype, 0, {n}, {1});
  if (two) p.view(dtype, 1, {n}, {1});
  p.word(two ? 3 : 2);
  for (int64_t i = 0; i < (two ? 2 : 1); i++)
    for (const int64_t value : {p.code("op", "input"), p.code("dtype", dtype), i}) p.word(value);
  p.word(p.code("op", op));
  p.word(p.code("dtype", dtype));
  p.word(0);
  if (two) p.word(1);
  p.word(1);
  p.view(dtype, 2, {n}, {1});
  p.word(two ? 2 : 1);
  const std::string what = std::string(dtype) + " " + op + " of " + std::to_string(n);
  p.run({x.data(), y.data(), out.data()}, 2, what);
  bool close = true;
  for (int64_t i = 0; i < n; i++) {
    const double exact = want(static_cast<double>(x[static_cast<size_t>(i)]), static_cast<double>(y[static_cast<size_t>(i)]));
    close = close && std::fabs(static_cast<double>(out[static_cast<size_t>(i)]) - exact) <= tolerance * (std::fabs(exact) + 1e-30);
  }
  expect(close, what);
}

template <class T>
void checkReduce(const char* dtype, const char* op, int64_t rows, int64_t columns, int axis) {
  std::vector<T> x = filled<T>(rows * columns, 3), out(static_cast<size_t>(axis == 0 ? columns : rows));
  Program p;
  p.word(p.code("instruction", "reduce"));
  p.word(p.code("reduce", op));
  for (const int64_t value : {int64_t{2}, rows, columns, int64_t{1}}) p.word(value);
  p.view(dtype, 0, {rows, columns}, {columns, 1});
  p.word(1);
  for (const int64_t value : {p.code("op", "input"), p.code("dtype", dtype), int64_t{0}}) p.word(value);
  for (const int64_t value : {int64_t{1}, static_cast<int64_t>(axis), int64_t{0}}) p.word(value);
  p.view(dtype, 1, {axis == 0 ? columns : rows}, {1});
  const std::string what = std::string(dtype) + " " + op + " of [" + std::to_string(rows) + ", " + std::to_string(columns) +
                           "] over " + std::to_string(axis);
  p.run({x.data(), out.data()}, 2, what);
  const bool sums = std::string(op) == "sum";
  bool same = true;
  for (int64_t o = 0; o < static_cast<int64_t>(out.size()); o++) {
    double total = sums ? 0 : -1e30;
    for (int64_t i = 0; i < (axis == 0 ? rows : columns); i++) {
      const double v = static_cast<double>(x[static_cast<size_t>(axis == 0 ? i * columns + o : o * columns + i)]);
      total = sums ? total + v : std::fmax(total, v);
    }
    same = same && static_cast<double>(out[static_cast<size_t>(o)]) == total;
  }
  expect(same, what);
}

/** Sums of squares along rows or columns, which are folded without computing the squares first. */
void checkSquares(int64_t rows, int64_t columns, int axis) {
  std::vector<float> x = filled<float>(rows * columns, 3), out(static_cast<size_t>(axis == 0 ? columns : rows));
  Program p;
  p.word(p.code("instruction", "reduce"));
  p.word(p.code("reduce", "sum"));
  for (const int64_t value : {int64_t{2}, rows, columns, int64_t{1}}) p.word(value);
  p.view("f32", 0, {rows, columns}, {columns, 1});
  p.word(2);
  for (const int64_t value : {p.code("op", "input"), p.code("dtype", "f32"), int64_t{0}}) p.word(value);
  for (const int64_t value : {p.code("op", "square"), p.code("dtype", "f32"), int64_t{0}}) p.word(value);
  for (const int64_t value : {int64_t{1}, static_cast<int64_t>(axis), int64_t{1}}) p.word(value);
  p.view("f32", 1, {axis == 0 ? columns : rows}, {1});
  const std::string what = "squares of [" + std::to_string(rows) + ", " + std::to_string(columns) + "] over " + std::to_string(axis);
  p.run({x.data(), out.data()}, 2, what);
  std::vector<float> want(out.size());
  for (int64_t i = 0; i < rows * columns; i++)
    want[static_cast<size_t>(axis == 0 ? i % columns : i / columns)] += x[static_cast<size_t>(i)] * x[static_cast<size_t>(i)];
  expect(out == want, what);
}

/** x - y z / (sqrt(v) + w) in place of x: five operations that are joined to one. */
void checkJoined(int64_t n) {
  std::vector<std::vector<float>> in;
  for (int64_t i = 0; i < 5; i++) in.push_back(filled<float>(n, i));
  for (float& v : in[3]) v = v * v + 1;
  std::vector<float> want(in[0]);
  for (size_t i = 0; i < want.size(); i++) want[i] -= in[1][i] * in[2][i] / (std::sqrt(in[3][i]) + in[4][i] * in[4][i]);
  for (float& v : in[4]) v = v * v;
  Program p;
  p.word(p.code("instruction", "map"));
  for (const int64_t value : {int64_t{1}, n, int64_t{5}}) p.word(value);
  for (int64_t i = 0; i < 5; i++) p.view("f32", i, {n}, {1});
  p.word(10);
  const int64_t dtype = p.code("dtype", "f32");
  const auto node = [&](const char* op, std::initializer_list<int64_t> args) {
    p.word(p.code("op", op));
    p.word(dtype);
    for (const int64_t arg : args) p.word(arg);
  };
  for (int64_t i = 0; i < 5; i++) node("input", {i});
  node("mul", {1, 2});
  node("sqrt", {3});
  node("add", {6, 4});
  node("div", {5, 7});
  node("sub", {0, 8});
  p.word(1);
  p.view("f32", 0, {n}, {1});
  p.word(9);
  std::vector<void*> table;
  for (std::vector<float>& values : in) table.push_back(values.data());
  const std::string what = "joined operations on " + std::to_string(n);
  p.run(table, 2, what);
  bool close = true;
  for (size_t i = 0; i < want.size(); i++) close = close && std::fabs(in[0][i] - want[i]) <= 1e-5f * (1 + std::fabs(want[i]));
  expect(close, what);
}

/** Words of Philox4x32-10 from a counter that overflows on the way, against the generator written out. */
void checkRandom(int64_t n) {
  uint32_t state[6] = {0xfffffff0, 0xffffffff, 7, 9, 11, 13};
  uint64_t low = uint64_t{state[1]} << 32 | state[0];
  std::vector<uint32_t> out(static_cast<size_t>(n)), want;
  for (int64_t block = 0; block < (n + 3) / 4; block++, low++) {
    const uint32_t carried = low < 0xffffffff00000000 ? 1 : 0;  // it begins just below the end
    uint32_t c[4] = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), state[2] + carried, state[3]};
    uint32_t key[2] = {state[4], state[5]};
    for (int round = 0; round < 10; round++, key[0] += 0x9E3779B9, key[1] += 0xBB67AE85) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
      const uint32_t next[4] = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(p1),
                                static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p0)};
      std::copy(next, next + 4, c);
    }
    want.insert(want.end(), c, c + 4);
  }
  want.resize(static_cast<size_t>(n));
  Program p;
  p.word(p.code("instruction", "random"));
  p.word(p.code("random", "bits"));
  p.view("u8", 0, {24}, {1});
  p.word(1);
  p.view("u32", 1, {n}, {1});
  p.run({state, out.data()}, 2, "random words");
  expect(out == want, std::to_string(n) + " random words");
  std::vector<float> normals(static_cast<size_t>(n));
  for (const char* distribution : {"uniform", "normal", "truncatedNormal"}) {
    Program q;
    q.word(q.code("instruction", "random"));
    q.word(q.code("random", distribution));
    q.view("u8", 0, {24}, {1});
    q.word(1);
    q.view("f32", 1, {n}, {1});
    q.run({state, normals.data()}, 2, distribution);
    expect(std::all_of(normals.begin(), normals.end(), [](float x) { return std::fabs(x) < 10; }), distribution);
  }
}

/** A convolution of an image [batch, height, width, channels] or one of its gradients; `same` pads, else windows stay inside. */
struct Conv {
  int64_t batch, height, width, channels, taps, features, stride;
  bool same;
};

template <class T>
void checkConv(const char* dtype, const char* result, const Conv& s) {
  const int64_t room = s.same ? 0 : s.taps - 1;
  const int64_t rows = (s.height - room + s.stride - 1) / s.stride, columns = (s.width - room + s.stride - 1) / s.stride;
  const auto before = [&](int64_t in, int64_t out) { return s.same ? std::max<int64_t>(0, ((out - 1) * s.stride + s.taps - in) / 2) : 0; };
  const int64_t above = before(s.height, rows), left = before(s.width, columns);
  std::vector<T> image = filled<T>(s.batch * s.height * s.width * s.channels, 1);
  std::vector<T> filter = filled<T>(s.taps * s.taps * s.channels * s.features, 3);
  std::vector<T> output = filled<T>(s.batch * rows * columns * s.features, 7);
  const std::string kind = result;
  std::vector<double> want(kind == "input" ? image.size() : kind == "filter" ? filter.size() : output.size());
  for (int64_t b = 0; b < s.batch; b++)
    for (int64_t y = 0; y < rows; y++)
      for (int64_t x = 0; x < columns; x++)
        for (int64_t i = 0; i < s.taps; i++)
          for (int64_t j = 0; j < s.taps; j++) {
            const int64_t row = y * s.stride + i - above, column = x * s.stride + j - left;
            if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
            for (int64_t c = 0; c < s.channels; c++)
              for (int64_t f = 0; f < s.features; f++) {
                const size_t in = static_cast<size_t>(((b * s.height + row) * s.width + column) * s.channels + c);
                const size_t tap = static_cast<size_t>(((i * s.taps + j) * s.channels + c) * s.features + f);
                const size_t out = static_cast<size_t>(((b * rows + y) * columns + x) * s.features + f);
                if (kind == "input") want[in] += static_cast<double>(filter[tap]) * static_cast<double>(output[out]);
                else if (kind == "filter") want[tap] += static_cast<double>(image[in]) * static_cast<double>(output[out]);
                else want[out] += static_cast<double>(image[in]) * static_cast<double>(filter[tap]);
              }
          }
  Program p;
  p.word(p.code("instruction", "conv"));
  p.word(p.code("conv", result));
  const int64_t pixel = s.channels, place = s.features;
  p.view(dtype, 0, {s.batch, 1, s.channels, s.height, s.width},
         {s.height * s.width * pixel, pixel, 1, s.width * pixel, pixel});
  p.view(dtype, 1, {1, s.features, s.channels, s.taps, s.taps},
         {0, 1, s.features, s.taps * s.channels * s.features, s.channels * s.features});
  p.view(dtype, 2, {s.batch, 1, s.features, rows, columns}, {rows * columns * place, place, 1, columns * place, place});
  for (const int64_t value : {s.stride, s.stride, int64_t{1}, int64_t{1}, above, left}) p.word(value);
  const std::string what = std::string(dtype) + " convolution for its " + result + ", " + std::to_string(s.channels) + " channels";
  std::vector<T>& got = kind == "input" ? image : kind == "filter" ? filter : output;
  p.run({image.data(), filter.data(), output.data()}, 2, what);
  // Convolutions of float32 by fewer products divide, so what they sum is no longer whole.
  double most = 0, error = 0;
  for (size_t i = 0; i < got.size(); i++) {
    most = std::max(most, std::fabs(want[i]));
    error = std::max(error, std::fabs(static_cast<double>(got[i]) - want[i]));
  }
  expect(error <= (sizeof(T) == 4 ? 1e-5 * most : 0), what);
}

template <class T>
void checkType(const char* dtype, bool quick) {
  const int64_t products[][3] = {{1, 1, 1}, {3, 5, 2}, {1, 40, 33}, {33, 40, 1}, {7, 16, 8}, {15, 31, 33}, {29, 33, 10},
                                 {64, 8, 14}, {65, 64, 63}, {130, 20, 70}, {20, 650, 40}, {16, 1024, 33},
                                 {210, 70, 201}};
  for (const auto& s : products)
    for (int turn = 0; turn < 4; turn++)
      if (!quick || s[0] * s[1] * s[2] < 40000) checkDot<T>(dtype, s[0], s[1], s[2], turn >= 2, turn % 2 == 1, 2);
  for (const int64_t n : {1, 7, 16, 17, 100, 1025, 5000}) {
    if (quick && n > 1100) continue;
    checkMap<T>(dtype, "add", n, true, 0, [](double x, double y) { return static_cast<double>(static_cast<T>(x + y)); });
    checkMap<T>(dtype, "max", n, true, 0, [](double x, double y) { return x > y ? x : y; });
    checkMap<T>(dtype, "div", n, true, 1e-6, [](double x, double y) { return x / y; });
    checkMap<T>(dtype, "pow", n, true, 1e-6, [](double x, double y) { return std::pow(x, y); });
    const struct {
      const char* name;
      double (*f)(double);
    } functions[] = {{"exp", std::exp}, {"log", std::log}, {"tanh", std::tanh}, {"erf", std::erf}, {"sin", std::sin},
                     {"cos", std::cos}, {"expm1", std::expm1}, {"log1p", std::log1p}, {"sqrt", std::sqrt}};
    for (const auto& f : functions) checkMap<T>(dtype, f.name, n, false, 2e-6, [&](double x, double) { return f.f(x); });
  }
  const int64_t blocks[][2] = {{1, 1}, {1, 100}, {100, 1}, {7, 5}, {64, 10}, {200, 17}, {33, 40}, {3, 3000}, {3000, 3}, {70, 1030}};
  for (const auto& s : blocks)
    for (const int axis : {0, 1})
      if (!quick || s[0] * s[1] < 5000)
        for (const char* op : {"sum", "max"}) checkReduce<T>(dtype, op, s[0], s[1], axis);
  const Conv convolutions[] = {{1, 5, 6, 3, 3, 4, 1, true},    {2, 9, 7, 2, 2, 18, 2, false}, {2, 14, 14, 32, 3, 33, 1, true},
                               {3, 8, 17, 20, 2, 20, 1, false}, {20, 7, 7, 16, 3, 16, 1, true}, {1, 20, 20, 48, 1, 64, 1, true},
                               {2, 9, 10, 20, 1, 33, 2, false}, {11, 14, 14, 16, 3, 16, 1, true}};
  for (const Conv& s : convolutions)
    if (!quick || s.batch * s.height * s.width * s.channels < 1000)
      for (const char* result : {"output", "input", "filter"}) checkConv<T>(dtype, result, s);
}

}  // namespace

int main(int argc, char**) {
  const bool quick = argc > 1;
  if (!*tl_variant()) {
    std::fprintf(stderr, "the library was built for another processor\n");
    return 1;
  }
  checkType<float>("f32", quick);
  checkType<double>("f64", quick);
  for (const int64_t n : {1, 5, 33, 1000, 5000}) {
    if (quick && n > 1000) continue;
    checkJoined(n);
    checkRandom(n);
  }
  for (const int axis : {0, 1})
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{5, 33}, {70, 40}, {3, 4099}, {2, 700000}})
      if (!quick || rows * columns < 5000) checkSquares(rows, columns, axis);
  if (!quick)
    for (const int axis : {0, 1}) checkReduce<float>("f32", "sum", 3, 700000, axis);
  for (const char* damaged : {"empty", "cut"}) {
    const int64_t words[] = {2, 0, 1};
    char error[64] = "";
    expect(tl_program_create(words, std::string(damaged) == "empty" ? 0 : 3, error, sizeof(error)) == nullptr && *error,
           std::string("a damaged program: ") + damaged);
  }
  std::printf("%s, %d processors: %d checks, %d failed\n", tl_variant(), tl_processors(), checks, failures);
  return failures == 0 ? 0 : 1;
}
