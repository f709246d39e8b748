/** @file Which views an instruction reads and writes, and how to replace them: the one place that knows every kind. */
import type { Buffer, ConvInstruction, DeviceInstruction, HostInstruction, View } from './instructions.ts';

type Instruction = DeviceInstruction | HostInstruction;

/** The views an instruction reads. In-place targets (scatter, generator states) count as read and written. */
export function readsOf(i: Instruction): readonly View[] {
  switch (i.kind) {
    case 'map':
    case 'reduce':
      return i.inputs;
    case 'dot':
      return [
        i.a,
        i.b,
        ...(i.more?.flatMap(({ a, b }) => [a, b]) ?? []),
        ...(i.plus ? [i.plus] : []),
        ...(i.after?.inputs.filter((v) => v.buffer !== i.output.buffer) ?? []),
      ];
    case 'conv':
      return operandsOf(i).map((name) => i[name]);
    case 'gather':
      return [i.params, i.indices];
    case 'scatter':
      return [i.target, i.indices, i.updates];
    case 'scan':
    case 'topk':
    case 'check':
      return [i.input];
    case 'window':
      return [...i.inputs, ...i.spans];
    case 'random':
      return i.low && i.high ? [i.state, i.low, i.high] : [i.state];
    case 'blocks':
      return i.steps.flatMap(readsOf).filter((v) => !i.locals.has(v.buffer));
    case 'together':
      return i.steps.flatMap(readsOf);
    case 'host':
      return i.inputs;
  }
}

/** The views an instruction writes. */
export function writesOf(i: Instruction): readonly View[] {
  switch (i.kind) {
    case 'map':
      return i.outputs;
    case 'dot':
      return [...(i.passing ? [] : [i.output]), ...(i.after?.outputs ?? [])];
    case 'reduce':
    case 'gather':
    case 'scan':
    case 'window':
      return [i.output];
    case 'conv':
      return [i[i.result]];
    case 'scatter':
      return [i.target];
    case 'topk':
      return [i.values, i.indices];
    case 'random':
      return [i.output, i.state];
    case 'check':
      return [];
    case 'blocks':
      return i.steps.flatMap(writesOf).filter((v) => !i.locals.has(v.buffer));
    case 'together':
      return i.steps.flatMap(writesOf);
    case 'host':
      return i.outputs ?? [];
  }
}

/** The instruction with the buffers it reads (but does not write) replaced. */
export function withReads<I extends Instruction>(i: I, change: (buffer: Buffer) => Buffer): I;
export function withReads(i: Instruction, change: (buffer: Buffer) => Buffer): Instruction {
  const swap = (v: View): View => {
    const buffer = change(v.buffer);
    return buffer === v.buffer ? v : { ...v, buffer };
  };
  switch (i.kind) {
    case 'map':
    case 'reduce':
    case 'host':
      return { ...i, inputs: i.inputs.map(swap) };
    case 'dot':
      return {
        ...i,
        a: swap(i.a),
        b: swap(i.b),
        ...(i.more ? { more: i.more.map(({ a, b }) => ({ a: swap(a), b: swap(b) })) } : {}),
        ...(i.plus ? { plus: swap(i.plus) } : {}),
        ...(i.after ? { after: withReads(i.after, (b) => (b === i.output.buffer ? b : change(b))) } : {}),
      };
    case 'conv': {
      const [first, second] = operandsOf(i);
      return { ...i, [first]: swap(i[first]), [second]: swap(i[second]) };
    }
    case 'gather':
      return { ...i, params: swap(i.params), indices: swap(i.indices) };
    case 'scatter':
      return { ...i, indices: swap(i.indices), updates: swap(i.updates) };
    case 'scan':
    case 'topk':
    case 'check':
      return { ...i, input: swap(i.input) };
    case 'window':
      return { ...i, inputs: i.inputs.map(swap), spans: i.spans.map(swap) };
    case 'random':
      return i.low && i.high ? { ...i, low: swap(i.low), high: swap(i.high) } : i;
    case 'blocks':
      return { ...i, steps: i.steps.map((step) => withReads(step, change)) };
    case 'together':
      return { ...i, steps: i.steps.map((step) => withReads(step, change)) };
  }
}

/** The two arrays of a convolution that are read. */
function operandsOf({ result }: ConvInstruction): readonly ['input' | 'filter', 'filter' | 'output'] {
  if (result === 'output') return ['input', 'filter'];
  return result === 'input' ? ['filter', 'output'] : ['input', 'output'];
}
