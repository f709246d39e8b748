/**
 * The `random` instruction: bit for bit TensorFlow's numbers. Normals therefore use the C library's float functions, and
 * this file must be compiled without contraction of a * b + c.
 */
#include <algorithm>
#include <cmath>

#include "../core/pool.h"
#include "../core/program.h"
#include "../simd/kernels.h"
#include "philox.h"

namespace tl {
namespace {

constexpr double kTwoPi = 2.0 * 3.14159265358979323846;

float unitFloat(uint32_t x) {
  const uint32_t bits = 0x3f800000 | (x & 0x7fffff);
  float f;
  std::memcpy(&f, &bits, 4);
  return f - 1.0f;
}

double unitDouble(uint32_t high, uint32_t low) {
  const uint64_t bits = 0x3ff0000000000000 | static_cast<uint64_t>(high & 0xfffff) << 32 | low;
  double d;
  std::memcpy(&d, &bits, 8);
  return d - 1.0;
}

/** The sine and the cosine of the C library, which has both at once in some places. */
void sineAndCosine(float angle, float* sine, float* cosine) {
#if defined(__GLIBC__)
  sincosf(angle, sine, cosine);
#else
  *sine = std::sin(angle);
  *cosine = std::cos(angle);
#endif
}

/** Two normals from two words; the sine comes first. */
void normalPair(uint32_t x0, uint32_t x1, float out[2]) {
  const float u = std::max(unitFloat(x0), 1.0e-7f);
  const float angle = static_cast<float>(kTwoPi * static_cast<double>(unitFloat(x1)));
  const float radius = std::sqrt(-2.0f * std::log(u));
  float sine, cosine;
  sineAndCosine(angle, &sine, &cosine);
  out[0] = sine * radius;
  out[1] = cosine * radius;
}
void normalPair(const uint32_t x[4], double out[2]) {
  const double u = std::max(unitDouble(x[0], x[1]), 1.0e-7);
  const double angle = kTwoPi * unitDouble(x[2], x[3]);
  const double radius = std::sqrt(-2.0 * std::log(u));
  out[0] = std::sin(angle) * radius;
  out[1] = std::cos(angle) * radius;
}

/** Truncated normals of a group so far. */
template <class T>
struct Truncated {
  static constexpr int kWanted = std::is_same_v<T, double> ? 2 : 4;
  T* out;
  int have = 0;

  bool isDone() const { return have == kWanted; }
  /** Takes those normals of a block that lie within two deviations, as long as any are wanted. */
  void take(const uint32_t* x) {
    T z[kWanted];
    if constexpr (std::is_same_v<T, double>) {
      normalPair(x, z);
    } else {
      normalPair(x[0], x[1], z);
      normalPair(x[2], x[3], z + 2);
    }
    for (int i = 0; i < kWanted && have < kWanted; i++)
      if (std::fabs(z[i]) < T(2)) out[have++] = z[i];
  }
};

/** Blocks that are drawn in one go; what they are made into is then in the first cache. */
constexpr int64_t kDrawn = 256;

class Random final : public Instruction {
 public:
  Random(Distribution distribution, const View& state, int64_t reserve, const View& low, const View& high, const View& output)
      : distribution_(distribution), state_(state), low_(low), high_(high), output_(output), reserve_(reserve) {
    const bool integers = distribution == Distribution::uniformInt || distribution == Distribution::bits;
    const Kind kind = kindOf(output.dtype);
    const bool isFloat = kind == Kind::f32 || kind == Kind::f64;
    const bool isWideInt = !isFloat && sizeOf(output.dtype) >= 4 && sizeOf(output.dtype) <= 8 && kind != Kind::c64;
    if (integers ? !isWideInt : !isFloat) refuse("a distribution is not defined for its type");
    if (distribution == Distribution::uniformInt && (low.dtype != output.dtype || high.dtype != output.dtype))
      refuse("the limits of a distribution have another type than its numbers");
  }

  Failure run(void* const* table) override {
    Failure failure;
    Philox philox(state_.as<uint8_t>(table));
    switch (output_.dtype) {
      case DType::f32: failure = runFloat(table, philox); break;
      case DType::f16: case DType::bf16: failure = runHalf(table, philox); break;
      case DType::f64: failure = runDouble(table, philox); break;
      default: failure = runInt(table, philox);
    }
    if (failure.code == FailureCode::none) {
      philox.skip(static_cast<uint64_t>(reserve_));
      philox.save(state_.as<uint8_t>(table));
    }
    return failure;
  }

 private:
  /** Calls fill(first, count, philox) for pieces of all groups of `size` outputs; groups begin `blocks` blocks apart. */
  template <class Fill>
  void pieces(const Philox& first, int64_t size, int64_t blocks, const Fill& fill) {
    const int64_t n = output_.size(), count = (n + size - 1) / size;
    const int64_t parts = std::min(count, Pool::get().parts(static_cast<double>(n) * cost(), 100e3));
    Pool::get().run(parts, [&](int64_t part) {
      const Range range = rangeOf(part, parts, count);
      for (int64_t g = range.begin; g < range.end; g += kDrawn) {
        Philox philox = first;
        philox.skip(static_cast<uint64_t>(g * blocks));
        fill(g, std::min(kDrawn, range.end - g), philox);
      }
    });
  }
  /** Nanoseconds of a number, about. */
  double cost() const {
    return distribution_ == Distribution::truncatedNormal ? 15 : distribution_ == Distribution::normal ? 10 : 1;
  }

  /** Calls fill(words, out) for every group of `size` outputs, each from a block of its own. */
  template <class T, int size, class Fill>
  void groups(const Philox& first, T* out, const Fill& fill) {
    pieces(first, size, 1, [&](int64_t start, int64_t count, const Philox& philox) {
      uint32_t words[4 * kDrawn];
      philox.blocks(count, 1, words);
      for (int64_t g = 0; g < count; g++) {
        T group[size];
        fill(words + 4 * g, group);
        std::copy_n(group, std::min<int64_t>(size, output_.size() - (start + g) * size), out + (start + g) * size);
      }
    });
  }

  /** Groups that take as many blocks as they need of `blocks`; most need one. */
  template <class T>
  void truncatedGroups(const Philox& first, T* out, int64_t blocks) {
    constexpr int size = Truncated<T>::kWanted;
    pieces(first, size, blocks, [&](int64_t start, int64_t count, const Philox& philox) {
      uint32_t words[4 * kDrawn];
      philox.blocks(count, static_cast<uint64_t>(blocks), words);
      for (int64_t g = 0; g < count; g++) {
        T group[size];
        Truncated<T> truncated = {group};
        truncated.take(words + 4 * g);
        if (!truncated.isDone()) {
          Philox more = philox;
          for (more.skip(static_cast<uint64_t>(g * blocks) + 1); !truncated.isDone();) {
            uint32_t x[4];
            more.next(x);
            truncated.take(x);
          }
        }
        std::copy_n(group, std::min<int64_t>(size, output_.size() - (start + g) * size), out + (start + g) * size);
      }
    });
  }

  void fillFloats(const Philox& philox, float* out) {
    if (distribution_ == Distribution::truncatedNormal) {
      truncatedGroups(philox, out, 256);
    } else if (distribution_ == Distribution::normal) {
      groups<float, 4>(philox, out, [](const uint32_t* x, float* to) {
        normalPair(x[0], x[1], to);
        normalPair(x[2], x[3], to + 2);
      });
    } else {
      pieces(philox, 4, 1, [&](int64_t start, int64_t count, const Philox& at) {
        uint32_t words[4 * kDrawn];
        at.blocks(count, 1, words);
        simd().unitFloats(std::min(4 * count, output_.size() - 4 * start), words, out + 4 * start);
      });
    }
  }

  Failure runFloat(void* const* table, const Philox& philox) {
    fillFloats(philox, output_.as<float>(table));
    return {};
  }

  Failure runHalf(void* const* table, const Philox& philox) {
    const int dtype = static_cast<int>(output_.dtype);
    const bool half = output_.dtype == DType::f16;
    if (distribution_ != Distribution::uniform) {
      std::vector<float> wide(static_cast<size_t>(output_.size()));
      fillFloats(philox, wide.data());
      simd().store[dtype](output_.size(), output_.at(table), 1, wide.data(), 1);
      return {};
    }
    // Uniform halves have their own recipe: mantissa bits under the exponent of one, minus one.
    groups<uint16_t, 4>(philox, output_.as<uint16_t>(table), [&](const uint32_t* x, uint16_t* to) {
      for (int i = 0; i < 4; i++) {
        const uint16_t bits = static_cast<uint16_t>(half ? 0x3c00 | (x[i] & 0x3ff) : 0x3f80 | (x[i] & 0x7f));
        float value;
        simd().load[dtype](1, &value, 1, &bits, 1);
        value -= 1.0f;
        simd().store[dtype](1, to + i, 1, &value, 1);
      }
    });
    return {};
  }

  Failure runDouble(void* const* table, const Philox& philox) {
    double* out = output_.as<double>(table);
    if (distribution_ == Distribution::truncatedNormal) {
      truncatedGroups(philox, out, 128);
    } else {
      const bool normal = distribution_ == Distribution::normal;
      groups<double, 2>(philox, out, [=](const uint32_t* x, double* to) {
        if (normal) return normalPair(x, to);
        to[0] = unitDouble(x[0], x[1]);
        to[1] = unitDouble(x[2], x[3]);
      });
    }
    return {};
  }

  Failure runInt(void* const* table, const Philox& philox) {
    if (distribution_ == Distribution::bits) {
      if (sizeOf(output_.dtype) != 4) return fillInt<uint64_t, 2>(table, philox, 0, 0);
      return fillInt<uint32_t, 4>(table, philox, 0, 0);
    }
    if (output_.size() == 0) return {};
    switch (output_.dtype) {
      case DType::i32: return between<int32_t, uint32_t, 4>(table, philox);
      case DType::u32: return between<uint32_t, uint32_t, 4>(table, philox);
      case DType::i64: return between<int64_t, uint64_t, 2>(table, philox);
      default: return between<uint64_t, uint64_t, 2>(table, philox);
    }
  }

  template <class T, class Word, int size>
  Failure between(void* const* table, const Philox& philox) {
    const T low = *low_.as<T>(table), high = *high_.as<T>(table);
    if (low >= high) return {FailureCode::range, 0, static_cast<double>(low)};
    return fillInt<Word, size>(table, philox, static_cast<Word>(low), static_cast<Word>(high) - static_cast<Word>(low));
  }

  /** low + word mod range; a range of 0 stands for all words. */
  template <class Word, int size>
  Failure fillInt(void* const* table, const Philox& philox, Word low, Word range) {
    groups<Word, size>(philox, output_.as<Word>(table), [=](const uint32_t* x, Word* to) {
      for (int i = 0; i < size; i++) {
        Word word;
        if constexpr (size == 4) word = x[i];
        else word = static_cast<uint64_t>(x[2 * i + 1]) << 32 | x[2 * i];
        to[i] = static_cast<Word>(low + (range == 0 ? word : word % range));
      }
    });
    return {};
  }

  Distribution distribution_;
  View state_, low_, high_, output_;
  int64_t reserve_;
};

}  // namespace

InstructionPtr decodeRandom(Reader& in) {
  const Distribution distribution = in.code<Distribution>("distribution");
  const View state = in.view();
  const int64_t reserve = in.word(0, INT64_MAX, "reserve");
  View low, high;
  if (distribution == Distribution::uniformInt) {
    low = in.view();
    high = in.view();
  }
  return make<Random>(distribution, state, reserve, low, high, in.view());
}

}  // namespace tl
