/** @file Public functions of the math ops; importing it loads their definitions. */
import './matmul.ts';

export { add } from './add.ts';
export { accumulateN, addN } from './addN.ts';
export { bitcast } from './bitcast.ts';

import './broadcast.ts';

export { cast } from './cast.ts';
export { approximateEqual, equal, greater, greaterEqual, less, lessEqual, notEqual } from './compare.ts';
export { angle, complex, conj, imag, real } from './complex.ts';
export {
  div,
  divide,
  divNoNan,
  floorDiv,
  floordiv,
  realdiv,
  reciprocalNoNan,
  truediv,
  truncatediv,
} from './divide.ts';
export { exp, expm1, log, log1p } from './exp.ts';
export { logicalAnd, logicalNot, logicalOr, logicalXor } from './logical.ts';
export { maximum, minimum } from './maximum.ts';
export { floormod, mod, truncatemod } from './mod.ts';
export { mul, multiply, multiplyNoNan, scalarMul } from './multiply.ts';
export { abs, neg, negative, sign } from './neg.ts';
export { pow } from './pow.ts';
export { ceil, floor, rint, round } from './round.ts';
export { where, whereV2 } from './select.ts';
export { logSigmoid, sigmoid, tanh } from './sigmoid.ts';
export { reciprocal, rsqrt, sqrt, square } from './sqrt.ts';
export { squaredDifference, sub, subtract } from './subtract.ts';
export { onesLike, zerosLike } from './zerosLike.ts';
