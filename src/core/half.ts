/** @file float16 and bfloat16 as bits in a Uint16: conversions to and from numbers, rounding to nearest even. */

const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);

/** The float16 bits nearest to a number. */
export function toHalfBits(x: number): number {
  f32[0] = x;
  const bits = u32[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal half: adding 0.5 in float32 lines the mantissa up with the half's last place and rounds it.
    f32[0] = Math.abs(x) + 0.5;
    return sign | ((u32[0]! - 0x3f000000) & 0xffff);
  }
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | Math.min((rounded - 0x38000000) >>> 13, 0x7c00);
}

export function fromHalfBits(bits: number): number {
  const exponent = (bits >>> 10) & 31;
  const mantissa = bits & 0x3ff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return mantissa ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + mantissa / 1024) : 2 ** -14 * (mantissa / 1024));
}

/** The bfloat16 bits nearest to a number. */
export function toBfloat16Bits(x: number): number {
  f32[0] = x;
  const bits = u32[0]!;
  if (Number.isNaN(x)) return 0x7fc0 | ((bits >>> 16) & 0x8000);
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

export function fromBfloat16Bits(bits: number): number {
  u32[0] = bits << 16;
  return f32[0]!;
}
