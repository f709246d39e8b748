/** @file Which views an instruction reads and writes, and how to replace them: the one place that knows every kind. */
import type { Buffer, DeviceInstruction, View } from './instructions.ts';

/** The views an instruction reads. In-place targets (scatter, generator states) count as read and written. */
export function readsOf(i: DeviceInstruction): readonly View[] {
  switch (i.kind) {
    case 'map':
    case 'reduce':
      return i.inputs;
    case 'dot':
      return [i.a, i.b];
    case 'gather':
      return [i.params, i.indices];
    case 'scatter':
      return [i.target, i.indices, i.updates];
    case 'scan':
    case 'topk':
    case 'check':
      return [i.input];
    case 'random':
      return i.low && i.high ? [i.state, i.low, i.high] : [i.state];
  }
}

/** The views an instruction writes. */
export function writesOf(i: DeviceInstruction): readonly View[] {
  switch (i.kind) {
    case 'map':
      return i.outputs;
    case 'reduce':
    case 'dot':
    case 'gather':
    case 'scan':
      return [i.output];
    case 'scatter':
      return [i.target];
    case 'topk':
      return [i.values, i.indices];
    case 'random':
      return [i.output, i.state];
    case 'check':
      return [];
  }
}

/** The instruction with the buffers it reads (but does not write) replaced. */
export function withReads(i: DeviceInstruction, change: (buffer: Buffer) => Buffer): DeviceInstruction {
  const swap = (v: View): View => {
    const buffer = change(v.buffer);
    return buffer === v.buffer ? v : { ...v, buffer };
  };
  switch (i.kind) {
    case 'map':
    case 'reduce':
      return { ...i, inputs: i.inputs.map(swap) };
    case 'dot':
      return { ...i, a: swap(i.a), b: swap(i.b) };
    case 'gather':
      return { ...i, params: swap(i.params), indices: swap(i.indices) };
    case 'scatter':
      return { ...i, indices: swap(i.indices), updates: swap(i.updates) };
    case 'scan':
    case 'topk':
    case 'check':
      return { ...i, input: swap(i.input) };
    case 'random':
      return i.low && i.high ? { ...i, low: swap(i.low), high: swap(i.high) } : i;
  }
}
