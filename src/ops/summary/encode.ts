/** @file What the summary ops share: a Summary as a scalar string tensor, and the check that a tag is one. */
import { string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { HostResult } from '../../program/tracing.ts';
import type { Value } from '../../program/value.ts';
import { Summary, type SummaryValue } from '../../proto/event.ts';
import type { Init } from '../../proto/message.ts';
import { bytesOf, stringArray, toText } from '../string/text.ts';

/** The result of every op that makes a summary. */
export const summaryResult: readonly HostResult[] = [{ dtype: string, shape: [] }];

/** Serialized summary values as a scalar. */
export function summaryArray(values: readonly Init<SummaryValue>[]): NDArray {
  return stringArray([], [Summary.encode({ value: values })]);
}

/** The text in a scalar of strings. */
export function textOf(array: NDArray): string {
  return toText(bytesOf(array)[0]!);
}

/** Throws with TensorFlow's words unless a value is a scalar. */
export function wantScalar(value: Value, complaint: string): void {
  if (value.shape.length !== 0) throw new InvalidArgumentError(complaint);
}

/** Tags of images and sounds: numbered, unless only one was ever wanted. */
export function numberedTag(tag: string, kind: 'image' | 'audio', i: number, max: number): string {
  return max > 1 ? `${tag}/${kind}/${i}` : `${tag}/${kind}`;
}
