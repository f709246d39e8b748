/** @file What an instruction throws when it must stop; the kernel adds the instruction's number. */
import type { FailureCode } from '../../program/instructions.ts';

export class Stop extends Error {
  constructor(
    readonly code: FailureCode,
    readonly position = 0,
    readonly value = 0,
  ) {
    super(code);
  }
}
