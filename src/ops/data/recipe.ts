/** @file How a dataset was made: its node and what that was given, as a graph that makes the same again, and as a number. */
import { resource, uint64, variant } from '../../core/dtypes.ts';
import { UnimplementedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { AttrValue } from '../../proto/attr.ts';
import { type FunctionDef, GraphDef, NodeDef } from '../../proto/graph.ts';
import { tensorToProto } from '../../proto/tensorProto.ts';
import { fingerprint64 } from '../string/farmHash.ts';
import { Dataset } from './dataset.ts';

/** The node that a dataset comes from. */
export interface Recipe {
  readonly op: string;
  readonly attrs: Readonly<Record<string, AttrValue>>;
  /** What the node was given, list ports expanded. */
  readonly inputs: readonly NDArray[];
  /** How many elements are in its batches, if all ways to it say the same. */
  readonly batchSize: number;
  /** The op that makes an empty object in place of a resource that the node was given. */
  readonly emptyObject: string | undefined;
  /** The functions of its attributes, and those that they call. */
  functions(): readonly FunctionDef[];
}

export const unknownBatchSize = -1;

/** The version of TensorFlow's graphs that ours are like. */
const producer = 1882;
/** The node that says which output the graph is for. */
const resultName = 'dataset';

/** Collects the nodes that a dataset was made by, those it is made of first. */
class GraphWriter {
  readonly nodes: NodeDef[] = [];
  readonly functions = new Map<string, FunctionDef>();
  private readonly names = new Map<object, string>();
  /** Without it, what cannot be written is only named, which is enough to tell pipelines apart. */
  constructor(private readonly mustBeWhole: boolean) {}

  /** The name of the node that makes a dataset. */
  add(dataset: Dataset): string {
    const known = this.names.get(dataset);
    if (known !== undefined) return known;
    const { recipe } = dataset;
    if (!recipe) return this.unwritable(`A dataset of kind ${dataset.kind} that is an element of another`);
    const input = recipe.inputs.map((array, i) => this.input(array, recipe, i));
    for (const def of recipe.functions()) this.functions.set(def.signature?.name ?? '', def);
    const name = this.node(recipe.op, input, recipe.attrs);
    this.names.set(dataset, name);
    return name;
  }

  node(op: string, input: readonly string[], attr: Readonly<Record<string, AttrValue>>, name?: string): string {
    const chosen = name ?? `${op}/_${this.nodes.length}`;
    this.nodes.push(NodeDef.create({ name: chosen, op, input: [...input], attr: { ...attr } }));
    return chosen;
  }

  private input(array: NDArray, { op, emptyObject }: Recipe, position: number): string {
    if (array.dtype === resource)
      return emptyObject ? this.node(emptyObject, [], {}) : this.unwritable(`Input ${position} of ${op}, a resource,`);
    if (array.dtype !== variant)
      return this.node('Const', [], { dtype: { type: array.dtype.number }, value: { tensor: tensorToProto(array) } });
    const [object] = array.objects;
    if (array.size !== 1 || !(object instanceof Dataset))
      return this.unwritable(`Input ${position} of ${op}, a variant,`);
    return this.add(object);
  }

  private unwritable(what: string): string {
    if (this.mustBeWhole) throw new UnimplementedError(`${what} cannot be written to a graph.`);
    return this.node('Placeholder', [], {}, `${what} ${this.nodes.length}`);
  }
}

/** A graph that makes a dataset like this one; `mustBeWhole` refuses those of which it cannot. */
export function graphOf(dataset: Dataset, mustBeWhole = true): GraphDef {
  const writer = new GraphWriter(mustBeWhole);
  const made = writer.add(dataset);
  writer.node('_Retval', [made], { T: { type: variant.number }, index: { i: 0n } }, resultName);
  return GraphDef.create({
    node: writer.nodes,
    library: { function: [...writer.functions.values()] },
    versions: { producer, min_consumer: 12 },
  });
}

/** A number that is the same for pipelines that do the same, whatever their nodes and functions are called. */
export function fingerprintOf(dataset: Dataset): bigint {
  const { node, library } = graphOf(dataset, false);
  const functions = library?.function ?? [];
  const names = functions.map((f) => f.signature?.name ?? '');
  // Names of users are in the metadata; those of functions are counted up for each new graph.
  const text = JSON.stringify({ node, functions }, (key, value: unknown) => {
    if (key === 'metadata' || key === 'experimental_debug_info') return undefined;
    if (typeof value === 'bigint') return `${value}n`;
    if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))); // maps have no order
    const at = typeof value === 'string' ? names.indexOf(value) : -1;
    return at < 0 ? value : `function ${at}`;
  });
  return fingerprint64(new TextEncoder().encode(text));
}

export const fingerprintArray = (dataset: Dataset): NDArray =>
  new NDArray(uint64, [], BigUint64Array.of(fingerprintOf(dataset)));
