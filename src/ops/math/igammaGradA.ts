/** @file IgammaGradA: the derivative of the incomplete gamma function by its first argument. */
import { float32, float64 } from '../../core/dtypes.ts';
import { fromElements } from '../../core/ndarray.ts';
import { broadcastConcrete } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { broadcastPorts } from './elementwise.ts';
import { hostBroadcast } from './hostBroadcast.ts';

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

function derivative(a: number, x: number): number {
  if (x === 0) return 0;
  if (!(x > 0) || !(a > 0)) return Number.NaN;
  if (x === Number.POSITIVE_INFINITY || a === Number.POSITIVE_INFINITY) return 0;
  return x > 1 && x > a ? fractionDerivative(a, x) : seriesDerivative(a, x);
}

export const IgammaGradA = defineOp({
  name: 'IgammaGradA',
  inputs: { a: 'T', x: 'T' },
  outputs: { z: 'T' },
  attrs: { T: attr('type', { allowed: [float32, float64] }) },
  shape: ({ a, x }) => ({ z: broadcastPorts(['a', a], ['x', x]) }),
  grad: gradientPending('TensorFlow has no second derivative of the incomplete gamma function by a either'),
  lower(p, { a, x }, { T }) {
    const shape = broadcastConcrete(a.shape, x.shape);
    const [z] = p.host([a, x], [{ dtype: T, shape }], ([first, second]) => {
      const { pairs } = hostBroadcast(first!, second!);
      return [
        fromElements(
          T,
          shape,
          pairs((i, j) => derivative(first!.numberAt(i), second!.numberAt(j))),
        ),
      ];
    });
    return { z: z! };
  },
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { a: { dtype: 'float64', value: [0.5, 3, 10, 2] }, x: { dtype: 'float64', value: [0.25, 2, 12, 40] } },
      expect: {
        z: {
          dtype: 'float64',
          value: [-0.797947316783223, -0.23184867204398962, -0.09717797203717947, -5.732487245607528e-16],
        },
      },
    },
  ],
});
