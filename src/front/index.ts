/** @file Public names of the front that belong to `tf` itself: variables, scopes, collections. */
export { type AssignOptions, UpdatedVariable, type Updated, type UpdateOptions } from './baseVariable.ts';
export * from './collections.ts';
export { type Constraint, Variable, type VariableOptions } from './variable.ts';
export * from './variables.ts';
