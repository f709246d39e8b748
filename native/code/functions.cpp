/** Functions of float32 as lines of vector code, with the arithmetic of map/transcendental.simd.cpp. */
#include <initializer_list>

#include "lines.h"

namespace tl::code {
namespace {

Value multiplyAdd(Lines& to, Value x, Value y, Value z) { return to.add(Do::multiplyAdd, x, y, z); }

/** Highest coefficient first. */
Value polynomial(Lines& to, Value x, std::initializer_list<float> coefficients) {
  const float* c = coefficients.begin();
  Value p = to.constant(*c++);
  while (c != coefficients.end()) p = multiplyAdd(to, p, x, to.constant(*c++));
  return p;
}

/** No less than, and no more than; NaN stays. */
Value clamp(Lines& to, float least, float most, Value x) {
  return to.add(Do::max, to.constant(least), to.add(Do::min, to.constant(most), x));
}

struct Parts {
  Value shifted, n, r;
};
Parts partsOf(Lines& to, Value x) {
  const Value shift = to.constant(12582912.0f + 127.0f);
  const Value shifted = multiplyAdd(to, x, to.constant(1.44269504f), shift), n = to.add(Do::sub, shifted, shift);
  return {shifted, n, multiplyAdd(to, n, to.constant(2.12194440e-4f), multiplyAdd(to, n, to.constant(-0.693359375f), x))};
}
Value exponentialOf(Lines& to, const Parts& parts) {
  return polynomial(to, parts.r,
                    {1.3814466741e-3f, 8.3687804291e-3f, 4.1668394217e-2f, 1.6666520108e-1f, 4.9999993412e-1f, 1.0f, 1.0f});
}
Value powerOf(Lines& to, const Parts& parts) { return to.add(Do::shiftLeft, parts.shifted, kNone, kNone, 23); }
/** 1 / (1 + e^x). */
Value inverseOfSum(Lines& to, const Parts& parts) {
  const Value one = to.constant(1.0f), sum = multiplyAdd(to, exponentialOf(to, parts), powerOf(to, parts), one);
  const Value r = to.add(Do::inverse14, sum);
  return multiplyAdd(to, to.add(Do::subtractProduct, sum, r, one), r, r);
}

Value exponential(Lines& to, Value x) {
  const Parts parts = partsOf(to, clamp(to, -104.0f, 89.0f, x));
  return to.add(Do::scale, exponentialOf(to, parts), parts.n);
}

Value sigmoid(Lines& to, Value x) {
  const Value opposite = to.add(Do::xor_, x, to.bits(0x80000000));
  return inverseOfSum(to, partsOf(to, clamp(to, -88.3f, 88.02f, opposite)));
}

Value hyperbolicTangent(Lines& to, Value x) {
  const Value magnitude = to.add(Do::and_, x, to.bits(0x7fffffff)), x2 = to.add(Do::mul, x, x);
  const Value p =
      polynomial(to, x2, {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f});
  const Value near = multiplyAdd(to, to.add(Do::mul, p, x2), x, x);
  const Value two = to.constant(2.0f);
  const Parts parts = partsOf(to, to.add(Do::mul, two, to.add(Do::min, to.constant(9.02f), magnitude)));
  const Value direct = to.add(Do::subtractProduct, two, inverseOfSum(to, parts), to.constant(1.0f));
  const Value chosen = to.choose(to.compare(Compare::less, magnitude, to.constant(0.625f)), near, direct);
  const Value sign = to.add(Do::and_, x, to.bits(0x80000000));
  return to.add(Do::or_, to.add(Do::and_, chosen, to.bits(0x7fffffff)), sign);
}

}  // namespace

Value addFunction(Lines& to, Op op, Value x) {
  switch (op) {
    case Op::exp: return exponential(to, x);
    case Op::sigmoid: return sigmoid(to, x);
    case Op::tanh: return hyperbolicTangent(to, x);
    default: return kNone;
  }
}

}  // namespace tl::code
