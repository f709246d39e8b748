/** @file The ops that add events to a summary writer of the graph. */
import { bool, float16, float32, float64, uint8 } from '../../core/dtypes.ts';
import { DataLossError } from '../../core/errors.ts';
import { anyType, attr, realNumbers, realNumberTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { Event, Summary } from '../../proto/event.ts';
import { GraphDef } from '../../proto/graph.ts';
import type { Message } from '../../proto/message.ts';
import { bytesOf } from '../string/text.ts';
import { audioValues } from './audio.ts';
import { textOf } from './encode.ts';
import { histogramOf } from './histogram.ts';
import { checkBadColor, checkImages, imageValues } from './image.ts';
import { metadataOf, summaryTensor } from './tensor.ts';
import { writerAt } from './writer.ts';

const effect = { outputs: {}, stateful: true, shape: () => ({}), grad: notDifferentiable } as const;

export const WriteSummary = defineOp({
  ...effect,
  name: 'WriteSummary',
  cases: () => [{ shape: '[], [], ?, ?, ? -> ' }],
  inputs: { writer: 'resource', step: 'int64', tensor: 'T', tag: 'string', summary_metadata: 'string' },
  attrs: { T: anyType },
  lower(p, { writer, step, tensor, tag, summary_metadata }) {
    p.host([writer, step, tensor, tag, summary_metadata], [], ([at, now, array, text, metadata]) => {
      const value = { tag: textOf(text!), tensor: summaryTensor(array!), metadata: metadataOf(metadata!) };
      writerAt(at).add(now!, { summary: { value: [value] } });
      return [];
    });
    return {};
  },
});

export const WriteScalarSummary = defineOp({
  ...effect,
  name: 'WriteScalarSummary',
  cases: () => [{ shape: '[], [], ?, ? -> ' }],
  inputs: { writer: 'resource', step: 'int64', tag: 'string', value: 'T' },
  attrs: { T: realNumbers },
  lower(p, { writer, step, tag, value }) {
    p.host([writer, step, tag, value], [], ([at, now, text, number]) => {
      writerAt(at).add(now!, { summary: { value: [{ tag: textOf(text!), simple_value: number!.numberAt(0) }] } });
      return [];
    });
    return {};
  },
});

export const WriteHistogramSummary = defineOp({
  ...effect,
  name: 'WriteHistogramSummary',
  cases: () => [{ shape: '[], [], ?, ? -> ' }],
  inputs: { writer: 'resource', step: 'int64', tag: 'string', values: 'T' },
  attrs: { T: attr('type', { allowed: [...realNumberTypes, bool], default: float32 }) },
  lower(p, { writer, step, tag, values }) {
    p.host([writer, step, tag, values], [], async ([at, now, text, array]) => {
      const name = textOf(text!);
      const histogram = await histogramOf(array!, name);
      writerAt(at).add(now!, { summary: { value: [{ tag: name, histo: histogram.toProto() }] } });
      return [];
    });
    return {};
  },
});

export const WriteImageSummary = defineOp({
  ...effect,
  name: 'WriteImageSummary',
  cases: () => [{ shape: '[], [], ?, ?, ? -> ' }],
  inputs: { writer: 'resource', step: 'int64', tag: 'string', tensor: 'T', bad_color: 'uint8' },
  attrs: {
    max_images: attr('int', { default: 3, minimum: 1 }),
    T: attr('type', { allowed: [uint8, float64, float32, float16], default: float32 }),
  },
  lower(p, { writer, step, tag, tensor, bad_color }, { max_images }) {
    checkImages(tensor.shape);
    checkBadColor(bad_color);
    p.host([writer, step, tag, tensor, bad_color], [], async ([at, now, text, batch, color]) => {
      writerAt(at).add(now!, { summary: { value: await imageValues(textOf(text!), batch!, color!, max_images) } });
      return [];
    });
    return {};
  },
});

export const WriteAudioSummary = defineOp({
  ...effect,
  name: 'WriteAudioSummary',
  cases: () => [{ shape: '[], [], ?, ?, ? -> ' }],
  inputs: { writer: 'resource', step: 'int64', tag: 'string', tensor: 'float32', sample_rate: 'float32' },
  attrs: { max_outputs: attr('int', { default: 3, minimum: 1 }) },
  lower(p, { writer, step, tag, tensor, sample_rate }, { max_outputs }) {
    p.host([writer, step, tag, tensor, sample_rate], [], ([at, now, text, batch, rate]) => {
      const value = audioValues(textOf(text!), batch!, rate!.numberAt(0), max_outputs);
      writerAt(at).add(now!, { summary: { value } });
      return [];
    });
    return {};
  },
});

function decoded<T>(message: Message<T>, bytes: Uint8Array, complaint: string): T {
  try {
    return message.decode(bytes);
  } catch (cause) {
    throw new DataLossError(complaint, { cause });
  }
}

export const WriteGraphSummary = defineOp({
  ...effect,
  name: 'WriteGraphSummary',
  cases: () => [{ shape: '[], [], ? -> ' }],
  inputs: { writer: 'resource', step: 'int64', tensor: 'string' },
  attrs: {},
  lower(p, { writer, step, tensor }) {
    p.host([writer, step, tensor], [], ([at, now, array]) => {
      const [graph_def] = bytesOf(array!);
      decoded(GraphDef, graph_def!, 'Bad tf.GraphDef binary proto tensor string');
      writerAt(at).add(now!, { graph_def: graph_def! });
      return [];
    });
    return {};
  },
});

export const WriteRawProtoSummary = defineOp({
  ...effect,
  name: 'WriteRawProtoSummary',
  cases: () => [{ shape: '[], [], ? -> ' }],
  inputs: { writer: 'resource', step: 'int64', tensor: 'string' },
  attrs: {},
  lower(p, { writer, step, tensor }) {
    p.host([writer, step, tensor], [], ([at, now, array]) => {
      const value = bytesOf(array!).flatMap(
        (bytes, i) =>
          decoded(Summary, bytes, `Bad tf.compat.v1.Summary binary proto tensor string at index ${i}`).value,
      );
      writerAt(at).add(now!, { summary: { value } });
      return [];
    });
    return {};
  },
});

export const ImportEvent = defineOp({
  ...effect,
  name: 'ImportEvent',
  cases: () => [{ shape: '[], [] -> ' }],
  inputs: { writer: 'resource', event: 'string' },
  attrs: {},
  lower(p, { writer, event }) {
    p.host([writer, event], [], ([at, array]) => {
      const [bytes] = bytesOf(array!);
      writerAt(at).addEvent(decoded(Event, bytes!, 'Bad tf.Event binary proto tensor string'));
      return [];
    });
    return {};
  },
});
