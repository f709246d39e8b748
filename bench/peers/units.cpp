/**
 * How fast the matrix unit and the vector units of this processor are, on one thread and on several at once: whether processors
 * of a virtual machine share a core shows here, and how much other programs on the same core take. Units are slower with numbers
 * than with zeros, so they get numbers.
 *
 *   units THREADS ROUNDS SECONDS   prints one JSON object per line: the unit, and the best GFLOP/s of one thread and of all; then, for
 *                                  each processor, how its speed changed in the course of some seconds, if any
 */
#include <immintrin.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr long kSteps = 20000;

struct alignas(64) TileShapes {
  unsigned char bytes[64] = {1};
  TileShapes() {
    for (int tile = 0; tile < 8; tile++) {
      bytes[16 + 2 * tile] = 64;
      bytes[48 + tile] = 16;
    }
  }
};

/** Numbers between -1 and 1: of bfloat16 for tiles, and of float32. */
alignas(64) uint16_t tiles[8 * 2048];
alignas(64) float vector[16];

void chooseNumbers() {
  uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525 + 1013904223; };
  for (uint16_t& number : tiles) number = static_cast<uint16_t>((next() >> 16 & 0x807f) | 0x3f00);
  for (float& number : vector) number = static_cast<float>(static_cast<int32_t>(next())) * 0x1p-31f;
}

/** What the library has between tiles: they go through the unit faster then if somebody else uses the core too. */
#define SPACE "\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n"

/** Four products of tiles a step: 16384 floating-point operations of bfloat16 each. */
__attribute__((target("amx-tile,amx-bf16"))) void multiplyTiles() {
  const TileShapes shapes;
  asm volatile("ldtilecfg %0" : : "m"(shapes));
  asm volatile(
      "tileloadd (%0,%1,1), %%tmm4\n tileloadd 1024(%0,%1,1), %%tmm5\n tileloadd 2048(%0,%1,1), %%tmm6\n"
      "tileloadd 3072(%0,%1,1), %%tmm7"
      : : "r"(tiles), "r"(64L));
  for (long i = 0; i < kSteps; i++)
    asm volatile(
        "tdpbf16ps %tmm6, %tmm4, %tmm0" SPACE "tdpbf16ps %tmm7, %tmm4, %tmm1" SPACE
        "tdpbf16ps %tmm6, %tmm5, %tmm2" SPACE "tdpbf16ps %tmm7, %tmm5, %tmm3" SPACE);
  asm volatile("tilerelease");
}

/** The same with factors from the first cache, as in products of matrices; a tenth of the steps. */
__attribute__((target("amx-tile,amx-bf16"))) void multiplyLoadedTiles() {
  const TileShapes shapes;
  asm volatile("ldtilecfg %0" : : "m"(shapes));
  for (long i = 0; i < kSteps / 10; i++)
    asm volatile(
        "tileloadd (%0,%1,1), %%tmm4" SPACE "tileloadd 1024(%0,%1,1), %%tmm5" SPACE "tileloadd 2048(%0,%1,1), %%tmm6" SPACE
        "tileloadd 3072(%0,%1,1), %%tmm7" SPACE "tdpbf16ps %%tmm6, %%tmm4, %%tmm0" SPACE "tdpbf16ps %%tmm7, %%tmm4, %%tmm1" SPACE
        "tdpbf16ps %%tmm6, %%tmm5, %%tmm2" SPACE "tdpbf16ps %%tmm7, %%tmm5, %%tmm3" SPACE
        : : "r"(tiles + i % 8 * 2048), "r"(64L));
  asm volatile("tilerelease");
}

/** Twelve multiply-adds a step, of 16 floats each. */
__attribute__((target("avx512f"))) void multiplyVectors() {
  asm volatile("vmovups %0, %%zmm15" : : "m"(vector) : "xmm15");
  for (long i = 0; i < kSteps; i++)
    asm volatile(
        "vfmadd213ps %%zmm15, %%zmm15, %%zmm0\n vfmadd213ps %%zmm15, %%zmm15, %%zmm1\n vfmadd213ps %%zmm15, %%zmm15, %%zmm2\n"
        "vfmadd213ps %%zmm15, %%zmm15, %%zmm3\n vfmadd213ps %%zmm15, %%zmm15, %%zmm4\n vfmadd213ps %%zmm15, %%zmm15, %%zmm5\n"
        "vfmadd213ps %%zmm15, %%zmm15, %%zmm6\n vfmadd213ps %%zmm15, %%zmm15, %%zmm7\n vfmadd213ps %%zmm15, %%zmm15, %%zmm8\n"
        "vfmadd213ps %%zmm15, %%zmm15, %%zmm9\n vfmadd213ps %%zmm15, %%zmm15, %%zmm10\n vfmadd213ps %%zmm15, %%zmm15, %%zmm11"
        : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm15");
}

double secondsOf(void (*work)()) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/** The best time, in seconds, in which all threads have done their work, each on a processor of its own. */
double best(int threads, int rounds, void (*work)()) {
  double least = 1e30;
  for (int round = 0; round < rounds; round++) {
    std::atomic<int> ready{0};
    std::vector<double> seconds(static_cast<size_t>(threads));
    std::vector<std::thread> team;
    for (int i = 0; i < threads; i++)
      team.emplace_back([&, i] {
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(i, &own);
        pthread_setaffinity_np(pthread_self(), sizeof(own), &own);
        for (ready++; ready < threads;) std::this_thread::yield();
        seconds[static_cast<size_t>(i)] = secondsOf(work);
      });
    for (std::thread& thread : team) thread.join();
    least = std::min(least, *std::max_element(seconds.begin(), seconds.end()));
  }
  return least;
}

void print(const char* unit, double flops, int threads, int rounds, void (*work)()) {
  const auto rate = [&](int count) { return 1e-9 * kSteps * flops * count / best(count, rounds, work); };
  std::printf("{\"unit\":\"%s\",\"one\":%.1f,\"all\":%.1f,\"threads\":%d}\n", unit, rate(1), rate(threads), threads);
  std::fflush(stdout);
}

/** How often a processor was as fast as it can be, in some seconds: others may use its core at times. */
void watch(int processor, double seconds, void (*work)()) {
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(processor, &own);
  pthread_setaffinity_np(pthread_self(), sizeof(own), &own);
  std::vector<double> times;
  for (double total = 0; total < seconds; total += times.back()) times.push_back(secondsOf(work));
  std::sort(times.begin(), times.end());
  const auto fast = std::upper_bound(times.begin(), times.end(), times.front() * 1.25) - times.begin();
  std::printf("{\"processor\":%d,\"fast\":%.3f,\"median\":%.3f}\n", processor,
              static_cast<double>(fast) / static_cast<double>(times.size()), times.front() / times[times.size() / 2]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 1;
  const int threads = std::atoi(argv[1]), rounds = std::atoi(argv[2]);
  const double seconds = std::atof(argv[3]);
  chooseNumbers();
  // The system must be asked for the matrix unit. A product of float32 takes six of bfloat16.
  const bool hasMatrixUnit = syscall(SYS_arch_prctl, 0x1023, 18) == 0, hasVectors = __builtin_cpu_supports("avx512f");
  if (hasMatrixUnit) print("matrix unit, float32 as six products", 4 * 16384 / 6.0, threads, rounds, multiplyTiles);
  if (hasVectors) print("vectors, float32", 12 * 32, threads, rounds, multiplyVectors);
  if ((hasMatrixUnit || hasVectors) && seconds > 0)
    for (int i = 0; i < threads; i++) watch(i, seconds, hasMatrixUnit ? multiplyLoadedTiles : multiplyVectors);
}
