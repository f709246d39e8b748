/** @file What surrounds the programs of a trace: variables and objects, functions, generators, and what programs rely on. */
import type { DType } from '../core/dtypes.ts';
import { InternalError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Dims, Shape } from '../core/shape.ts';
import type { SharedHandle } from '../core/sharedObject.ts';
import type { Device, DeviceBuffer } from '../devices/device.ts';
import type { Buffer, HostCall } from '../program/instructions.ts';
import type { FunctionRef, GraphContent, HostFunction, ProgramState, SharedName } from '../program/tracing.ts';
import type { VariableState } from '../program/value.ts';
import type { NameAttrList } from '../proto/attr.ts';
import type { Body, FunctionLibrary } from './functions.ts';
import {
  type NodeStates,
  ObjectHandle,
  ResourceHandle,
  type ResourceManager,
  uniqueName,
  Variable,
} from './resources.ts';

/** What a trace works on. */
export interface TraceTask {
  readonly body: Body;
  readonly feedArrays: readonly NDArray[];
  readonly device: Device;
  readonly resources: ResourceManager;
  readonly nodeStates: NodeStates;
  /** Where random generators of nodes have their states. */
  readonly generators: NodeStates;
  readonly defaultContainer: string;
  readonly functions: FunctionLibrary;
  /** Names the call that the nodes belong to, where they are a function's. */
  readonly callPath: string;
  /** Whether references among the results are given as such, as resources, and not read. */
  readonly keepsReferences: boolean;
  /** Whether a loop may be unrolled for one value of its bound. Not once there are programs for many values. */
  readonly looksAtBounds: boolean;
  /** How many instructions may share the device's threads; as many as there are when left out. */
  readonly atOnce?: number | undefined;
  /** A loop that is run rather than unrolled. */
  loop(cond: Body, body: Body, callPath: string): HostCall;
  /** A call of a function that is run rather than lowered in place. */
  runner(body: Body, callPath: string): HostFunction;
  /** Runs another graph for one of its outputs. */
  graph(content: GraphContent, output: string): () => Promise<readonly NDArray[]>;
}

/** What must still hold when a program is run again. */
export interface Guards {
  readonly variables: Map<Variable, Shape>;
  /** Feeds whose content was looked at, by position. */
  readonly feeds: Map<number, NDArray>;
}

export class Surroundings implements ProgramState {
  readonly guards: Guards = { variables: new Map(), feeds: new Map() };
  /** Objects fixed while tracing. */
  readonly constants: object[] = [];

  /** `fixedMemory` gives programs a buffer for memory that stays where it is from run to run. */
  constructor(
    private readonly task: TraceTask,
    private readonly fixedMemory: (memory: DeviceBuffer) => Buffer,
  ) {}

  variableHandle(spec: { container: string; name: string; dtype: DType; shape: Dims }): object {
    const container = spec.container === '' ? this.task.defaultContainer : spec.container;
    return this.task.resources.handle(container, spec.name, spec.dtype, spec.shape);
  }
  variable(handle: object): VariableState {
    if (!(handle instanceof ResourceHandle) || !handle.dtype) throw new InternalError('the resource is not a variable');
    return this.task.resources.variable(handle.container, handle.name, handle.dtype, this.task.device);
  }
  isVariable(handle: object, variable: VariableState): boolean {
    return handle instanceof ResourceHandle && this.task.resources.find(handle) === variable;
  }
  destroy(handle: object): boolean {
    return handle instanceof ResourceHandle && this.task.resources.destroy(handle);
  }
  sharedHandle(spec: SharedName, make: (name: string) => object): SharedHandle {
    const { resources, nodeStates, defaultContainer } = this.task;
    const container = spec.container === '' ? defaultContainer : spec.container;
    if (spec.owner === undefined) return new ObjectHandle(container, spec.name, resources, () => make(spec.name));
    return nodeStates.handle(spec.owner, () => {
      const name = uniqueName(spec.name);
      return new ObjectHandle(container, name, resources, () => make(name));
    });
  }
  hostFunction(func: FunctionRef, callPath: string): HostFunction {
    return this.task.runner(this.bodyOf(func, false), callPath);
  }
  graph(content: GraphContent, output: string): () => Promise<readonly NDArray[]> {
    return this.task.graph(content, output);
  }
  nodeState(node: string, initial: () => Uint8Array): Buffer {
    return this.fixedMemory(this.task.generators.get(node, initial));
  }
  reliesOn(variable: VariableState, shape: Shape): void {
    if (variable instanceof Variable && !this.guards.variables.has(variable))
      this.guards.variables.set(variable, shape);
  }
  objectId(object: object): number {
    return -this.constants.push(object);
  }
  constantObject(id: number): object {
    return this.constants[-1 - id]!;
  }

  bodyOf(func: FunctionRef, isPruned: boolean): Body {
    return this.task.functions.body(func as NameAttrList, isPruned); // functions come from attributes of nodes
  }
}
