/** @file All rows of the data benchmark. Each has a function of its name in bench/peers/data.py. */
import { checkpointRows } from './checkpoints.ts';
import { imageRows } from './images.ts';
import { parsingRows } from './parsing.ts';
import { pipelineRows } from './pipelines.ts';
import { recordRows } from './records.ts';
import type { Row } from './row.ts';

export const rows: readonly Row[] = [...recordRows, ...parsingRows, ...checkpointRows, ...pipelineRows, ...imageRows];
