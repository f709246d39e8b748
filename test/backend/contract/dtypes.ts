/** @file The dtypes contract tests go through. */
import * as d from '../../../src/core/dtypes.ts';

export const floats = [d.float16, d.bfloat16, d.float32, d.float64];
export const signed = [d.int8, d.int16, d.int32, d.int64];
export const unsigned = [d.uint8, d.uint16, d.uint32, d.uint64];
export const integers = [...signed, ...unsigned];
/** Everything that is ordered and added up. */
export const reals = [...floats, ...integers];
