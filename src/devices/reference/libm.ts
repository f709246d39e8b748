/**
 * @file logf, sinf and cosf as glibc computes them. TensorFlow's random normals come out of these, and numbers that are to
 * be equal to the last bit need the same approximations: polynomials in float64 whose errors are part of the result.
 */

const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);

/** For each sixteenth of [0.699, 1.398): 1/c and log c of a number c near its middle. */
const logTable: readonly (readonly [reciprocal: number, log: number])[] = [
  [1.398907162146528, -0.33569133332882284],
  [1.3403141896637998, -0.2929040563774074],
  [1.286432210124115, -0.2518726580937369],
  [1.2367150214269895, -0.21245868807117255],
  [1.1906977166711752, -0.17453945183745634],
  [1.1479821020556429, -0.1380057072319758],
  [1.1082251448272158, -0.10275976698545139],
  [1.0711297413057381, -0.06871392447020525],
  [1.036437278977283, -0.0357891387398228],
  [1, 0],
  [0.9492859795739057, 0.05204517742929496],
  [0.8951049428609004, 0.11081431298787942],
  [0.8476821620351103, 0.1652495223695143],
  [0.8050314851692001, 0.21687389031699977],
  [0.7664671008843108, 0.2659635028121397],
  [0.731428603316328, 0.3127556664073557],
];

/** The bits of 0.699: mantissas are taken from there to twice there, so that log x of x near 1 needs no subtraction. */
const lowestMantissa = 0x3f330000;

/** The natural logarithm of a positive, normal float32. */
export function logf(x: number): number {
  if (x === 1) return 0;
  float[0] = x;
  const whole = bits[0]!;
  const above = (whole - lowestMantissa) | 0;
  const exponent = above >> 23;
  bits[0] = whole - (exponent << 23);
  const [reciprocal, log] = logTable[(above >>> 19) & 15]!;
  const r = float[0]! * reciprocal - 1;
  const square = r * r;
  const head = log + exponent * Math.LN2 + r;
  const tail = -0.25089342214237154 * square + (0.333456765744066 * r + -0.4999997485802103);
  return Math.fround(tail * square + head);
}

/** 2^24 times 2/π: the quadrant is found in fixed point. */
const quadrantScale = 10680707.430881744;

/** sin(x + quadrants · π/2) for x in [0, 120). */
function sine(x: number, quadrants: number): number {
  const quadrant = (Math.trunc(x * quadrantScale) + 0x800000) >> 24;
  const y = x - quadrant * (Math.PI / 2);
  const turn = (quadrant + quadrants) & 3;
  const result = turn & 1 ? cosinePolynomial(y) : sinePolynomial(y);
  return Math.fround(turn & 2 ? -result : result);
}

function sinePolynomial(x: number): number {
  const x2 = x * x;
  const x3 = x * x2;
  return x + x3 * -0.16666654943701084 + x3 * x2 * (0.008332178146138854 + x2 * -0.00019517298981385725);
}

function cosinePolynomial(x: number): number {
  const x2 = x * x;
  const x4 = x2 * x2;
  const head = 1 + x2 * -0.49999999725108224 + x4 * 0.041666623324344516;
  return head + x4 * x2 * (-0.001388676379437604 + x2 * 2.4390450703564542e-5);
}

/** The sine of a float32 in [0, 120). */
export const sinf = (x: number): number => sine(x, 0);
/** The cosine of a float32 in [0, 120). */
export const cosf = (x: number): number => sine(x, 1);
