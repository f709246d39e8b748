/**
 * Matrix products of tensorloom's library beside those of other libraries, in turns in one process.
 *
 *   gemm LIBRARY[,LIBRARY…] THREADS ROUNDS [FILTER]   prints one JSON object per line: the case and the best GFLOP/s of each
 *
 * The first library is the one measured; further ones, such as other builds, appear under the names of their files.
 * Peers are opened at run time where they are installed: oneDNN, OpenBLAS, and the MKL inside PyTorch
 * (TORCH_LIB names its folder), so that nothing is needed to build this. Each side has its arrays in such memory as a session gives it.
 */
#include <cmath>
#include <cstring>
#include <memory>

#include "turns.h"

namespace {

template <class F>
F symbol(void* library, const char* name) {
  return library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
}

struct Case {
  int64_t batch, m, k, n;
  bool ta, tb;
  bool wide;  // float64
};

/** Sessions take memory of at least so many bytes from the library, which asks for large pages. */
constexpr int64_t kLargeBlock = 1 << 20;

/** tensorloom: a program of one `dot` instruction. */
std::function<void()> ours(Loom& loom, const Case& c, void* a, void* b, void* out, int threads) {
  std::vector<int64_t> words = {1, loom.code("instruction", "dot")};
  const int64_t dtype = loom.code("dtype", c.wide ? "f64" : "f32");
  const auto view = [&](int64_t slot, int64_t rows, int64_t columns, bool turned) {
    words.insert(words.end(), {dtype, slot, slot, 0, 3, c.batch, rows, columns, rows * columns, turned ? 1 : columns,
                               turned ? rows : 1});
  };
  view(0, c.m, c.k, c.ta);
  view(1, c.k, c.n, c.tb);
  view(2, c.m, c.n, false);
  words.insert(words.end(), {0, -1, 0, 0, -1});  // one product, not packed, added to nothing, no map follows, with memory of its own
  return loom.prepare(words, {a, b, out}, threads);
}

template <class T>
using CblasGemm = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
template <class T>
using FortranGemm = void (*)(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*,
                             const T*, const int*, const T*, T*, const int*);
template <class T>
using FortranBatch = void (*)(const char*, const char*, const int*, const int*, const int*, const T*, const T* const*,
                              const int*, const T* const*, const int*, const T*, T* const*, const int*, const int*,
                              const int*);

struct Peer {
  const char* name;
  std::function<std::function<void()>(const Case&, void*, void*, void*)> prepare;
};

template <class T>
std::function<void()> overBatch(const Case& c, void* a, void* b, void* out,
                                std::function<void(const T*, const T*, T*)> one) {
  return [=] {
    for (int64_t i = 0; i < c.batch; i++)
      one(static_cast<T*>(a) + i * c.m * c.k, static_cast<T*>(b) + i * c.k * c.n, static_cast<T*>(out) + i * c.m * c.n);
  };
}

std::vector<Peer> openPeers(int threads) {
  std::vector<Peer> peers;
  const std::string count = std::to_string(threads);
  setenv("OMP_NUM_THREADS", count.c_str(), 1);
  setenv("MKL_NUM_THREADS", count.c_str(), 1);
  setenv("OPENBLAS_NUM_THREADS", count.c_str(), 1);
  void* dnnl = dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!dnnl) dnnl = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  using DnnlGemm = int (*)(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float,
                           float*, int64_t);
  if (const auto gemm = symbol<DnnlGemm>(dnnl, "dnnl_sgemm"))
    peers.push_back({"oneDNN", [gemm](const Case& c, void* a, void* b, void* out) -> std::function<void()> {
                       if (c.wide) return nullptr;
                       return overBatch<float>(c, a, b, out, [gemm, c](const float* a, const float* b, float* out) {
                         gemm(c.ta ? 'T' : 'N', c.tb ? 'T' : 'N', c.m, c.n, c.k, 1, a, c.ta ? c.m : c.k, b,
                              c.tb ? c.k : c.n, 0, out, c.n);
                       });
                     }});
  void* blas = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  const auto s = symbol<CblasGemm<float>>(blas, "cblas_sgemm");
  const auto d = symbol<CblasGemm<double>>(blas, "cblas_dgemm");
  if (s && d)
    peers.push_back({"OpenBLAS", [s, d](const Case& c, void* a, void* b, void* out) -> std::function<void()> {
                       const int m = static_cast<int>(c.m), n = static_cast<int>(c.n), k = static_cast<int>(c.k);
                       const int ta = c.ta ? 112 : 111, tb = c.tb ? 112 : 111, lda = c.ta ? m : k, ldb = c.tb ? k : n;
                       if (c.wide)
                         return overBatch<double>(c, a, b, out, [=](const double* a, const double* b, double* out) {
                           d(101, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, out, n);
                         });
                       return overBatch<float>(c, a, b, out, [=](const float* a, const float* b, float* out) {
                         s(101, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, out, n);
                       });
                     }});
  const char* torch = std::getenv("TORCH_LIB");
  void* mkl = torch ? dlopen((std::string(torch) + "/libtorch_cpu.so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  const auto fs = symbol<FortranGemm<float>>(mkl, "SGEMM");
  const auto fd = symbol<FortranGemm<double>>(mkl, "DGEMM");
  const auto bs = symbol<FortranBatch<float>>(mkl, "SGEMM_BATCH");
  const auto bd = symbol<FortranBatch<double>>(mkl, "DGEMM_BATCH");
  const auto setThreads = symbol<int (*)(int)>(mkl, "MKL_Set_Num_Threads_Local");
  if (setThreads) setThreads(threads);
  if (fs && fd && bs && bd)
    // Fortran's matrices are stored by columns: there c' = b' a'.
    peers.push_back({"MKL", [=](const Case& c, void* a, void* b, void* out) -> std::function<void()> {
                       const auto prepared = [=](auto zero, auto gemm, auto batched) -> std::function<void()> {
                         using T = decltype(zero);
                         const int m = static_cast<int>(c.m), n = static_cast<int>(c.n), k = static_cast<int>(c.k);
                         const int lda = c.ta ? m : k, ldb = c.tb ? k : n;
                         const char ta = c.ta ? 'T' : 'N', tb = c.tb ? 'T' : 'N';
                         std::vector<const T*> as, bs;
                         std::vector<T*> outs;
                         for (int64_t i = 0; i < c.batch; i++) {
                           as.push_back(static_cast<T*>(a) + i * c.m * c.k);
                           bs.push_back(static_cast<T*>(b) + i * c.k * c.n);
                           outs.push_back(static_cast<T*>(out) + i * c.m * c.n);
                         }
                         return [=] {
                           const T one = 1, none = 0;
                           const int groups = 1, size = static_cast<int>(c.batch);
                           if (c.batch == 1)
                             gemm(&tb, &ta, &n, &m, &k, &one, bs[0], &ldb, as[0], &lda, &none, outs[0], &n);
                           else
                             batched(&tb, &ta, &n, &m, &k, &one, bs.data(), &ldb, as.data(), &lda, &none, outs.data(), &n,
                                     &groups, &size);
                         };
                       };
                       return c.wide ? prepared(0.0, fd, bd) : prepared(0.0f, fs, bs);
                     }});
  return peers;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const int64_t plain[][4] = {
      {1, 64, 64, 64},      {1, 96, 96, 96},       {1, 128, 128, 128},   {1, 256, 256, 256},  {1, 384, 384, 384},
      {1, 512, 512, 512},   {1, 768, 768, 768},    {1, 1024, 1024, 1024}, {1, 2048, 2048, 2048}, {1, 4096, 4096, 4096},
      {1, 128, 784, 512},   {1, 784, 128, 512},    {1, 128, 512, 784},   {1, 512, 128, 784},  {1, 512, 128, 10},
      {1, 128, 512, 10},    {1, 128, 10, 512},     {1, 512, 10, 128},    {1, 3, 5, 2},        {1, 1, 784, 512},
      {1, 512, 784, 1},     {1, 2048, 2048, 1},    {1, 32, 192, 512},    {1, 192, 32, 512},   {1, 32, 512, 192},
      {32, 64, 32, 64},     {32, 64, 64, 32},      {1000, 8, 8, 8},      {1000, 16, 16, 16},  {1, 512, 128, 512},
      {1, 512, 512, 128},   {1, 8, 1024, 1024},    {1, 64, 3136, 1024},  {1, 64, 1024, 3136}, {1, 3136, 64, 1024},
  };
  for (const bool wide : {false, true})
    for (const auto& s : plain)
      for (int turn = 0; turn < 4; turn++) {
        if (s[1] * s[2] * s[3] > int64_t{1} << 33 && turn > 0) continue;  // one of the largest will do
        all.push_back({s[0], s[1], s[2], s[3], turn >= 2, turn % 2 == 1, wide});
      }
  return all;
}

std::string describe(const Case& c) {
  char text[96];
  std::snprintf(text, sizeof(text), "%s %s%lldx%lldx%lld %c%c", c.wide ? "f64" : "f32",
                c.batch > 1 ? (std::to_string(c.batch) + " of ").c_str() : "", static_cast<long long>(c.m),
                static_cast<long long>(c.k), static_cast<long long>(c.n), c.ta ? 't' : 'n', c.tb ? 't' : 'n');
  return text;
}

/** The arrays of one case. */
struct Arrays {
  void *a, *b, *out;
};

Arrays arraysOf(const Case& c, const std::function<void*(int64_t)>& allocate) {
  const int64_t size = c.wide ? 8 : 4;
  const auto memory = [&](int64_t rows, int64_t columns) {
    const int64_t count = c.batch * rows * columns;
    void* block = allocate(count * size);
    for (int64_t i = 0; i < count; i++)
      if (c.wide)
        static_cast<double*>(block)[i] = static_cast<double>(i * 7919 % 2003) / 1000 - 1;
      else
        static_cast<float*>(block)[i] = static_cast<float>(i * 7919 % 2003) / 1000 - 1;
    return block;
  };
  return {memory(c.m, c.k), memory(c.k, c.n), memory(c.m, c.n)};
}

/** Memory as TensorFlow and PyTorch have it. */
void* alignedMemory(int64_t bytes) { return std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)); }

double largestDifference(const Case& c, const void* ours, const void* theirs) {
  double worst = 0;
  for (int64_t i = 0; i < c.batch * c.m * c.n; i++) {
    const double x = c.wide ? static_cast<const double*>(ours)[i] : static_cast<const float*>(ours)[i];
    const double y = c.wide ? static_cast<const double*>(theirs)[i] : static_cast<const float*>(theirs)[i];
    worst = std::max(worst, std::abs(x - y));
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 1;
  const int threads = std::atoi(argv[2]), rounds = std::atoi(argv[3]);
  std::vector<std::pair<std::string, std::unique_ptr<Loom>>> looms;
  for (std::string rest = argv[1], path; !rest.empty(); rest = rest.substr(std::min(rest.size(), path.size() + 1))) {
    path = rest.substr(0, rest.find(','));
    const std::string name = looms.empty() ? "tensorloom" : path.substr(path.rfind('/') + 1);
    looms.push_back({name, std::make_unique<Loom>(path.c_str())});
  }
  const std::vector<Peer> peers = openPeers(threads);
  std::vector<Case> chosen;
  for (const Case& c : cases())
    if (argc <= 4 || describe(c).find(argv[4]) != std::string::npos) chosen.push_back(c);
  std::vector<Arrays> own, others;
  std::vector<Contest> contests;
  for (const Case& c : chosen) {
    const Arrays& mine = own.emplace_back(arraysOf(c, [&](int64_t bytes) {
      return bytes < kLargeBlock ? alignedMemory(bytes) : looms[0].second->allocate(bytes);
    }));
    const Arrays& theirs = others.emplace_back(arraysOf(c, alignedMemory));
    Contest contest = {describe(c), 2.0 * static_cast<double>(c.batch * c.m) * static_cast<double>(c.k * c.n), {}};
    for (auto& [name, loom] : looms) contest.by.push_back({name, ours(*loom, c, mine.a, mine.b, mine.out, threads)});
    for (const Peer& peer : peers)
      if (auto run = peer.prepare(c, theirs.a, theirs.b, theirs.out)) contest.by.push_back({peer.name, run});
    contests.push_back(contest);
  }
  takeTurns(contests, rounds, threads);
  for (size_t i = 0; i < chosen.size(); i++) {
    print(contests[i], threads);
    const bool compared = contests[i].by.size() > looms.size();
    std::printf(",\"difference\":%.3g}\n", compared ? largestDifference(chosen[i], own[i].out, others[i].out) : 0.0);
  }
}
