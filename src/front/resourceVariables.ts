/** @file Which kind of variable is made when nobody says: resources, unless the scope or the program decides otherwise. */

import { getDefaultGraph } from '../graph/graph.ts';

let enabled = true;
let scopeDefault: () => boolean | undefined = () => undefined;

/** New variables are resource variables from now on, which is how it begins. */
export function enableResourceVariables(): void {
  enabled = true;
}
/** New variables are reference variables from now on, as in TensorFlow 1.x. */
export function disableResourceVariables(): void {
  enabled = false;
}
/** Whether new variables are resources, as they are unless that was disabled. */
export function resourceVariablesEnabled(): boolean {
  return enabled;
}

/** Tells what the current variable scope asks for. Called once when scopes load. */
export function setScopeDefault(find: () => boolean | undefined): void {
  scopeDefault = find;
}

/** Whether a variable is a resource: as its maker says, else as the scope, else as the program. */
export function usesResource(given: boolean | undefined): boolean {
  // A function can take a handle as its argument, but no reference.
  if (getDefaultGraph().outer) return true;
  return given ?? scopeDefault() ?? enabled;
}
