/** @file Run: what the steps of one run share, nested runs of functions and loop bodies included. */
import type { RunScope } from '../program/instructions.ts';
import type { StatsCollector } from './stepStats.ts';
import { StopToken } from './stop.ts';

export class Run implements RunScope {
  readonly resources = new Map<string, object>();
  constructor(
    readonly stop = new StopToken(),
    readonly stats?: StatsCollector,
  ) {}
}
