/** @file Special functions in float64, from series and continued fractions that converge to the last few bits. */

const eulerGamma = 0.5772156649015329;
const twoOverRootPi = 2 / Math.sqrt(Math.PI);

/** exp(-x²); squaring first would lose the bits of x² below its unit, which the exponential magnifies. */
function expMinusSquare(x: number): number {
  const head = Math.round(x * 0x10000) / 0x10000;
  return Math.exp(-head * head) * Math.exp(-(x - head) * (x + head));
}

/** erf by e^(-x²) Σ 2^n x^(2n+1) / (2n+1)!!, whose terms are all of one sign. */
function erfSeries(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return twoOverRootPi * expMinusSquare(x) * sum;
}

/** erfc(x) for x >= 1, from its continued fraction, evaluated from the far end; the depth suffices at x = 1. */
function erfcFraction(x: number): number {
  let tail = x;
  for (let n = Math.ceil(30 + 170 / (x * x)); n >= 1; n--) tail = x + n / 2 / tail;
  return expMinusSquare(x) / (Math.sqrt(Math.PI) * tail);
}

export function erf(x: number): number {
  if (Math.abs(x) > 6) return Math.sign(x);
  return Math.abs(x) < 2 || Number.isNaN(x) ? erfSeries(x) : Math.sign(x) * (1 - erfcFraction(Math.abs(x)));
}

export function erfc(x: number): number {
  if (x < 1 || Number.isNaN(x)) return 1 - erf(x);
  return x > 27.3 ? 0 : erfcFraction(x);
}

/** The y > 0 with erfc(y) = q, for q in (0, 0.5], by Newton's method on the logarithm, which is nearly a parabola. */
function erfcInverse(q: number): number {
  const target = Math.log(q);
  let y = Math.sqrt(Math.max(-target - 0.5 * Math.log(Math.max(-target, 0.1) * Math.PI), 0.2));
  for (let i = 0; i < 60; i++) {
    const value = erfc(y);
    const step = (Math.log(value) - target) / ((twoOverRootPi * expMinusSquare(y)) / value);
    y += step;
    if (Math.abs(step) < 1e-16 * y) break;
  }
  return y;
}

export function erfinv(x: number): number {
  const size = Math.abs(x);
  if (!(size < 1)) return size === 1 ? x * Number.POSITIVE_INFINITY : Number.NaN;
  if (size > 0.5) return Math.sign(x) * erfcInverse(1 - size);
  let y = x / twoOverRootPi;
  for (let i = 0; i < 60; i++) {
    const step = (x - erfSeries(y)) / (twoOverRootPi * expMinusSquare(y));
    y += step;
    if (Math.abs(step) <= 1e-16 * Math.abs(y)) break;
  }
  return y;
}

/** The quantile function of the normal distribution. */
export function ndtri(p: number): number {
  if (!(p >= 0 && p <= 1)) return Number.NaN;
  if (p === 0 || p === 1) return p === 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (p < 0.25) return -Math.SQRT2 * erfcInverse(2 * p);
  if (p > 0.75) return Math.SQRT2 * erfcInverse(2 * (1 - p));
  return Math.SQRT2 * erfinv(2 * p - 1);
}

/** The Bernoulli numbers B2, B4, … */
const bernoulli = [
  1 / 6,
  -1 / 30,
  1 / 42,
  -1 / 30,
  5 / 66,
  -691 / 2730,
  7 / 6,
  -3617 / 510,
  43867 / 798,
  -174611 / 330,
  854513 / 138,
  -236364091 / 2730,
];

/** Hurwitz's zeta function Σ 1 / (q + k)^x, summed by Euler and Maclaurin. */
export function zeta(x: number, q: number): number {
  if (x === 1) return Number.POSITIVE_INFINITY;
  if (!(x > 1) || Number.isNaN(q)) return Number.NaN;
  if (q <= 0) {
    const evenPower = Number.isInteger(x) && x % 2 === 0;
    if (Number.isInteger(q)) return evenPower ? Number.POSITIVE_INFINITY : Number.NaN;
    // A negative base has no real power but an integer one.
    if (!Number.isInteger(x)) return Number.NaN;
  }
  if (q === Number.POSITIVE_INFINITY) return 0;
  const terms = Math.max(0, Math.ceil(12 - q));
  let sum = 0;
  for (let k = 0; k < terms; k++) sum += (q + k) ** -x;
  const w = q + terms;
  const power = w ** -x;
  if (power === 0) return sum; // what follows is smaller still
  sum += (power * w) / (x - 1) + power / 2;
  let factor = (x * power) / (2 * w);
  for (let j = 0; j < bernoulli.length; j++) {
    const term = factor * bernoulli[j]!;
    sum += term;
    if (Math.abs(term) < 1e-17 * Math.abs(sum)) break;
    factor *= ((x + 2 * j + 1) * (x + 2 * j + 2)) / ((2 * j + 3) * (2 * j + 4) * w * w);
  }
  return sum;
}

/** (-1)^k (ζ(k) - 1) / k for k = 2, 3, …: the Taylor coefficients of lgamma around 2. They shrink as 2^-k. */
const lgammaCoefficients = Array.from({ length: 50 }, (_, i) => ((i % 2 === 0 ? 1 : -1) * zeta(i + 2, 2)) / (i + 2));

/** lgamma(2 + z) for |z| <= 0.5, exact also around its zero. */
function lgammaNearTwo(z: number): number {
  let sum = 0;
  for (let i = lgammaCoefficients.length - 1; i >= 0; i--) sum = sum * z + lgammaCoefficients[i]!;
  return z * (1 - eulerGamma + z * sum);
}

/** What lgamma(x) has beyond (x - 1/2) log x - x + log(2π)/2, by Stirling; for x >= 12. */
function stirlingRest(x: number): number {
  let power = 1 / x;
  let sum = 0;
  for (let k = 1; k <= 8; k++) {
    sum += (bernoulli[k - 1]! * power) / (2 * k * (2 * k - 1));
    power /= x * x;
  }
  return sum;
}

/** sin(πx) without the rounding of πx. */
function sinPi(x: number): number {
  const rest = x - 2 * Math.round(x / 2);
  return Math.abs(rest) <= 0.5 ? Math.sin(Math.PI * rest) : Math.sin(Math.PI * (Math.sign(rest) - rest));
}

/** log |Γ(x)|; infinite at the poles. */
export function lgamma(x: number): number {
  if (Number.isNaN(x)) return x;
  if (Math.abs(x) === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  if (x <= 0) {
    if (Number.isInteger(x)) return Number.POSITIVE_INFINITY;
    return Math.log(Math.PI / Math.abs(sinPi(x))) - lgamma(1 - x);
  }
  if (x < 0.5) return lgammaNearTwo(x) - Math.log1p(x) - Math.log(x);
  if (x < 1.5) return lgammaNearTwo(x - 1) - Math.log1p(x - 1);
  if (x <= 2.5) return lgammaNearTwo(x - 2);
  let product = 1;
  let y = x;
  for (; y < 12; y++) product *= y;
  return (y - 0.5) * Math.log(y) - y + 0.5 * Math.log(2 * Math.PI) + stirlingRest(y) - Math.log(product);
}

/** The derivative of lgamma; NaN at the poles. */
export function digamma(x: number): number {
  if (x === Number.POSITIVE_INFINITY) return x;
  if (!Number.isFinite(x) || (x <= 0 && Number.isInteger(x))) return Number.NaN;
  if (x < 0) return digamma(1 - x) - (Math.PI * sinPi(x + 0.5)) / sinPi(x);
  let sum = 0;
  let y = x;
  for (; y < 12; y++) sum -= 1 / y;
  sum += Math.log(y) - 1 / (2 * y);
  let power = 1 / (y * y);
  for (let k = 1; k <= 8; k++) {
    sum -= (bernoulli[k - 1]! * power) / (2 * k);
    power /= y * y;
  }
  return sum;
}

export function polygamma(n: number, x: number): number {
  if (n === 0) return digamma(x);
  if (!(n > 0) || !Number.isInteger(n)) return Number.NaN;
  let factorial = 1;
  for (let i = 2; i <= n && factorial < Number.POSITIVE_INFINITY; i++) factorial *= i;
  return (n % 2 === 0 ? -1 : 1) * factorial * zeta(n + 1, x);
}

/** log(x / a) - (x - a) / a, without cancellation where x is near a. */
function logRatioMinus(x: number, a: number): number {
  const away = (x - a) / a;
  if (Math.abs(away) > 0.3) return Math.log(x / a) - away;
  let sum = 0;
  let power = -away;
  for (let n = 2; n < 60; n++) {
    power *= -away;
    sum -= power / n;
  }
  return sum;
}

/** x^a e^-x / Γ(a). */
function gammaDensity(a: number, x: number): number {
  if (a < 12) return Math.exp(a * Math.log(x) - x - lgamma(a));
  // a log x and lgamma(a) are both large and nearly equal; Stirling's formula takes their difference by hand.
  return Math.sqrt(a / (2 * Math.PI)) * Math.exp(a * logRatioMinus(x, a) - stirlingRest(a));
}

/** The lower incomplete gamma function by its power series, good for x up to about a. */
function igammaSeries(a: number, x: number): number {
  let term = 1 / a;
  let sum = term;
  for (let n = 1; term > 1e-17 * sum && n < 1e5; n++) {
    term *= x / (a + n);
    sum += term;
  }
  return gammaDensity(a, x) * sum;
}

/** The upper incomplete gamma function by its continued fraction (in Lentz's form), good for x beyond a. */
function igammacFraction(a: number, x: number): number {
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let h = d;
  for (let i = 1; i < 1e6; i++) {
    const numerator = -i * (i - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    h *= c * d;
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  return gammaDensity(a, x) * h;
}

/** From here on the series and the fraction are too long where x is near a. */
const largeShape = 1e8;

/** igamma for `side` -1 and igammac for 1, by the first terms of Temme's uniform expansion: for large a these are all that count. */
function gammaOfLargeShape(a: number, x: number, side: 1 | -1): number {
  const half = -logRatioMinus(x, a);
  const eta = Math.sign(x - a) * Math.sqrt(2 * half);
  const rest = Math.abs(eta) < 1 ? (Math.exp(-a * half) / Math.sqrt(2 * Math.PI * a)) * (1 / 3 - eta / 12) : 0;
  return 0.5 * erfc(side * eta * Math.sqrt(a / 2)) - side * rest;
}

/** Where the factor that both share is no number any more, the one or the other of them is all. */
const orLimit = (found: number, limit: number): number => (Number.isNaN(found) ? limit : found);

/** The lower incomplete gamma function, divided by Γ(a). */
export function igamma(a: number, x: number): number {
  if (x === 0 && !Number.isNaN(a)) return 0;
  if (!(x >= 0) || !(a > 0)) return Number.NaN;
  if (a === Number.POSITIVE_INFINITY) return x === a ? Number.NaN : 0;
  if (x === Number.POSITIVE_INFINITY) return 1;
  if (a > largeShape) return gammaOfLargeShape(a, x, -1);
  return orLimit(x > 1 && x > a ? 1 - igammacFraction(a, x) : igammaSeries(a, x), x < a ? 0 : 1);
}

/** 1 - igamma, without cancellation. */
export function igammac(a: number, x: number): number {
  if (!(x >= 0) || !(a > 0)) return Number.NaN;
  if (x === 0) return 1;
  if (a === Number.POSITIVE_INFINITY) return x === a ? Number.NaN : 1;
  if (x === Number.POSITIVE_INFINITY) return 0;
  if (a > largeShape) return gammaOfLargeShape(a, x, 1);
  return orLimit(x > 1 && x > a ? igammacFraction(a, x) : 1 - igammaSeries(a, x), x < a ? 1 : 0);
}
