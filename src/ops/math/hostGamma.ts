/** @file The gamma function's family on the host, in double precision: logarithms, derivatives, the incomplete beta function. */

/** Below this the asymptotic series are not exact yet; recurrences lead up to it. */
const asymptotic = 12;
/** B(2k) / (2k), the coefficients of the asymptotic series of digamma. */
const digammaTerms = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12];
/** B(2k) / (2k (2k - 1)), the same for log Γ. */
const lgammaTerms = digammaTerms.map((c, k) => c / (2 * k + 1));

/** digamma of a positive number. */
function digamma(a: number): number {
  let shift = 0;
  let x = a;
  for (; x < asymptotic; x++) shift -= 1 / x;
  const square = 1 / (x * x);
  const rest = digammaTerms.reduceRight((sum, c) => (sum + c) * square, 0);
  return shift + Math.log(x) - 0.5 / x - rest;
}

/** log Γ of a positive number. */
function lgamma(a: number): number {
  let product = 1;
  let x = a;
  for (; x < asymptotic; x++) product *= x;
  const square = 1 / (x * x);
  const rest = lgammaTerms.reduceRight((sum, c) => sum * square + c, 0) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + rest - Math.log(product);
}

/** By the power series of igamma, term by term with its derivative; good for x up to about a. */
function seriesDerivative(a: number, x: number): number {
  let term = 1;
  let slope = 0;
  let sum = 1;
  let slopeSum = 0;
  for (let n = 1; n < 10000; n++) {
    slope = (slope * x) / (a + n) - (term * x) / ((a + n) * (a + n));
    term *= x / (a + n);
    sum += term;
    slopeSum += slope;
    if (Math.abs(slope) <= 1e-17 * Math.abs(slopeSum) && term <= 1e-17 * sum) break;
  }
  const scale = Math.exp(a * Math.log(x) - x - lgamma(a + 1));
  return scale * ((Math.log(x) - digamma(a + 1)) * sum + slopeSum);
}

/** By the continued fraction of igammac (Lentz's form), step by step with its derivative; good for x beyond a. */
function fractionDerivative(a: number, x: number): number {
  let b = x + 1 - a;
  let [c, dc] = [1e300, 0];
  let [d, dd] = [1 / b, 1 / (b * b)];
  let [h, dh] = [d, dd];
  for (let i = 1; i < 10000; i++) {
    const numerator = -i * (i - a);
    b += 2;
    // b falls by one and the numerator grows by i for every unit of a.
    const denominator = numerator * d + b;
    dd = -(i * d + numerator * dd - 1) / (denominator * denominator);
    d = 1 / denominator;
    dc = -1 + i / c - (numerator * dc) / (c * c);
    c = b + numerator / c;
    const step = c * d;
    const slope = dc * d + c * dd;
    dh = dh * step + h * slope;
    h *= step;
    if (Math.abs(step - 1) < 1e-16 && Math.abs(slope) < 1e-16) break;
  }
  const density = Math.exp(a * Math.log(x) - x - lgamma(a));
  return -density * ((Math.log(x) - digamma(a)) * h + dh);
}

/** The derivative of the lower incomplete gamma function (divided by Γ(a)) by `a`. */
export function igammaDerivative(a: number, x: number): number {
  if (x === 0) return 0;
  if (!(x > 0) || !(a > 0)) return Number.NaN;
  if (x === Number.POSITIVE_INFINITY || a === Number.POSITIVE_INFINITY) return 0;
  return x > 1 && x > a ? fractionDerivative(a, x) : seriesDerivative(a, x);
}

/** The derivative by `alpha` of a number drawn from the gamma distribution, when the probability below it stays the same. */
export function gammaSampleDerivative(alpha: number, sample: number): number {
  if (!(sample > 0) || !(alpha > 0)) return Number.NaN;
  const density = Math.exp((alpha - 1) * Math.log(sample) - sample - lgamma(alpha));
  return -igammaDerivative(alpha, sample) / density;
}

/** The continued fraction of the incomplete beta function, in Lentz's form; it converges fast for x below the mean. */
function betaFraction(a: number, b: number, x: number): number {
  let c = 1;
  let d = 1 / (1 - ((a + b) * x) / (a + 1));
  let h = d;
  for (let m = 1; m < 1e5; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    h *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    h *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return h;
}

/** The incomplete beta function, divided by the complete one. */
export function betainc(a: number, b: number, x: number): number {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return Number.NaN;
  if (x === 0 || x === 1) return x;
  const front = Math.exp(a * Math.log(x) + b * Math.log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b));
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(a, b, x)) / a : 1 - (front * betaFraction(b, a, 1 - x)) / b;
}
