/** @file Damaged files: of records, tensors, tables, checkpoints, graphs and events. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as d from '../../src/core/dtypes.ts';
import { fromNested } from '../../src/core/ndarray.ts';
import { Event as PublicEvent } from '../../src/front/summary/messages.ts';
import { Graph } from '../../src/graph/graph.ts';
import { crc32c, maskCrc } from '../../src/io/crc32c.ts';
import { encodeRecord, RecordSplitter } from '../../src/io/records.ts';
import { arrayFromProto, decodeTensorProto, serializeTensor } from '../../src/io/serializedTensor.ts';
import { decodeTable, encodeTable } from '../../src/io/table.ts';
import { BundleReader, writeBundle } from '../../src/io/tensorBundle.ts';
import { importGraphDef } from '../../src/op/importGraphDef.ts';
import { constant, placeholder } from '../../src/ops/array/index.ts';
import { matmul } from '../../src/ops/math/index.ts';
import { Event } from '../../src/proto/event.ts';
import { GraphDef } from '../../src/proto/graph.ts';
import { BundleEntryProto } from '../../src/proto/tensorBundle.ts';
import { encode, type Target } from './target.ts';

/** The checksums of all records that their lengths lead to. */
function repairRecords(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at + 12 <= bytes.length; ) {
    view.setUint32(at + 8, maskCrc(crc32c(bytes.subarray(at, at + 8))), true);
    const end = at + 12 + Number(view.getBigUint64(at, true));
    if (end + 4 > bytes.length) break;
    view.setUint32(end, maskCrc(crc32c(bytes.subarray(at + 12, end))), true);
    at = end + 4;
  }
  return bytes;
}

/** The checksums of the blocks of a table, wherever its footer says that they are. */
function repairTable(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const footer = bytes.length - 48;
  if (footer < 0) return bytes;
  let at = footer;
  const varint = () => {
    let value = 0;
    for (let scale = 1; at < bytes.length; scale *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) break;
    }
    return value;
  };
  for (let block = 0; block < 2; block++) {
    const [offset, size] = [varint(), varint()];
    if (offset + size + 5 <= bytes.length)
      view.setUint32(offset + size + 1, maskCrc(crc32c(bytes.subarray(offset, offset + size + 1))), true);
  }
  return bytes;
}

const records = () =>
  new Uint8Array(Buffer.concat(['one', '', 'three and more'.repeat(20)].map((text) => encodeRecord(encode(text)))));

function graph(): Uint8Array {
  const made = new Graph();
  made.asDefault(() =>
    matmul(placeholder(d.float32, [null, 3], { name: 'x' }), constant([[1.5], [2], [3]], { name: 'w' })),
  );
  return GraphDef.encode({ node: made.operations.map((op) => op.nodeDef), versions: { producer: 1882 } });
}

/** Reads all tensors of a checkpoint whose index is damaged. */
async function checkpoints(): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-'));
  const prefix = join(folder, 'model');
  await writeBundle(prefix, [
    { name: 'w', array: fromNested([[1.5, 2], [3, 4]], d.float32) }, // biome-ignore format: a matrix
    { name: 'step', array: fromNested(7, d.int64) },
    { name: 'names', array: fromNested(['a', 'bc'], d.string) },
  ]);
  const index = `${prefix}.index`;
  return {
    name: 'checkpoint',
    seeds: [new Uint8Array(readFileSync(index))],
    repair: repairTable,
    async read(bytes) {
      writeFileSync(index, bytes);
      const reader = BundleReader.open(prefix);
      try {
        for (const name of reader.names) await reader.read(name);
      } finally {
        await reader.close();
      }
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

const table = () =>
  encodeTable(
    ['', 'a/b', 'a/c', 'long name '.repeat(20)].map((key) => [
      encode(key),
      BundleEntryProto.encode({ dtype: 1, size: 12, shape: { dim: [{ size: 3 }] } }),
    ]),
  ).slice();

/** Readers of files; a checkpoint needs a moment to be made. */
export async function fileTargets(): Promise<Target[]> {
  return [
    {
      name: 'records',
      seeds: [records()],
      repair: repairRecords,
      read(bytes) {
        const splitter = new RecordSplitter(bytes.length);
        for (let at = 0; at < bytes.length; at += 50) for (const _ of splitter.push(bytes.subarray(at, at + 50)));
        splitter.end();
      },
    },
    {
      name: 'serialized tensors',
      seeds: [
        serializeTensor(fromNested([[1.5, 2], [3, 4]], d.float32)), // biome-ignore format: a matrix
        serializeTensor(fromNested(['a', 'bc'], d.string)),
        Uint8Array.of(8, 3, 18, 4, 18, 2, 8, 2, 58, 2, 5, 6),
      ],
      read(bytes) {
        const proto = decodeTensorProto(bytes);
        if (proto) arrayFromProto(proto);
      },
    },
    {
      name: 'tables',
      seeds: [table()],
      repair: repairTable,
      read(bytes) {
        for (const [, value] of decodeTable(bytes)) BundleEntryProto.decode(value);
      },
    },
    await checkpoints(),
    {
      name: 'GraphDef',
      seeds: [graph()],
      read(bytes) {
        const def = GraphDef.decode(bytes);
        new Graph().asDefault(() => importGraphDef(def));
      },
    },
    {
      name: 'events',
      seeds: [
        Event.encode({ wall_time: 1.5, step: 3, summary: { value: [{ tag: 'loss', simple_value: 0.5 }] } }),
        Event.encode({ wall_time: 1.5, file_version: 'brain.Event:2' }),
      ],
      read: (bytes) => Event.decode(bytes),
    },
    {
      name: 'event files',
      seeds: [new Uint8Array(readFileSync('test/golden/io/events.out.tfevents.golden'))],
      repair: repairRecords,
      read(bytes) {
        const splitter = new RecordSplitter();
        for (const record of splitter.push(bytes)) PublicEvent.fromString(record);
        splitter.end();
      },
    },
  ];
}
