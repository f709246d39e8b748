/** Everything that has a number in encoded programs. The TypeScript side looks the numbers up by name (tl_code). */
#pragma once
#include <cstddef>
#include <cstdint>

namespace tl {

// clang-format off
#define TL_DTYPES(X) X(f16) X(bf16) X(f32) X(f64) X(i8) X(i16) X(i32) X(i64) X(u8) X(u16) X(u32) X(u64) X(bool_) X(c64) X(c128)

#define TL_OPS(X) \
  X(input) X(const_) X(index) \
  X(neg) X(abs) X(sign) X(floor) X(ceil) X(rint) X(exp) X(expm1) X(log) X(log1p) X(sqrt) X(rsqrt) X(reciprocal) X(square) \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sigmoid) \
  X(erf) X(erfc) X(erfinv) X(ndtri) X(lgamma) X(digamma) X(conj) X(not_) X(invert) \
  X(add) X(sub) X(mul) X(div) X(floordiv) X(floormod) X(truncmod) X(pow) X(max) X(min) X(atan2) X(and_) X(or_) X(xor_) \
  X(shl) X(shr) X(igamma) X(igammac) X(zeta) X(polygamma) X(nextafter) \
  X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(isnan) X(isinf) X(isfinite) X(real) X(imag) X(arg) X(cabs) \
  X(select) X(cast) X(complex)

#define TL_INSTRUCTIONS(X) X(map) X(reduce) X(dot) X(conv) X(gather) X(scatter) X(scan) X(topk) X(window) X(random) X(blocks) X(together) X(check)
#define TL_REDUCES(X) X(sum) X(prod) X(max) X(min) X(any) X(all) X(argmax) X(argmin)
#define TL_COMBINES(X) X(update) X(add) X(sub) X(mul) X(div) X(min) X(max)
#define TL_BOUNDS(X) X(error) X(zero) X(drop) X(dropNegative)
#define TL_SCANS(X) X(sum) X(prod) X(logsumexp)
#define TL_WINDOWS(X) X(max) X(argmax) X(sum) X(mean) X(pick) X(maxGradient) X(positiveMaxGradient) X(nearGradient) X(meanGradient)
#define TL_RANDOMS(X) X(uniform) X(normal) X(truncatedNormal) X(uniformInt) X(bits)
#define TL_CONV_RESULTS(X) X(output) X(input) X(filter)
#define TL_LASTS(X) X(oneRun) X(always) X(whileContent)
#define TL_FAILURES(X) X(none) X(divisionByZero) X(negativePower) X(index) X(check) X(range) X(memory)
// clang-format on

#define TL_ENUMERATOR(name) name,
enum class DType : int32_t { TL_DTYPES(TL_ENUMERATOR) count };
enum class Op : int32_t { TL_OPS(TL_ENUMERATOR) count };
enum class InstructionKind : int32_t { TL_INSTRUCTIONS(TL_ENUMERATOR) count };
enum class ReduceOp : int32_t { TL_REDUCES(TL_ENUMERATOR) count };
enum class Combine : int32_t { TL_COMBINES(TL_ENUMERATOR) count };
enum class Bounds : int32_t { TL_BOUNDS(TL_ENUMERATOR) count };
enum class ScanOp : int32_t { TL_SCANS(TL_ENUMERATOR) count };
enum class WindowOp : int32_t { TL_WINDOWS(TL_ENUMERATOR) count };
enum class Distribution : int32_t { TL_RANDOMS(TL_ENUMERATOR) count };
enum class ConvResult : int32_t { TL_CONV_RESULTS(TL_ENUMERATOR) count };
/** For how long a packed matrix stays so. */
enum class Lasts : int32_t { TL_LASTS(TL_ENUMERATOR) count };
enum class FailureCode : int32_t { TL_FAILURES(TL_ENUMERATOR) count };

/**
 * The type in which block registers hold values. Half types are computed as f32 and rounded after each operation, small
 * integers as 32-bit ones and wrapped.
 */
enum class Kind : int32_t { f32, f64, i32, i64, u32, u64, b8, c64, c128, count };

constexpr int kDTypes = static_cast<int>(DType::count);
constexpr int kKinds = static_cast<int>(Kind::count);
constexpr int kOps = static_cast<int>(Op::count);

constexpr Kind kindOf(DType d) {
  switch (d) {
    case DType::f16: case DType::bf16: case DType::f32: return Kind::f32;
    case DType::f64: return Kind::f64;
    case DType::i8: case DType::i16: case DType::i32: return Kind::i32;
    case DType::i64: return Kind::i64;
    case DType::u8: case DType::u16: case DType::u32: return Kind::u32;
    case DType::u64: return Kind::u64;
    case DType::bool_: return Kind::b8;
    case DType::c64: return Kind::c64;
    default: return Kind::c128;
  }
}

constexpr int64_t sizeOf(DType d) {
  switch (d) {
    case DType::i8: case DType::u8: case DType::bool_: return 1;
    case DType::f16: case DType::bf16: case DType::i16: case DType::u16: return 2;
    case DType::f32: case DType::i32: case DType::u32: return 4;
    case DType::c128: return 16;
    default: return 8;
  }
}

constexpr int64_t sizeOf(Kind k) {
  switch (k) {
    case Kind::b8: return 1;
    case Kind::f32: case Kind::i32: case Kind::u32: return 4;
    case Kind::c128: return 16;
    default: return 8;
  }
}

/** Whether elements in memory look exactly like elements in a register, so that no conversion is needed. */
constexpr bool isNative(DType d) { return sizeOf(d) == sizeOf(kindOf(d)); }

}  // namespace tl
