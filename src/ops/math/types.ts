/** @file The sets of element types that the arithmetic ops admit, as TensorFlow registers them. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';

export const floatTypes: readonly DType[] = [d.bfloat16, d.float16, d.float32, d.float64];
export const complexTypes: readonly DType[] = [d.complex64, d.complex128];
export const floatAndComplexTypes: readonly DType[] = [...floatTypes, ...complexTypes];
export const signedIntegerTypes: readonly DType[] = [d.int8, d.int16, d.int32, d.int64];
export const integerTypes: readonly DType[] = [...signedIntegerTypes, d.uint8, d.uint16, d.uint32, d.uint64];
export const signedTypes: readonly DType[] = [...floatAndComplexTypes, ...signedIntegerTypes];
export const arithmeticTypes: readonly DType[] = [...floatAndComplexTypes, ...integerTypes];
export const orderedTypes: readonly DType[] = [...floatTypes, ...integerTypes];
