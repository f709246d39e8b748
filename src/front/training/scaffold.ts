/** @file Scaffold: the operations that a session needs before a model can be trained, made where they are not given. */
import { string } from '../../core/dtypes.ts';
import { getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Feeds } from '../../graph/runTypes.ts';
import { device, nameScope } from '../../graph/scopes.ts';
import type { GraphSession } from '../../graph/sessions.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { concat } from '../../ops/array/concat.ts';
import { constant } from '../../ops/array/constant.ts';
import { group } from '../../ops/flow/group.ts';
import { noOp } from '../../ops/flow/noOp.ts';
import { addToCollection, GraphKeys, getCollection } from '../collections.ts';
import { tablesInitializer } from '../lookup/staticTables.ts';
import { Saver } from '../saver.ts';
import { mergeAll } from '../summary/summaries.ts';
import {
  globalVariables,
  globalVariablesInitializer,
  localVariablesInitializer,
  reportUninitializedVariables,
} from '../variables.ts';

type Runnable = Operation | Tensor;
type InitFn = (scaffold: Scaffold, session: GraphSession) => unknown;

export interface ScaffoldOptions {
  readonly initOp?: Runnable | undefined;
  readonly initFeedDict?: Feeds | undefined;
  /** Called after `initOp` has run. */
  readonly initFn?: InitFn | undefined;
  /** Runs to the names of what has no value yet. */
  readonly readyOp?: Runnable | undefined;
  readonly readyForLocalInitOp?: Runnable | undefined;
  readonly localInitOp?: Runnable | undefined;
  readonly localInitFeedDict?: Feeds | undefined;
  readonly summaryOp?: Tensor | undefined;
  readonly saver?: Saver | undefined;
  /** Another scaffold, for what is not given here. */
  readonly copyFromScaffold?: Scaffold | undefined;
}

/** The pieces that make a model ready to be trained. `finalize` makes those that were not given, with the graph. */
export class Scaffold {
  private readonly userInitFn: InitFn | undefined;
  readonly initFeedDict: Feeds | undefined;
  readonly localInitFeedDict: Feeds | undefined;
  /** Calls the function that was given, with this scaffold. */
  readonly initFn: ((session: GraphSession) => unknown) | undefined;
  initOp: Runnable | undefined;
  readyOp: Runnable | undefined;
  readyForLocalInitOp: Runnable | undefined;
  localInitOp: Runnable | undefined;
  summaryOp: Tensor | null | undefined;
  saver: Saver | undefined;

  constructor(options: ScaffoldOptions = {}) {
    const given = onlyOptions(
      'tf.train.Scaffold',
      options,
      'initOp',
      'initFeedDict',
      'initFn',
      'readyOp',
      'readyForLocalInitOp',
      'localInitOp',
      'localInitFeedDict',
      'summaryOp',
      'saver',
      'copyFromScaffold',
    );
    const other = given.copyFromScaffold;
    const initFn = given.initFn ?? other?.userInitFn;
    this.userInitFn = initFn;
    this.initFn = initFn && ((session) => initFn(this, session));
    this.initOp = given.initOp ?? other?.initOp;
    this.initFeedDict = given.initFeedDict ?? other?.initFeedDict;
    this.readyOp = given.readyOp ?? other?.readyOp;
    this.readyForLocalInitOp = given.readyForLocalInitOp ?? other?.readyForLocalInitOp;
    this.localInitOp = given.localInitOp ?? other?.localInitOp;
    this.localInitFeedDict = given.localInitFeedDict ?? other?.localInitFeedDict;
    this.summaryOp = given.summaryOp ?? other?.summaryOp;
    this.saver = given.saver ?? other?.saver;
  }

  /** Makes what was not given, and finalizes the default graph. */
  finalize(): this {
    this.initOp ??= Scaffold.getOrDefault('initOp', GraphKeys.INIT_OP, () =>
      group([
        globalVariablesInitializer(),
        noOp({ name: 'init' }),
        ...getCollection<Operation>('saved_model_initializers'),
      ]),
    );
    this.readyOp ??= Scaffold.getOrDefault('readyOp', GraphKeys.READY_OP, () =>
      concat([reportUninitializedVariables(), uninitializedResources()], 0),
    );
    this.readyForLocalInitOp ??= Scaffold.getOrDefault('readyForLocalInitOp', GraphKeys.READY_FOR_LOCAL_INIT_OP, () =>
      concat([reportUninitializedVariables(globalVariables()), uninitializedResources()], 0),
    );
    this.localInitOp ??= Scaffold.getOrDefault('localInitOp', GraphKeys.LOCAL_INIT_OP, Scaffold.defaultLocalInitOp);
    this.summaryOp ??= Scaffold.getOrDefault('summaryOp', GraphKeys.SUMMARY_OP, mergeAll);
    this.saver ??= saverOrDefault();
    this.saver.build();
    getDefaultGraph().finalize();
    return this;
  }

  /** The only element of a collection; where there is none, what `make` gives is added to it. */
  static getOrDefault<T>(argName: string, collectionKey: string, make: () => T): T {
    const elements = getCollection<T>(collectionKey);
    if (elements.length > 1)
      throw userError(
        `More than one item in the collection "${collectionKey}". Please indicate which one to use by passing it to the tf.train.Scaffold constructor as { ${argName}: … }.`,
      );
    if (elements.length === 1) return elements[0]!;
    const made = make();
    if (made !== null) addToCollection(collectionKey, made);
    return made;
  }

  /** An operation that gives local variables and tables their values. */
  static defaultLocalInitOp(): Operation {
    return group([localVariablesInitializer(), tablesInitializer(), noOp({ name: 'init' })]);
  }
}

/** The names of resources without a value. Only variables and tables are known here, so there are none. */
function uninitializedResources(): Tensor {
  return nameScope('report_uninitialized_resources', () =>
    device('/cpu:0', () => constant([], { dtype: string, shape: [0] })),
  );
}

/** The saver of the graph; where there is none, one for all variables. */
function saverOrDefault(): Saver {
  const savers = getCollection<Saver>(GraphKeys.SAVERS);
  if (savers.length > 1)
    throw userError(
      `More than one item in collection ${GraphKeys.SAVERS}. Please indicate which one to use by passing it to the constructor.`,
    );
  if (savers.length === 1) return savers[0]!;
  const saver = new Saver({ sharded: true, allowEmpty: true });
  addToCollection(GraphKeys.SAVERS, saver);
  return saver;
}
