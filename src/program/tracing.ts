/** @file What a builder and whoever traces with it tell each other: state that outlives programs, and what must be run first. */
import type { DType } from '../core/dtypes.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Dims, Shape } from '../core/shape.ts';
import type { SharedHandle } from '../core/sharedObject.ts';
import type { Buffer, HostInstruction, Origin, RunScope } from './instructions.ts';
import type { Value, VariableState } from './value.ts';

/** Results of a host call whose shapes depend on data. */
export interface HostResult {
  readonly dtype: DType;
  /** Known sizes, where they are known before the call. */
  readonly shape?: Shape;
}

/** What the builder asks of the run it belongs to: state that outlives programs. */
export interface ProgramState {
  /** The object a resource tensor holds for a variable. */
  variableHandle(spec: { container: string; name: string; dtype: DType; shape: Dims }): object;
  /** The variable a handle stands for. */
  variable(handle: object): VariableState;
  /** Whether a handle stands for that variable. */
  isVariable(handle: object, variable: VariableState): boolean;
  /** Forgets what a handle stands for; false when there was nothing. */
  destroy(handle: object): boolean;
  /** The object a resource tensor holds for something else that outlives runs; `make` makes it when it is first needed. */
  sharedHandle(spec: SharedName, make: (name: string) => object): SharedHandle;
  /** A function of the library as something that the host can call at any time, in a run or outside of all. */
  hostFunction(func: FunctionRef, callPath: string): HostFunction;
  /** Something that runs another graph, with functions of its own, for one of its outputs. */
  graph(content: GraphContent, output: string): () => Promise<readonly NDArray[]>;
  /** A small buffer that belongs to a node and survives between runs, such as a random generator's counter. */
  nodeState(node: string, initial: () => Uint8Array): Buffer;
  /** Records that the program is only valid while the variable has this shape. */
  reliesOn(variable: VariableState, shape: Shape): void;
  /** The id of an object that programs carry around, such as a string. */
  objectId(object: object): number;
  /** The object behind an id given by `objectId`. */
  constantObject(id: number): object;
}

/** Names an object that outlives runs. */
export interface SharedName {
  readonly container: string;
  readonly name: string;
  /** The node of a session that alone has the object; without it, whoever uses the same name shares it. */
  readonly owner?: string | undefined;
}

/** A function of the graph as the host calls it: in the run given, or in one of its own. */
export interface HostFunction {
  (inputs: NDArray[], run?: RunScope): Promise<readonly NDArray[]>;
  /** The ops in it, and in what it calls, whose state is missing where the function is run anew elsewhere. */
  readonly unsavedOps: readonly string[];
  /** It and the functions that it calls, as the library has them (`FunctionDef`s). */
  definitions(): readonly object[];
  /** The function with random numbers that begin anew for each owner, and go on as long as the owner is there. */
  ownedBy(owner: object): HostFunction;
}

/** The nodes and functions of a graph, as its message (`GraphDef`) has them. */
export interface GraphContent {
  readonly nodes: readonly object[];
  readonly functions: readonly object[];
}

/** Thrown by `demand` to make the tracer run what is recorded so far, so that the value becomes known. */
export class ValueNeeded extends Error {
  constructor(readonly value: Value) {
    super('a value is needed on the host');
  }
}

/** Thrown by `host` calls with data-dependent results: the tracer runs the call, then lowers the node with the results. */
export class HostResultNeeded extends Error {
  constructor(
    readonly instruction: HostInstruction & Origin,
    readonly results: readonly HostResult[],
  ) {
    super('the result of a host call is needed');
  }
}

/** A function of the graph's library, with values for its attributes. */
export interface FunctionRef {
  readonly name: string;
  readonly attr: object;
}

/** Thrown by `call` and `loop`: the tracer lowers the function in place, then the node again with the results. */
export class CallNeeded extends Error {
  constructor(
    /** One function to call, or the two of a loop that runs as long as the first gives true. */
    readonly functions: { readonly body: FunctionRef; readonly cond?: FunctionRef },
    readonly inputs: readonly Value[],
  ) {
    super('the result of a function is needed');
  }
}
