/** @file Scopes: names, devices, control dependencies and attributes that operations get from the block they are made in. */
import { AttrList, type AttrValue } from '../proto/attr.ts';
import {
  type Context,
  ContextKey,
  type ControlFrame,
  currentContext,
  type DeviceFunction,
  EnteredScope,
  enterContext,
  withContext,
} from './context.ts';
import { DeviceSpec } from './device.ts';
import { checkScopeName } from './names.ts';
import { Operation } from './operation.ts';
import { schemaOf } from './opSchema.ts';
import { onlyOptions } from './options.ts';
import { Tensor } from './tensor.ts';

const scopedAttrs = new ContextKey<Readonly<Record<string, AttrValue>>>('attributes');

/**
 * Prefixes the names of operations made in `body`. The callback gets the scope with its trailing slash; entering a scope
 * that ends in `/` goes back into that very scope.
 *
 * @example tf.nameScope('layer', () => tf.zeros([2])).name // 'layer/zeros:0'
 */
export function nameScope<T>(name: string | null, body: (scope: string) => T): T;
export function nameScope(name: string | null): EnteredScope<string>;
export function nameScope<T>(name: string | null, body?: (scope: string) => T): T | EnteredScope<string> {
  const { graph, scope } = currentContext();
  let inner: string;
  if (name === null || name === '') inner = '';
  else {
    checkScopeName(name, scope === '');
    inner = name.endsWith('/') ? name.slice(0, -1) : graph.uniqueName(name);
  }
  const label = inner === '' ? '' : `${inner}/`;
  return body ? withContext({ scope: inner }, body, label) : new EnteredScope(label, enterContext({ scope: inner }));
}

/** Things `controlDependencies` waits for. */
export type ControlInput = Operation | Tensor | { readonly op: Operation } | string;

/** The operation that something stands for; names are looked up in the default graph. */
function operationOf(input: ControlInput): Operation {
  if (typeof input !== 'string') return input instanceof Operation ? input : input.op;
  const element = currentContext().graph.asGraphElement(input);
  return element instanceof Tensor ? element.op : element;
}

/** Operations made in `body` run only after all of `inputs`; `null` clears the dependencies outside. */
export function controlDependencies<T>(inputs: readonly (ControlInput | null)[] | null, body: () => T): T;
export function controlDependencies(inputs: readonly (ControlInput | null)[] | null): EnteredScope<void>;
export function controlDependencies<T>(
  inputs: readonly (ControlInput | null)[] | null,
  body?: () => T,
): T | EnteredScope<void> {
  const { graph, control } = currentContext();
  const outer = inputs === null ? [] : control;
  const ops: Operation[] = [];
  for (const x of inputs ?? []) {
    const op = x === null ? null : graph.captureControl(operationOf(x));
    if (op && !ops.includes(op) && !outer.some((frame) => frame.inputs.includes(op))) ops.push(op);
  }
  const change = { control: [...outer, { inputs: ops, seen: new Set<Operation>() }] };
  return body ? withContext(change, body) : new EnteredScope(undefined, enterContext(change));
}

/** Places operations made in `body` on a device; takes a name, a `DeviceSpec`, a function of the operation, or `null`. */
export function device<T>(spec: string | DeviceSpec | DeviceFunction | null, body: () => T): T;
export function device(spec: string | DeviceSpec | DeviceFunction | null): EnteredScope<void>;
export function device<T>(spec: string | DeviceSpec | DeviceFunction | null, body?: () => T): T | EnteredScope<void> {
  const frame = spec instanceof DeviceSpec ? spec.toString() : spec;
  if (typeof frame === 'string') DeviceSpec.fromString(frame);
  const change = { devices: [...currentContext().devices, frame] };
  return body ? withContext(change, body) : new EnteredScope(undefined, enterContext(change));
}

export interface ColocationOptions {
  readonly ignoreExisting?: boolean | undefined;
}

/** Places operations made in `body` with another operation; `ignoreExisting` forgets the frames outside. */
export function colocateWith<T>(target: ControlInput, body: () => T, options?: ColocationOptions): T;
export function colocateWith<T>(target: ControlInput, options: ColocationOptions, body: () => T): T;
export function colocateWith(target: ControlInput, options?: ColocationOptions): EnteredScope<void>;
export function colocateWith<T>(
  target: ControlInput,
  ...given: readonly ((() => T) | ColocationOptions | undefined)[]
): T | EnteredScope<void> {
  const body = given.find((x) => typeof x === 'function');
  const options = given.find((x) => typeof x === 'object') ?? {};
  const { ignoreExisting } = onlyOptions('tf.colocateWith', options, 'ignoreExisting');
  const op = operationOf(target);
  const { graph, colocation } = currentContext();
  const outer = ignoreExisting ? [] : colocation;
  // A function is placed as a whole: its nodes cannot name what lies outside.
  const isOutside = graph.outer && op.graph !== graph;
  const change = isOutside ? {} : { colocation: [...outer, op.name], devices: [] };
  return body ? withContext(change, body) : new EnteredScope(undefined, enterContext(change));
}

/** Sets attributes, such as `_class`, on every operation made in `body` that does not have them itself. */
export function attrScope<T>(attrs: Readonly<Record<string, AttrValue>>, body: () => T): T {
  return withContext(scopedAttrs.change({ ...scopedAttrs.get(), ...attrs }), body);
}

/** Variables and queues made in `body` live in the named resource container. */
export function container<T>(name: string, body: () => T): T;
export function container(name: string): EnteredScope<void>;
export function container<T>(name: string, body?: () => T): T | EnteredScope<void> {
  const change = { container: name };
  return body ? withContext(change, body) : new EnteredScope(undefined, enterContext(change));
}

/** What the scopes around an operation add to it. */
export function applyScopes(op: Operation, context: Context): void {
  const { graph } = op;
  for (const [name, value] of Object.entries(scopedAttrs.get() ?? {}))
    if (op.attrs[name] === undefined) op.setAttr(name, value);
  const override = context.gradientOverrides[op.type];
  if (override !== undefined) op.setAttr('_gradient_op_type', { s: new TextEncoder().encode(override) });
  op.device = deviceFor(op, context.devices);
  if (context.colocation.length > 0) {
    // The innermost comes first: its device wins.
    const others = [...context.colocation].reverse().map((name) => graph.getOperationByName(name));
    const groups = [...new Set(others.flatMap((other) => other.colocationGroups))].sort();
    op.setAttr('_class', { list: AttrList.create({ s: groups.map((g) => new TextEncoder().encode(g)) }) });
    op.device = others.find((other) => other.device !== '')?.device ?? op.device;
  }
  const box = op.attrs['container']?.s;
  if (context.container !== '' && box?.length === 0 && schemaOf(op.type, graph.functions).isStateful)
    op.setAttr('container', { s: new TextEncoder().encode(context.container) });
}

/** What an operation over these inputs waits for. A frame does not count when an input was made inside it, and so waits already. */
export function controlFor(frames: readonly ControlFrame[], inputs: readonly Tensor[]): Operation[] {
  const result: Operation[] = [];
  for (const frame of frames) {
    if (inputs.some((t) => frame.seen.has(t.op))) continue;
    for (const op of frame.inputs) if (!inputs.some((t) => t.op === op)) result.push(op);
  }
  return result;
}

/** The device that the frames around an operation choose for it, the innermost first; `null` ends the search. */
export function deviceFor(op: Operation, frames: Context['devices']): string {
  for (const frame of [...frames].reverse()) {
    if (frame === null) break;
    if (typeof frame === 'function') op.device = frame(op);
    else op.device = DeviceSpec.fromString(frame).mergedWith(DeviceSpec.fromString(op.device)).toString();
  }
  return op.device;
}
