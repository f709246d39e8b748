/** @file Operations to be run when a SavedModel is loaded. */
import { controlDependencies } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { group } from '../../ops/flow/group.ts';
import { noOp } from '../../ops/flow/noOp.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import { globalVariablesInitializer, localVariablesInitializer } from '../variables.ts';

/** Initializes all variables and tables. */
export function mainOp(): Operation {
  const tables = getCollection<Operation>(GraphKeys.TABLE_INITIALIZERS);
  const initTables = tables.length > 0 ? group(tables, { name: 'init_all_tables' }) : noOp({ name: 'init_all_tables' });
  return group([globalVariablesInitializer(), localVariablesInitializer(), initTables]);
}

/** Initializes all variables and tables, and then runs a saver's operation that restores. */
export function mainOpWithRestore(restoreOp: Operation): Operation {
  return controlDependencies([mainOp()], () => group([restoreOp]));
}
