/** @file Numbers as C's printf writes them: `%d`, `%f`, `%e`, `%g`, with exact decimals and ties to even. */

export interface Format {
  readonly style: 'f' | 'e' | 'g';
  readonly precision: number;
  /** printf's `#`: the point stays even when no digit follows. */
  readonly keepPoint?: boolean;
}

/** A finite number above or equal to zero as a fraction of integers. */
function fractionOf(x: number): { numerator: bigint; denominator: bigint } {
  if (Number.isInteger(x)) return { numerator: BigInt(x), denominator: 1n };
  let scale = 0;
  // Every step is exact: doubling changes only the exponent, and 1074 doublings make any double whole.
  while (!Number.isInteger(x)) {
    x *= 2;
    scale++;
  }
  return { numerator: BigInt(x), denominator: 2n ** BigInt(scale) };
}

/** numerator / denominator to the nearest integer, ties to the even one. */
function rounded(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = 2n * (numerator % denominator);
  const up = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return up ? quotient + 1n : quotient;
}

const powerOfTen = (n: number) => 10n ** BigInt(n);
/** Powers of ten that are numbers exactly. */
const exactPowers = Array.from({ length: 23 }, (_, n) => Number(`1e${n}`));

/** Whether a number with so many digits behind the point lies surely not between two with as many: then JavaScript rounds as C does. */
function isNoTie(x: number, digits: number): boolean {
  // Twice a tie is odd there, and up to 2^53 the product of two exact numbers is exact if it is whole.
  const twice = 2 * x * (exactPowers[digits] ?? Number.NaN);
  return twice < 2 ** 53 && twice % 2 !== 1;
}

function fixed(x: number, precision: number, point: boolean): string {
  if (isNoTie(x, precision)) return point && precision === 0 ? `${x.toFixed()}.` : x.toFixed(precision);
  const { numerator, denominator } = fractionOf(x);
  const digits = rounded(numerator * powerOfTen(precision), denominator)
    .toString()
    .padStart(precision + 1, '0');
  const whole = digits.slice(0, digits.length - precision);
  return precision > 0 || point ? `${whole}.${digits.slice(digits.length - precision)}` : whole;
}

const exponentOf = (scientific: string) => Number(scientific.slice(scientific.indexOf('e') + 1));

/** The decimal exponent and the digits of a number, `count` of them. */
function significant(x: number, count: number): { digits: string; exponent: number } {
  if (x === 0) return { digits: '0'.repeat(count), exponent: 0 };
  let exponent = exponentOf(x.toExponential());
  const shift = count - 1 - exponent;
  if (isNoTie(x, shift)) {
    const text = x.toExponential(count - 1);
    return { digits: text.slice(0, text.indexOf('e')).replace('.', ''), exponent: exponentOf(text) };
  }
  const { numerator, denominator } = fractionOf(x);
  let digits = (
    shift >= 0
      ? rounded(numerator * powerOfTen(shift), denominator)
      : rounded(numerator, denominator * powerOfTen(-shift))
  ).toString();
  if (digits.length > count) {
    digits = digits.slice(0, count);
    exponent++;
  }
  return { digits, exponent };
}

function scientific(x: number, precision: number, point: boolean): string {
  const { digits, exponent } = significant(x, precision + 1);
  const mantissa = precision > 0 || point ? `${digits[0]}.${digits.slice(1)}` : digits[0]!;
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function shortest(x: number, precision: number, point: boolean): string {
  const count = Math.max(precision, 1);
  const { exponent } = significant(x, count);
  const text =
    exponent >= -4 && exponent < count ? fixed(x, count - 1 - exponent, point) : scientific(x, count - 1, point);
  return point ? text : text.replace(/(\.\d*?)0+(?=e|$)/, '$1').replace(/\.(?=e|$)/, '');
}

/** The number without its sign. */
export function formatMagnitude(x: number, { style, precision, keepPoint = false }: Format): string {
  const magnitude = Math.abs(x);
  if (Number.isNaN(x)) return 'nan';
  if (magnitude === Number.POSITIVE_INFINITY) return 'inf';
  const write = style === 'f' ? fixed : style === 'e' ? scientific : shortest;
  return write(magnitude, precision, keepPoint);
}

/** printf's width and flag: `-` aligns left, `0` fills with zeros after the sign, `+` and space stand before numbers >= 0. */
export function padded(body: string, negative: boolean, isNumber: boolean, width: number, flag: string): string {
  const sign = negative ? '-' : isNumber && (flag === '+' || flag === ' ') ? flag : '';
  if (flag === '-') return (sign + body).padEnd(width);
  // Zeros do not fill up words such as inf.
  if (flag === '0' && /^\d/.test(body) && isNumber) return sign + body.padStart(width - sign.length, '0');
  return (sign + body).padStart(width);
}
