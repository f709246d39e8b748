/** @file GraphDef import: adds the nodes of a message to a graph, all of them or, when anything is wrong, none. */
import { InvalidArgumentError, UnimplementedError } from '../core/errors.ts';
import { AttrList, type AttrValue } from '../proto/attr.ts';
import { FunctionDef, type GraphDef, type NodeDef, type VersionDef } from '../proto/graph.ts';
import { shapeFromProto } from '../proto/tensorProto.ts';
import type { CallSite } from './callSite.ts';
import { type Context, currentContext } from './context.ts';
import { type Graph, graphDefVersion } from './graph.ts';
import { GraphDefIndex, parseTensorName } from './graphDefIndex.ts';
import { Operation } from './operation.ts';
import { schemaOf } from './opSchema.ts';
import { applyScopes, deviceFor, nameScope } from './scopes.ts';
import { Tensor } from './tensor.ts';

/** What stands in for a tensor of the message, or, under a key such as `^init`, for an operation waited for. */
export type InputMapping = Tensor | Operation | { readonly op: Operation };

export interface ImportOptions<M = InputMapping> {
  /** Replaces inputs: by tensor name (`x:0` or `x`), or by `^name` for control inputs. */
  readonly inputMap?: Readonly<Record<string, M>> | undefined;
  /** Names of operations (`x`) and tensors (`x:0`) of the message to give back. */
  readonly returnElements?: readonly string[] | undefined;
  /** Prefix of the imported names, `import` when left out; `''` imports into the root. */
  readonly name?: string | undefined;
}

/** Imports into the current default graph; `convert` makes what an input map holds a tensor or operation. */
export function importInto<M>(
  def: GraphDef,
  options: ImportOptions<M>,
  convert: (value: M) => InputMapping,
): (Operation | Tensor)[] {
  const { graph } = currentContext();
  graph.throwIfFinalized();
  checkVersions(def.versions);
  const { prefix, mapped } = nameScope(options.name ?? 'import', (scope) => ({
    prefix: scope,
    mapped: Object.entries(options.inputMap ?? {}).map(([key, value]) => [key, convert(value)] as const),
  }));
  const importer = new Importer(graph, def, prefix, new Map(mapped.map(([key, value]) => [mapKey(key), value])));
  importer.readFunctions();
  importer.draftNodes();
  const elements = (options.returnElements ?? []).map((name) => importer.element(name));
  importer.throwIfUnusedMapping();
  importer.commit(currentContext());
  return elements;
}

/** A key of an input map in the form `name:index` or `^name`. */
function mapKey(key: string): string {
  const { name, index, isControl } = parseTensorName(key);
  if (name.includes(':'))
    throw new InvalidArgumentError(
      `Cannot convert '${key}' to a tensor name. Second component of the name following the \`:\` should be an int.`,
    );
  return isControl ? `^${name}` : `${name}:${index}`;
}

/** Whether this library may read a message that says so about itself. */
export function checkVersions(versions: VersionDef | undefined): void {
  const { producer = 0, min_consumer = 0, bad_consumers = [] } = versions ?? {};
  if (producer < 0)
    throw new InvalidArgumentError(
      `GraphDef producer version ${producer} below min producer 0 supported by tensorloom.  Please regenerate your graph.`,
    );
  if (min_consumer > graphDefVersion)
    throw new InvalidArgumentError(
      `GraphDef min consumer version ${min_consumer} above current version ${graphDefVersion} for tensorloom.  Please upgrade tensorloom.`,
    );
  if (bad_consumers.includes(graphDefVersion))
    throw new InvalidArgumentError(
      `GraphDef disallows consumer version ${graphDefVersion}.  Please upgrade tensorloom: this version is likely buggy.`,
    );
}

/** Refuses ops that the version the graph was written for no longer has. */
export function checkDeprecation(type: string, deprecatedSince: number | undefined, producer: number): void {
  if (deprecatedSince !== undefined && producer >= deprecatedSince)
    throw new UnimplementedError(
      `Op ${type} is not available in GraphDef version ${producer}. It has been removed in version ${deprecatedSince}.`,
      { op: type },
    );
}

/** An input that comes from a node further on: the way back of a loop. */
interface BackEdge {
  readonly inputs: Tensor[];
  readonly position: number;
  readonly from: string;
  readonly index: number;
  readonly node: string;
}

class Importer {
  private readonly index: GraphDefIndex;
  private readonly site: CallSite;
  private readonly functions: Map<string, FunctionDef>;
  /** The new operations by their name in the message, and in the order they will have. */
  private readonly made = new Map<string, Operation>();
  private readonly order: Operation[] = [];
  private readonly backEdges: BackEdge[] = [];
  private readonly unused: Set<string>;

  constructor(
    private readonly graph: Graph,
    private readonly def: GraphDef,
    /** With its slash, or empty. */
    private readonly prefix: string,
    private readonly inputMap: ReadonlyMap<string, InputMapping>,
  ) {
    this.index = new GraphDefIndex(def.node, (key) => inputMap.has(key));
    this.site = graph.callSite();
    this.functions = new Map(graph.functions);
    this.unused = new Set(inputMap.keys());
  }

  readFunctions(): void {
    for (const added of this.def.library?.function ?? []) {
      const name = added.signature?.name ?? '';
      const present = this.functions.get(name);
      if (present && !sameBytes(FunctionDef.encode(present), FunctionDef.encode(added)))
        throw new InvalidArgumentError(
          `Cannot add function '${name}' because a different function with the same name already exists.`,
        );
      this.functions.set(name, added);
    }
  }

  draftNodes(): void {
    const producer = this.def.versions?.producer ?? 0;
    const taken = takenNames(this.graph);
    for (const node of this.index.inOrder((type) => schemaOf(type, this.functions).controlFlow)) {
      const name = this.uniqueName(`${this.prefix}${node.name}`, taken);
      checkDeprecation(node.op, schemaOf(node.op, this.functions).deprecatedSince, producer);
      const { _output_shapes: shapes, ...attrs } = node.attr;
      const { inputs, control } = this.inputsOf(node);
      const op = this.graph.draft({
        id: this.graph.operations.length + this.order.length,
        type: node.op,
        name,
        inputs,
        control,
        attrs,
        site: this.site,
        functions: this.functions,
      });
      op.device = node.device;
      op.carried = carried(node);
      if (shapes) setShapes(op, shapes);
      this.made.set(node.name, op);
      this.order.push(op);
    }
    for (const edge of this.backEdges) this.closeLoop(edge);
    for (const op of this.order) this.renameColocation(op);
  }

  /** As TensorFlow does it for imports: case matters, and the names of the message count as taken. */
  private uniqueName(name: string, taken: ReadonlySet<string>): string {
    let result = name;
    for (let i = 1; taken.has(result) || (i > 1 && this.index.uses(result)); i++) result = `${name}_${i}`;
    return result;
  }

  private inputsOf(node: NodeDef): { inputs: Tensor[]; control: Operation[] } {
    const inputs: Tensor[] = [];
    const control: Operation[] = [];
    for (const text of node.input) {
      const { name, index, isControl } = parseTensorName(text);
      const key = isControl ? `^${name}` : `${name}:${index}`;
      const mapped = this.inputMap.get(key);
      if (mapped) this.unused.delete(key);
      const from = this.made.get(name);
      if (isControl) {
        const op = mapped ? operationOf(mapped) : from!;
        if (!control.includes(op)) control.push(op);
      } else if (mapped) inputs.push(tensorOf(key, mapped));
      else if (from) inputs.push(outputOf(from, index, node.name));
      else {
        this.backEdges.push({ inputs, position: inputs.length, from: name, index, node: node.name });
        inputs.push(this.standIn(this.index.node(name)!));
      }
    }
    return { inputs, control };
  }

  /** A tensor in place of the end of a loop, which does not exist yet; such nodes have one output. */
  private standIn({ name, op, attr }: NodeDef): Tensor {
    const later = new Operation(this.graph, -1, name, op, [], [], {}, '');
    const [type] = schemaOf(op, this.functions).outputs(attr);
    return new Tensor(later, 0, type!.dtype, null, type!.isRef);
  }

  private closeLoop({ inputs, position, from, index, node }: BackEdge): void {
    const tensor = outputOf(this.made.get(from)!, index, node);
    if (tensor.dtype !== inputs[position]!.dtype)
      throw new InvalidArgumentError(
        `Input ${position} of node ${node} was passed ${tensor.dtype.runtimeName} from ${tensor.name} incompatible with expected ${inputs[position]!.dtype.runtimeName}.`,
        { node },
      );
    inputs[position] = tensor;
  }

  private renameColocation(op: Operation): void {
    const groups = op.attrs['_class']?.list?.s;
    if (!groups) return;
    const renamed = groups.map((bytes) => {
      const text = new TextDecoder().decode(bytes);
      const other = text.startsWith('loc:@') ? this.made.get(text.slice('loc:@'.length)) : undefined;
      return other ? new TextEncoder().encode(`loc:@${other.name}`) : bytes;
    });
    op.setAttr('_class', { list: AttrList.create({ s: renamed }) });
  }

  /** The operation or tensor that a name of the message stands for now. */
  element(text: string): Operation | Tensor {
    const { name, index } = parseTensorName(text);
    const op = this.made.get(name);
    if (!text.includes(':')) {
      if (!op) throw new InvalidArgumentError(`Requested return node '${text}' not found in graph def`);
      return op;
    }
    const mapped = this.inputMap.get(`${name}:${index}`);
    if (mapped) {
      this.unused.delete(`${name}:${index}`);
      return tensorOf(text, mapped);
    }
    if (!op) throw new InvalidArgumentError(`Requested return tensor '${text}' not found in graph def`);
    const tensor = op.outputs[index];
    if (!tensor)
      throw new InvalidArgumentError(
        `Invalid return output ${index} of node '${name}', which has ${op.outputs.length} output(s)`,
      );
    return tensor;
  }

  /** A key that names nothing in the message is likely a slip; one whose tensor exists but feeds nothing is not. */
  throwIfUnusedMapping(): void {
    const missing = [...this.unused].filter((key) => {
      const { name, index, isControl } = parseTensorName(key);
      const op = this.made.get(name);
      return !op || (!isControl && index >= op.outputs.length);
    });
    if (missing.length > 0)
      throw new InvalidArgumentError(
        `Attempted to map inputs that were not found in graph_def: [${missing.join(', ')}]`,
      );
  }

  /** Adds everything to the graph. Nothing before this has changed it, and nothing here fails. */
  commit(context: Context): void {
    const { graph } = this;
    for (const [name, added] of this.functions) graph.functions.set(name, added);
    const { gradient = [], registered_gradients = [] } = this.def.library ?? {};
    graph.functionGradients = [...graph.functionGradients, ...gradient];
    graph.registeredGradients = [...graph.registeredGradients, ...registered_gradients];
    graph.versions = mergedVersions(graph.versions, this.def.versions);
    // Imported operations wait for all that the scope waits for, whatever their inputs are.
    const waited = context.control.flatMap((frame) => frame.inputs);
    const devices = this.order.map((op) => op.device);
    for (const [i, op] of this.order.entries()) {
      op.controlInputs = [...new Set([...op.controlInputs, ...waited])];
      graph.names.take(op.name);
      graph.adopt(op, context);
      op.device = '';
      applyScopes(op, { ...context, devices: [] });
      devices[i] = op.device === '' ? devices[i]! : op.device;
    }
    for (const [i, op] of this.order.entries()) this.place(op, devices[i]!, context);
  }

  /** A colocated operation takes the device of its neighbour; any other is placed as if made in the scope. */
  private place(op: Operation, device: string, context: Context): void {
    op.device = '';
    const neighbours = op.colocationGroups.map((group) => group.slice('loc:@'.length)).filter((n) => n !== op.name);
    if (neighbours.length === 0) {
      op.device = deviceFor(op, device === '' ? context.devices : [...context.devices, device]);
      return;
    }
    for (const name of neighbours) {
      const found = this.graph.has(name) ? this.graph.getOperationByName(name).device : '';
      if (found === '') continue;
      op.device = found;
      return;
    }
  }
}

const operationOf = (x: InputMapping): Operation => (x instanceof Operation ? x : x.op);

function tensorOf(key: string, x: InputMapping): Tensor {
  if (x instanceof Tensor) return x;
  throw new InvalidArgumentError(`'${key}' is mapped to an operation, but a tensor is needed there`);
}

function outputOf(op: Operation, index: number, node: string): Tensor {
  const tensor = op.outputs[index];
  if (!tensor)
    throw new InvalidArgumentError(
      `Node '${node}': Connecting to invalid output ${index} of source node ${op.name} which has ${op.outputs.length} outputs.`,
      { node },
    );
  return tensor;
}

function carried(node: NodeDef): Operation['carried'] {
  const { experimental_debug_info, experimental_type } = node;
  return {
    ...(experimental_debug_info && { experimental_debug_info }),
    ...(experimental_type && { experimental_type }),
  };
}

/** The shapes that the writer knew, added to what is inferred here. */
function setShapes(op: Operation, attr: AttrValue): void {
  const shapes = attr.list?.shape ?? [];
  if (shapes.length < op.outputs.length)
    throw new InvalidArgumentError(
      `Node '${op.name}' has ${op.outputs.length} outputs but the _output_shapes attribute specifies shapes for ${shapes.length} outputs`,
      { node: op.name },
    );
  for (const [i, output] of op.outputs.entries())
    try {
      output.setShape(shapeFromProto(shapes[i]));
    } catch (error) {
      throw new InvalidArgumentError(
        `Node '${op.name}' has an _output_shapes attribute inconsistent with the GraphDef for output #${i}: ${(error as Error).message}`, // only errors are thrown
        { node: op.name, cause: error },
      );
    }
}

function mergedVersions(ours: VersionDef, theirs: VersionDef | undefined): VersionDef {
  const { producer = 0, min_consumer = 0, bad_consumers = [] } = theirs ?? {};
  return {
    producer: Math.min(ours.producer, producer),
    min_consumer: Math.max(ours.min_consumer, min_consumer),
    bad_consumers: [...new Set([...ours.bad_consumers, ...bad_consumers])].sort((a, b) => a - b),
  };
}

/** The names of operations, and every scope they lie in. */
function takenNames(graph: Graph): ReadonlySet<string> {
  const taken = new Set<string>();
  for (const { name } of graph.operations) addWithScopes(taken, name);
  return taken;
}

function addWithScopes(names: Set<string>, name: string): void {
  names.add(name);
  for (let slash = name.lastIndexOf('/'); slash > 0; slash = name.lastIndexOf('/', slash - 1)) {
    const scope = name.slice(0, slash);
    if (names.has(scope)) return;
    names.add(scope);
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((x, i) => x === b[i]);
}
