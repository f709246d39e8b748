/** @file tf.summary: the same bytes, pixels, node names and tags as TensorFlow's. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { decodePng } from '../../../src/io/png.ts';
import { AudioSummaryV2 } from '../../../src/ops/summary/audio.ts';
import { HistogramSummary } from '../../../src/ops/summary/histogram.ts';
import { ImageSummary } from '../../../src/ops/summary/image.ts';
import { TensorSummaryV2 } from '../../../src/ops/summary/tensor.ts';
import { Summary } from '../../../src/proto/event.ts';

interface GoldenArray {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: string;
}
interface Golden {
  readonly histograms: readonly { values: GoldenArray; summary: string }[];
  readonly images: readonly {
    tensor: GoldenArray;
    maxImages: number;
    badColor: number[] | null;
    values: readonly { tag: string; height: number; width: number; colorspace: number; pixels: string }[];
  }[];
  readonly sounds: readonly { tensor: GoldenArray; sampleRate: number; maxOutputs: number; summary: string }[];
  readonly tensors: readonly { tensor: GoldenArray | readonly string[]; metadata: string; summary: string }[];
  readonly names: {
    readonly nodes: readonly (readonly [name: string, op: string, inputs: readonly string[], tag: string])[];
    readonly collections: Readonly<Record<string, readonly string[]>>;
  };
}
const golden = JSON.parse(readFileSync(new URL('../../golden/summaries.json', import.meta.url), 'utf8')) as Golden; // made by tools/golden/summaries.py

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex');

function arrayOf({ dtype: name, shape, data }: GoldenArray): tf.NDArray {
  const dtype = tf.asDtype(name);
  const copy = bytes(data).slice();
  return new tf.NDArray(dtype, shape, dtype.over(copy.buffer, 0, copy.length / dtype.size));
}

/** The bytes of the summary that `build` makes of a fed tensor. */
async function summaryOf(value: tf.NDArray, build: (fed: tf.Tensor) => tf.Tensor): Promise<Uint8Array> {
  const graph = new tf.Graph();
  return graph.asDefault(async () => {
    const fed = tf.placeholder(value.dtype);
    using sess = new tf.Session({ graph });
    const result = await sess.run(build(fed), [[fed, value]]);
    return result.objects[0] as Uint8Array; // elements of string arrays are bytes
  });
}

describe('summary ops', () => {
  it.each(golden.histograms.map((h, i) => [i, h.values.dtype, h] as const))(
    'histogram %i of %s has the same bytes',
    async (_i, _dtype, { values, summary }) => {
      const ours = await summaryOf(arrayOf(values), (fed) => HistogramSummary.build({ tag: 'h', values: fed }).summary);
      expect(hex(ours)).toBe(hex(bytes(summary)));
    },
  );

  it.each(golden.images.map((x, i) => [i, x.tensor.dtype, x] as const))(
    'images %i of %s have the same pixels',
    async (_i, _dtype, { tensor, maxImages, badColor, values }) => {
      const color = badColor && { bad_color: new tf.NDArray(tf.uint8, [badColor.length], Uint8Array.from(badColor)) };
      const attrs = { max_images: maxImages, ...color };
      const ours = await summaryOf(
        arrayOf(tensor),
        (fed) => ImageSummary.build({ tag: 'i', tensor: fed }, { attrs }).summary,
      );
      const found = Summary.decode(ours).value.map(async ({ tag, image }) => {
        const { data } = await decodePng(image!.encoded_image_string);
        const { height, width, colorspace } = image!;
        return { tag, height, width, colorspace, pixels: Buffer.from(data as Uint8Array).toString('base64') };
      });
      expect(await Promise.all(found)).toEqual(values);
    },
  );

  it.each(golden.sounds.map((x, i) => [i, x] as const))(
    'sound %i has the same bytes',
    async (_i, { tensor, sampleRate, maxOutputs, summary }) => {
      const attrs = { max_outputs: maxOutputs };
      const ours = await summaryOf(
        arrayOf(tensor),
        (fed) => AudioSummaryV2.build({ tag: 'a', tensor: fed, sample_rate: sampleRate }, { attrs }).summary,
      );
      expect(hex(ours)).toBe(hex(bytes(summary)));
    },
  );

  it.each(golden.tensors.map((x, i) => [i, x] as const))(
    'tensor %i has the same bytes',
    async (_i, { tensor, metadata, summary }) => {
      const value = 'dtype' in tensor ? arrayOf(tensor) : new tf.NDArray(tf.string, [tensor.length], tensor.map(bytes));
      const ours = await summaryOf(
        value,
        (fed) => TensorSummaryV2.build({ tag: 't', tensor: fed, serialized_summary_metadata: bytes(metadata) }).summary,
      );
      expect(hex(ours)).toBe(hex(bytes(summary)));
    },
  );
});

describe('tf.summary', () => {
  it('makes the nodes, tags and collections of TensorFlow', () => {
    const graph = new tf.Graph();
    graph.asDefault(() => {
      const x = tf.placeholder(tf.float32, [null, 4], { name: 'x' });
      for (let i = 0; i < 2; i++) tf.summary.scalar('loss', tf.constant(1.5));
      tf.summary.scalar('odd name/(1)', 2.5);
      tf.summary.scalar('/slash', 2.5, { family: 'fam' });
      tf.nameScope('layer', () => {
        tf.summary.histogram('weights', x);
        tf.summary.histogram('weights', x, { family: 'all' });
        tf.summary.image('pictures', tf.zeros([1, 2, 2, 3]), { maxOutputs: 2, family: 'all' });
        tf.summary.audio('tone', tf.zeros([1, 8]), 8000);
      });
      tf.nameScope('layer', () => {
        tf.summary.text('note', tf.constant(['a', 'b']));
        tf.summary.tensorSummary('t', [1, 2], {
          summaryDescription: 'about',
          displayName: 'shown',
          collections: ['mine'],
        });
      });
      tf.summary.merge([tf.summary.scalar('a', 1), tf.summary.scalar('b', 2)], { collections: ['merged'] });
      tf.summary.mergeAll();
      tf.summary.mergeAll({ scope: 'layer', name: 'some' });
      tf.summary.mergeAll({ key: 'mine', name: 'scope/mine' });
    });
    const nodes = graph.asGraphDef().node.map((node) => {
      const value = node.attr.value?.tensor;
      const array = value?.dtype === tf.string.number ? tf.makeNdarray(value) : undefined;
      const parts = (array?.objects ?? []) as Uint8Array[]; // elements of string arrays are bytes
      const tag = parts.map((part) => Buffer.from(part).toString('latin1')).join('|');
      return [node.name, node.op, node.input, Buffer.from(tag, 'latin1').toString('base64')];
    });
    expect(nodes).toEqual(golden.names.nodes);
    for (const [key, names] of Object.entries(golden.names.collections))
      expect(graph.getCollection(key).map((t) => (t as tf.Tensor).name)).toEqual(names);
  });

  it('gives null when there is nothing to merge', () => {
    new tf.Graph().asDefault(() => expect(tf.summary.mergeAll()).toBeNull());
  });

  it('refuses texts that are none, and unknown options', () => {
    new tf.Graph().asDefault(() => {
      expect(() => tf.summary.text('note', tf.constant(1))).toThrow(/Expected tensor Const:0 to have dtype string/);
      expect(() => tf.summary.image('i', tf.zeros([1, 1, 1, 1]), { maxOutput: 1 } as object)).toThrow(/maxOutputs/);
    });
  });

  it('describes old tensor summaries', () => {
    const node = (op: string, description: string) => ({
      ...tf.GraphDef.parseText(
        `node { name: 'n' op: '${op}' attr { key: 'description' value { s: '${description}' } } }`,
      ).node[0]!,
    });
    expect(tf.summary.getSummaryDescription(node('TensorSummary', '{"typeHint": "TEXT"}')).typeHint).toBe('TEXT');
    expect(() => tf.summary.getSummaryDescription(node('Const', ''))).toThrow(/Can't get_summary_description on Const/);
  });

  it('reads and writes messages by Python names in camelCase', () => {
    const summary = new tf.Summary({ value: [{ tag: 'a', simpleValue: 0.5 }] });
    summary.value.push(new tf.Summary.Value({ tag: 'b', metadata: { pluginData: { pluginName: 'text' } } }));
    const again = tf.Summary.fromString(summary.serializeToString());
    expect(again.value.map((v) => [v.tag, v.simpleValue, v.metadata?.pluginData?.pluginName])).toEqual([
      ['a', 0.5, undefined],
      ['b', undefined, 'text'],
    ]);
    expect(tf.SessionLog.CHECKPOINT).toBe(3);
  });
});
