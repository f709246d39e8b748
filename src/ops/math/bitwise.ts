/** @file The functions of `tf.bitwise`. */
import { BitwiseAnd, BitwiseOr, BitwiseXor, Invert, LeftShift, RightShift } from './bitwiseOps.ts';
import { type BinaryFunction, binaryFunction, type UnaryFunction, unaryFunction } from './elementwise.ts';

/**
 * Bits that are set in both. Adds one `BitwiseAnd` node.
 *
 * @example tf.bitwise.bitwiseAnd([12, 7], 10) // runs to [8 2]
 */
export const bitwiseAnd: BinaryFunction = binaryFunction(BitwiseAnd);

/**
 * Bits that are set in one or both. Adds one `BitwiseOr` node.
 *
 * @example tf.bitwise.bitwiseOr([12, 7], 10) // runs to [14 15]
 */
export const bitwiseOr: BinaryFunction = binaryFunction(BitwiseOr);

/**
 * Bits that are set in exactly one. Adds one `BitwiseXor` node.
 *
 * @example tf.bitwise.bitwiseXor([12, 7], 10) // runs to [ 6 13]
 */
export const bitwiseXor: BinaryFunction = binaryFunction(BitwiseXor);

/**
 * Every bit turned round. Adds one `Invert` node.
 *
 * @example tf.bitwise.invert([0, 5]) // runs to [-1 -6]
 */
export const invert: UnaryFunction = unaryFunction(Invert);

/**
 * `x` with its bits moved `y` places up. Adds one `LeftShift` node.
 *
 * @example tf.bitwise.leftShift([3, 1], 4) // runs to [48 16]
 */
export const leftShift: BinaryFunction = binaryFunction(LeftShift);

/**
 * `x` with its bits moved `y` places down; the sign stays. Adds one `RightShift` node.
 *
 * @example tf.bitwise.rightShift([48, -16], 2) // runs to [12 -4]
 */
export const rightShift: BinaryFunction = binaryFunction(RightShift);
