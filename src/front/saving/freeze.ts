/** @file Freezing: variables become constants, in the graph and in the functions that it calls. */
import { int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Shape } from '../../core/shape.ts';
import { Graph } from '../../graph/graph.ts';
import { parseTensorName } from '../../graph/graphDefIndex.ts';
import { onlyOptions } from '../../graph/options.ts';
import { evaluate, type Runner } from '../../graph/runner.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { AttrList, type AttrValue } from '../../proto/attr.ts';
import type { FunctionDef, GraphDef, NodeDef } from '../../proto/graph.ts';
import { DataType } from '../../proto/tensor.ts';
import { constantToProto, shapeToProto } from '../../proto/tensorProto.ts';
import { extractSubGraph } from './graphUtil.ts';

export interface FreezeOptions {
  /** Only these variables become constants. */
  readonly variableNamesWhitelist?: readonly string[] | undefined;
  /** These stay variables. */
  readonly variableNamesBlacklist?: readonly string[] | undefined;
}

/**
 * The part of a graph that computes some nodes, with the values that its variables have in a session as constants.
 *
 * @example
 * const frozen = await tf.graphUtil.convertVariablesToConstants(sess, sess.graph, ['softmax']);
 * fs.writeFileSync('frozen.pb', tf.GraphDef.encode(frozen));
 */
export async function convertVariablesToConstants(
  sess: Runner & { readonly graph: Graph },
  graphOrDef: Graph | GraphDef,
  outputNodeNames: readonly string[],
  options: FreezeOptions = {},
): Promise<GraphDef> {
  onlyOptions('tf.graphUtil.convertVariablesToConstants', options, 'variableNamesWhitelist', 'variableNamesBlacklist');
  const whole = graphOrDef instanceof Graph ? graphOrDef.asGraphDef() : graphOrDef;
  const part = extractSubGraph(whole, outputNodeNames);
  const isChosen = (name: string) =>
    (options.variableNamesWhitelist?.includes(name) ?? true) && !options.variableNamesBlacklist?.includes(name);
  const names = part.node.filter((n) => variableTypes.has(n.op) && isChosen(n.name)).map((n) => n.name);
  const values = names.length === 0 ? [] : await evaluate(sess, readersOf(sess.graph, names));
  return new Freezer(part, new Map(names.map((name, i) => [name, values[i]!]))).frozen();
}

const variableTypes = new Set(['Variable', 'VariableV2', 'VarHandleOp']);

function readersOf(graph: Graph, names: readonly string[]): Tensor[] {
  return names.map((name) => {
    const target = graph.getOperationByName(name).outputs[0]!;
    if (target.op.type !== 'VarHandleOp') return target;
    const reader = graph.consumersOf(target).find((op) => op.type === 'ReadVariableOp');
    if (reader) return reader.outputs[0]!;
    throw new InvalidArgumentError(`Cannot freeze the variable '${name}': no node of the graph reads it.`);
  });
}

/** What a tensor that was a handle is now: the value itself. */
interface Value {
  readonly type: number;
  readonly shape: Shape;
  readonly variable: string;
}
/** Values by `node:0` in graphs; by `argument` or `node:port:0` in functions. */
type Values = Map<string, Value>;

/** Ops that hand on what they get, and the outputs that they hand it on to. */
const passing: Readonly<Record<string, readonly string[]>> = {
  Identity: ['output'],
  Enter: ['output'],
  Exit: ['output'],
  NextIteration: ['output'],
  LoopCond: ['output'],
  Switch: ['output_false', 'output_true'],
  Merge: ['output'],
};

/** Ops that call functions: the attributes that name them, that with the types, and how many inputs come before. */
const calling: Readonly<Record<string, { functions: readonly string[]; types: string; before: number; loops?: true }>> =
  {
    PartitionedCall: { functions: ['f'], types: 'Tin', before: 0 },
    StatefulPartitionedCall: { functions: ['f'], types: 'Tin', before: 0 },
    If: { functions: ['then_branch', 'else_branch'], types: 'Tin', before: 1 },
    StatelessIf: { functions: ['then_branch', 'else_branch'], types: 'Tin', before: 1 },
    Case: { functions: ['branches'], types: 'Tin', before: 1 },
    StatelessCase: { functions: ['branches'], types: 'Tin', before: 1 },
    While: { functions: ['cond', 'body'], types: 'T', before: 0, loops: true },
    StatelessWhile: { functions: ['cond', 'body'], types: 'T', before: 0, loops: true },
  };

const withAttr = (node: NodeDef, name: string, value: AttrValue): NodeDef => ({
  ...node,
  attr: { ...node.attr, [name]: value },
});
const isControl = (input: string) => input.startsWith('^');

class Freezer {
  private readonly functions: Map<string, FunctionDef>;
  /** Functions with values in place of handles, by the function and what it is given. */
  private readonly made = new Map<string, string>();

  constructor(
    private readonly def: GraphDef,
    private readonly variables: ReadonlyMap<string, NDArray>,
  ) {
    this.functions = new Map((def.library?.function ?? []).map((f) => [f.signature?.name ?? '', f]));
  }

  frozen(): GraphDef {
    const values: Values = new Map();
    const added: NodeDef[] = [];
    const constants = this.def.node.map((node) => {
      const array = this.variables.get(node.name);
      if (!array) return node;
      if (node.op === 'VarHandleOp')
        values.set(`${node.name}:0`, { type: array.dtype.number, shape: array.shape, variable: node.name });
      const attr = { dtype: { type: array.dtype.number }, value: { tensor: constantToProto(array) } };
      return { name: node.name, op: 'Const', input: [], device: node.device, attr };
    });
    const node = this.rewrite(
      constants,
      values,
      added,
      (n, output) => `${n.name}:${output}`,
      (name) => name,
    );
    const { library, ...rest } = this.def;
    const all = [...node, ...added];
    const used = this.usedFunctions(all);
    return {
      ...rest,
      node: all,
      ...(library && used.length > 0 && { library: { ...library, function: used } }),
    };
  }

  /** Replaces the readers of values; loops of frames hand values backwards, so it goes round until nothing new is found. */
  private rewrite(
    nodes: readonly NodeDef[],
    values: Values,
    added: NodeDef[],
    nameOf: (node: NodeDef, output: number, port: string) => string,
    /** How an input names a constant: functions say which output of it. */
    constantInput: (name: string) => string,
  ): NodeDef[] {
    const find = (input: string) => {
      if (isControl(input)) return undefined;
      const { name, index } = parseTensorName(input);
      return values.get(input) ?? values.get(`${name}:${index}`);
    };
    for (let before = -1; before !== values.size; ) {
      before = values.size;
      for (const node of nodes) {
        const ports = passing[node.op];
        const value = node.input.map(find).find((v) => v !== undefined);
        if (!value) continue;
        ports?.forEach((port, i) => {
          values.set(nameOf(node, i, `${port}:0`), value);
        });
        const call = calling[node.op];
        if (call?.loops)
          node.input.forEach((input, i) => {
            const passed = find(input);
            if (passed) values.set(nameOf(node, i, `output:${i}`), passed);
          });
      }
    }
    return nodes.map((node) => this.replaced(node, node.input.map(find), added, constantInput));
  }

  private replaced(
    node: NodeDef,
    given: readonly (Value | undefined)[],
    added: NodeDef[],
    constantInput: (name: string) => string,
  ): NodeDef {
    const value = given.find((v) => v !== undefined);
    if (!value) return node;
    const { name, op, input, device, attr } = node;
    if (op === 'ReadVariableOp') return { name, op: 'Identity', input, device, attr: { T: { type: value.type } } };
    if (passing[op]) return withAttr(node, 'T', { type: value.type });
    if (calling[op]) return this.called(node, given);
    const place: Record<string, AttrValue> = attr['_class'] ? { _class: attr['_class'] } : {};
    const types = { Tindices: attr['Tindices']!, Tparams: { type: value.type }, ...place };
    if (op === 'ResourceGather') {
      const axis = `${name}/axis`;
      const first = attr['batch_dims']?.i ?? 0n;
      added.push({
        name: axis,
        op: 'Const',
        input: [],
        device,
        attr: {
          dtype: { type: DataType.values.DT_INT32 },
          value: { tensor: constantToProto(integer(Number(first))) },
        },
      });
      const data = input.filter((i) => !isControl(i));
      const batch = first === 0n ? {} : { batch_dims: { i: first } };
      return {
        name,
        op: 'GatherV2',
        input: [...data, constantInput(axis), ...input.filter(isControl)],
        device,
        attr: { ...types, ...batch, Taxis: { type: DataType.values.DT_INT32 } },
      };
    }
    if (op === 'ResourceGatherNd') return { name, op: 'GatherNd', input, device, attr: types };
    throw new InvalidArgumentError(
      `Cannot freeze the variable '${value.variable}': ${op} '${name}' uses it in a way that no constant can be used. Leave it out with { variableNamesBlacklist: ['${value.variable}'] }, or name outputs that do not need '${name}'.`,
    );
  }

  /** A call of functions that now get values where they got handles. */
  private called(node: NodeDef, given: readonly (Value | undefined)[]): NodeDef {
    const { functions, types, before, loops } = calling[node.op]!;
    const passed = given.slice(before);
    let result = node;
    for (const name of functions) {
      const { func, list } = node.attr[name] ?? {};
      if (func) result = withAttr(result, name, { func: { ...func, name: this.specialized(func.name, passed) } });
      else if (list)
        result = withAttr(result, name, {
          list: AttrList.create({ func: list.func.map((f) => ({ ...f, name: this.specialized(f.name, passed) })) }),
        });
    }
    const listed = node.attr[types]?.list?.type ?? [];
    result = withAttr(result, types, {
      list: AttrList.create({ type: listed.map((type, i) => passed[i]?.type ?? type) }),
    });
    const shapes = loops && node.attr['output_shapes']?.list?.shape;
    if (shapes && shapes.length > 0)
      result = withAttr(result, 'output_shapes', {
        list: AttrList.create({ shape: shapes.map((shape, i) => (passed[i] ? shapeToProto(passed[i].shape) : shape)) }),
      });
    const { _read_only_resource_inputs: _, ...attr } = result.attr;
    return { ...result, attr };
  }

  /** The function that takes values where another takes handles; its name. */
  private specialized(name: string, given: readonly (Value | undefined)[]): string {
    const key = `${name} ${given.map((v) => v?.variable ?? '').join(' ')}`;
    const present = this.made.get(key);
    if (present !== undefined) return present;
    const def = this.functions.get(name);
    if (!def) throw new InvalidArgumentError(`The graph calls the function '${name}', which is not in its library.`);
    let fresh = `${name}_frozen`;
    for (let i = 1; this.functions.has(fresh); i++) fresh = `${name}_frozen_${i}`;
    this.made.set(key, fresh);
    // Taken before its body is visited, which may call it again.
    this.functions.set(fresh, def);
    const values: Values = new Map();
    const args = def.signature?.input_arg ?? [];
    for (const [i, { name: arg }] of args.entries()) if (given[i]) values.set(arg, given[i]);
    const added: NodeDef[] = [];
    const body = this.rewrite(
      def.node_def,
      values,
      added,
      (n, _output, port) => `${n.name}:${port}`,
      (name) => `${name}:output:0`,
    );
    const reads = new Set(
      def.node_def.filter((n, i) => n.op === 'ReadVariableOp' && body[i]!.op === 'Identity').map((n) => n.name),
    );
    const renamed = (input: string) => {
      const [from, port, index] = input.split(':');
      return port === 'value' && reads.has(from!) ? `${from}:output:${index}` : input;
    };
    const arg_attr = Object.fromEntries(Object.entries(def.arg_attr).filter(([i]) => !given[Number(i)]));
    this.functions.set(fresh, {
      ...def,
      signature: {
        ...def.signature!,
        name: fresh,
        input_arg: args.map((arg, i) => (given[i] ? { ...arg, type: given[i].type, handle_data: [] } : arg)),
        output_arg: def.signature!.output_arg.map((arg) => {
          const value = values.get(def.ret[arg.name] ?? '');
          return value ? { ...arg, type: value.type, handle_data: [] } : arg;
        }),
      },
      node_def: [...body, ...added].map((n) => ({ ...n, input: n.input.map(renamed) })),
      ret: Object.fromEntries(Object.entries(def.ret).map(([out, from]) => [out, renamed(from)])),
      arg_attr,
    });
    return fresh;
  }

  /** The functions that nodes call, and those that these call. */
  private usedFunctions(nodes: readonly NodeDef[]): FunctionDef[] {
    const used = new Set<string>();
    const visit = (list: readonly NodeDef[]): void => {
      for (const { op, attr } of list) {
        const called = Object.values(attr).flatMap((v) => [v.func?.name, ...(v.list?.func ?? []).map((f) => f.name)]);
        for (const name of [op, ...called]) {
          const def = name === undefined ? undefined : this.functions.get(name);
          if (!def || used.has(name!)) continue;
          used.add(name!);
          visit(def.node_def);
        }
      }
    };
    visit(nodes);
    return [...this.functions].filter(([name]) => used.has(name)).map(([, def]) => def);
  }
}

const integer = (n: number) => new NDArray(int32, [], Int32Array.of(n));
