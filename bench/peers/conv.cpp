/**
 * Convolutions of tensorloom's library beside oneDNN's, in turns in one process.
 *
 *   conv LIBRARY THREADS ROUNDS [FILTER]   prints one JSON object per line: the case and the best GFLOP/s of each
 *
 * Built with -DHAS_DNNL and -ldnnl where oneDNN (version 2) is installed. It may choose its own layouts for all arrays, as
 * frameworks let it; images and filters are brought there once, and that is not part of the time.
 */
#if defined(HAS_DNNL)
#include <dnnl.hpp>
#endif

#include <memory>

#include "turns.h"

namespace {

struct Case {
  const char* name;
  int64_t batch, size, channels, taps, features, stride;
  int64_t out() const { return (size + stride - 1) / stride; }
  int64_t before() const { return std::max<int64_t>(0, (out() - 1) * stride + taps - size) / 2; }
  int64_t after() const { return std::max<int64_t>(0, (out() - 1) * stride + taps - size) - before(); }
  double flops() const {
    return 2.0 * static_cast<double>(batch * out() * out() * features) * static_cast<double>(channels * taps * taps);
  }
};

/** The CNN of the training steps, and the layers of ResNet-50, with padding. */
constexpr Case kCases[] = {
    {"CNN 1", 64, 28, 1, 5, 32, 1},          {"CNN 2", 64, 14, 32, 5, 64, 1},
    {"ResNet 7x7", 2, 224, 3, 7, 64, 2},     {"ResNet 56 1x1 in", 4, 56, 256, 1, 64, 1},
    {"ResNet 56 3x3", 4, 56, 64, 3, 64, 1},  {"ResNet 56 1x1 out", 4, 56, 64, 1, 256, 1},
    {"ResNet 28 3x3", 8, 28, 128, 3, 128, 1}, {"ResNet 28 1x1 out", 8, 28, 128, 1, 512, 1},
    {"ResNet 28 3x3/2", 4, 56, 128, 3, 128, 2}, {"ResNet 14 3x3", 16, 14, 256, 3, 256, 1},
    {"ResNet 14 1x1 out", 16, 14, 256, 1, 1024, 1}, {"ResNet 14 1x1/2", 8, 28, 512, 1, 1024, 2},
    {"ResNet 7 3x3", 32, 7, 512, 3, 512, 1}, {"ResNet 7 1x1 in", 32, 7, 2048, 1, 512, 1},
};

enum Pass { forward, inputGradient, filterGradient };
constexpr const char* kPasses[] = {"forward", "input gradient", "filter gradient"};

/** Numbers in memory that begins with a line of the cache, as arrays of programs do. */
struct Aligned {
  void operator()(float* data) const { std::free(data); }
};
using Numbers = std::unique_ptr<float, Aligned>;

Numbers numbers(int64_t count) {
  const size_t size = static_cast<size_t>(count);
  Numbers all(static_cast<float*>(std::aligned_alloc(64, (size * sizeof(float) + 63) / 64 * 64)));
  for (size_t i = 0; i < size; i++) all.get()[i] = static_cast<float>(i * 7919 % 2003) / 1000 - 1;
  return all;
}

/** tensorloom: a program of one `conv` instruction. */
std::function<void()> ours(Loom& loom, const Case& c, Pass pass, std::vector<void*> arrays, int threads) {
  constexpr const char* results[] = {"output", "input", "filter"};
  std::vector<int64_t> words = {1, loom.code("instruction", "conv"), loom.code("conv", results[pass])};
  const int64_t f32 = loom.code("dtype", "f32"), out = c.out();
  const auto view = [&](int64_t slot, std::vector<int64_t> numbers) {
    words.insert(words.end(), {f32, slot, slot, 0, 5});
    words.insert(words.end(), numbers.begin(), numbers.end());
  };
  const auto picture = [](int64_t batch, int64_t size, int64_t channels) -> std::vector<int64_t> {
    return {batch, 1, channels, size, size, size * size * channels, channels, 1, size * channels, channels};
  };
  view(0, picture(c.batch, c.size, c.channels));
  view(1, {1, c.features, c.channels, c.taps, c.taps, 0, 1, c.features, c.taps * c.channels * c.features, c.channels * c.features});
  view(2, picture(c.batch, out, c.features));
  words.insert(words.end(), {c.stride, c.stride, 1, 1, c.before(), c.before()});
  return loom.prepare(words, arrays, threads);
}

#if defined(HAS_DNNL)
std::function<void()> oneDnn(const Case& c, Pass pass) {
  using namespace dnnl;
  static engine cpu(engine::kind::cpu, 0);
  static stream queue(cpu);
  using dims = memory::dims;
  const auto any = [](const dims& shape) { return memory::desc(shape, memory::data_type::f32, memory::format_tag::any); };
  const auto source = any({c.batch, c.channels, c.size, c.size}), weights = any({c.features, c.channels, c.taps, c.taps});
  const auto target = any({c.batch, c.features, c.out(), c.out()});
  const dims strides = {c.stride, c.stride}, before = {c.before(), c.before()}, after = {c.after(), c.after()};
  const auto algorithm = algorithm::convolution_direct;
  const convolution_forward::primitive_desc ahead(
      {prop_kind::forward_training, algorithm, source, weights, target, strides, before, after}, cpu);
  const auto filled = [](const memory::desc& desc) {
    memory m(desc, cpu);
    float* data = static_cast<float*>(m.get_data_handle());
    for (size_t i = 0; i < desc.get_size() / sizeof(float); i++) data[i] = static_cast<float>(i * 7919 % 2003) / 1000 - 1;
    return m;
  };
  const auto running = [&](const primitive& p, std::unordered_map<int, memory> args) -> std::function<void()> {
    return [p, args] {
      p.execute(queue, args);
      queue.wait();
    };
  };
  if (pass == forward)
    return running(convolution_forward(ahead), {{DNNL_ARG_SRC, filled(ahead.src_desc())},
                                                {DNNL_ARG_WEIGHTS, filled(ahead.weights_desc())},
                                                {DNNL_ARG_DST, filled(ahead.dst_desc())}});
  if (pass == inputGradient) {
    const convolution_backward_data::primitive_desc d({algorithm, source, weights, target, strides, before, after}, cpu, ahead);
    return running(convolution_backward_data(d), {{DNNL_ARG_DIFF_SRC, filled(d.diff_src_desc())},
                                                  {DNNL_ARG_WEIGHTS, filled(d.weights_desc())},
                                                  {DNNL_ARG_DIFF_DST, filled(d.diff_dst_desc())}});
  }
  const convolution_backward_weights::primitive_desc d({algorithm, source, weights, target, strides, before, after}, cpu, ahead);
  return running(convolution_backward_weights(d), {{DNNL_ARG_SRC, filled(d.src_desc())},
                                                   {DNNL_ARG_DIFF_WEIGHTS, filled(d.diff_weights_desc())},
                                                   {DNNL_ARG_DIFF_DST, filled(d.diff_dst_desc())}});
}
#endif

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 1;
  const int threads = std::atoi(argv[2]), rounds = std::atoi(argv[3]);
  setenv("OMP_NUM_THREADS", argv[2], 1);
  Loom loom(argv[1]);
  std::vector<Numbers> arrays;
  std::vector<Contest> contests;
  for (const Case& c : kCases)
    for (const Pass pass : {forward, inputGradient, filterGradient}) {
      Contest contest = {std::string(c.name) + ", " + kPasses[pass], c.flops(), {}};
      if (argc > 4 && contest.name.find(argv[4]) == std::string::npos) continue;
      std::vector<void*> table;
      for (const int64_t count : {c.batch * c.size * c.size * c.channels, c.taps * c.taps * c.channels * c.features,
                                  c.batch * c.out() * c.out() * c.features})
        table.push_back(arrays.emplace_back(numbers(count)).get());
      contest.by.push_back({"tensorloom", ours(loom, c, pass, table, threads)});
#if defined(HAS_DNNL)
      contest.by.push_back({"oneDNN", oneDnn(c, pass)});
#endif
      contests.push_back(contest);
    }
  takeTurns(contests, rounds, threads);
  for (const Contest& contest : contests) {
    print(contest, threads);
    std::printf("}\n");
  }
}
