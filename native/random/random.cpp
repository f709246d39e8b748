/**
 * The `random` instruction: bit for bit TensorFlow's numbers. Normals of float64 therefore use the C library's functions, and
 * this file must be compiled without contraction of a * b + c; those of float32 are in normals.simd.cpp.
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

double unitDouble(uint32_t high, uint32_t low) {
  const uint64_t bits = 0x3ff0000000000000 | static_cast<uint64_t>(high & 0xfffff) << 32 | low;
  double d;
  std::memcpy(&d, &bits, 8);
  return d - 1.0;
}

/** Two normals from four words; the sine comes first. */
void normalPair(const uint32_t x[4], double out[2]) {
  const double u = std::max(unitDouble(x[0], x[1]), 1.0e-7);
  const double angle = kTwoPi * unitDouble(x[2], x[3]);
  const double radius = std::sqrt(-2.0 * std::log(u));
  out[0] = std::sin(angle) * radius;
  out[1] = std::cos(angle) * radius;
}

/** Numbers that are made of a block. */
template <class T> constexpr int kOfBlock = std::is_same_v<T, double> ? 2 : 4;

/** The normals of some blocks. */
void normals(int64_t blocks, const uint32_t* words, float* out) { simd().normals(2 * blocks, words, out); }
void normals(int64_t blocks, const uint32_t* words, double* out) {
  for (int64_t b = 0; b < blocks; b++) normalPair(words + 4 * b, out + 2 * b);
}

/** Truncated normals are those within two deviations. */
template <class T> bool isNear(T z) { return std::fabs(z) < T(2); }

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
    const double ofDouble = distribution_ == Distribution::truncatedNormal ? 30 : distribution_ == Distribution::normal ? 25 : 1;
    return output_.dtype == DType::f64 ? ofDouble : distribution_ == Distribution::truncatedNormal ? 3 : 1.5;
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

  /** Normals, a block for each group of them. */
  template <class T>
  void normalGroups(const Philox& first, T* out) {
    constexpr int size = kOfBlock<T>;
    pieces(first, size, 1, [&](int64_t start, int64_t count, const Philox& philox) {
      uint32_t words[4 * kDrawn];
      philox.blocks(count, 1, words);
      give(start, count, out, [&](T* to) { normals(count, words, to); });
    });
  }

  /** Calls make(to) for `count` groups; to is where they belong, or elsewhere if the last of them is cut short. */
  template <class T, class Make>
  void give(int64_t start, int64_t count, T* out, const Make& make) {
    constexpr int size = kOfBlock<T>;
    const int64_t left = output_.size() - start * size;
    if (left >= count * size) return make(out + start * size);
    T last[size * kDrawn];
    make(last);
    std::copy_n(last, left, out + start * size);
  }

  /** Groups that take as many blocks as they need of `blocks`; most need one. */
  template <class T>
  void truncatedGroups(const Philox& first, T* out, int64_t blocks) {
    pieces(first, kOfBlock<T>, blocks, [&](int64_t start, int64_t count, const Philox& philox) {
      give(start, count, out, [&](T* to) { truncate(philox, blocks, count, to); });
    });
  }
  /** Groups are filled in rounds, with the next block of each that is not full. */
  template <class T>
  static void truncate(const Philox& philox, int64_t blocks, int64_t count, T* to) {
    constexpr int size = kOfBlock<T>;
    uint32_t words[4 * kDrawn];
    T drawn[size * kDrawn];
    uint64_t offsets[kDrawn];
    struct Open {
      int64_t group;
      int have;
    } open[kDrawn];
    int64_t left = 0;
    philox.blocks(count, static_cast<uint64_t>(blocks), words);
    normals(count, words, to);
    for (int64_t g = 0; g < count; g++) {
      T* const z = to + g * size;
      bool allNear = true;
      for (int i = 0; i < size; i++) allNear &= isNear(z[i]);
      // No branch: one group in six is open, which no processor foresees.
      open[left] = {g, 0};
      left += !allNear;
    }
    for (int64_t j = 0; j < left; j++) {
      Open& o = open[j];
      T* const z = to + o.group * size;
      for (int i = 0; i < size; i++) {
        z[o.have] = z[i];
        o.have += isNear(z[i]);
      }
    }
    for (uint64_t block = 1; left > 0; block++) {
      for (int64_t j = 0; j < left; j++) offsets[j] = static_cast<uint64_t>(open[j].group * blocks) + block;
      philox.blocksAt(left, offsets, words);
      normals(left, words, drawn);
      const int64_t before = left;
      left = 0;
      for (int64_t j = 0; j < before; j++) {
        Open o = open[j];
        for (int i = 0; i < size && o.have < size; i++) {
          to[o.group * size + o.have] = drawn[j * size + i];
          o.have += isNear(drawn[j * size + i]);
        }
        open[left] = o;
        left += o.have < size;
      }
    }
  }

  void fillFloats(const Philox& philox, float* out) {
    if (distribution_ == Distribution::truncatedNormal) {
      truncatedGroups(philox, out, 256);
    } else if (distribution_ == Distribution::normal) {
      normalGroups(philox, out);
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
    } else if (distribution_ == Distribution::normal) {
      normalGroups(philox, out);
    } else {
      groups<double, 2>(philox, out, [](const uint32_t* x, double* to) {
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
