/** @file Operations to be run when a SavedModel is loaded. */

import type { Operation } from '../../graph/operation.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import { group } from '../../ops/flow/group.ts';
import { tablesInitializer } from '../lookup/staticTables.ts';
import { globalVariablesInitializer, localVariablesInitializer } from '../variables.ts';

/** Initializes all variables and tables. */
export function mainOp(): Operation {
  return group([globalVariablesInitializer(), localVariablesInitializer(), tablesInitializer()]);
}

/** Initializes all variables and tables, and then runs a saver's operation that restores. */
export function mainOpWithRestore(restoreOp: Operation): Operation {
  return controlDependencies([mainOp()], () => group([restoreOp]));
}
