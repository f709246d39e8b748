/** @file Public names of the front that belong to `tf` itself: variables, scopes, collections, initializers. */
export { assertProperIterable, assertSameFloatDtype } from './asserts.ts';
export { type AssignOptions, type Updated, UpdatedVariable, type UpdateOptions } from './baseVariable.ts';
export * from './collections.ts';
export * from './controlFlow/index.ts';
export { type HessiansOptions, hessians } from './hessians.ts';
export {
  constantInitializer,
  glorotNormalInitializer,
  glorotUniformInitializer,
  type Initializer,
  type InitializerFunction,
  onesInitializer,
  orthogonalInitializer,
  randomNormalInitializer,
  randomUniformInitializer,
  truncatedNormalInitializer,
  uniformUnitScalingInitializer,
  varianceScalingInitializer,
  zerosInitializer,
} from './initializers.ts';
export * from './input/index.ts';
export { initializeAllTables, tablesInitializer } from './lookup/staticTables.ts';
export {
  fixedSizePartitioner,
  minMaxVariablePartitioner,
  PartitionedVariable,
  type Partitioner,
  variableAxisSizePartitioner,
} from './partitioned.ts';
export { disableResourceVariables, enableResourceVariables, resourceVariablesEnabled } from './resourceVariables.ts';
export { makeTemplate, type TemplateOptions } from './template.ts';
export { type Constraint, Variable, type VariableOptions } from './variable.ts';
export {
  type GetVariableOptions,
  getLocalVariable,
  getVariable,
  getVariableScope,
  noRegularizer,
  VariableScope,
  type VariableScopeOptions,
  variableScope,
} from './variableScope.ts';
export { AUTO_REUSE, type CustomGetter, type Getter, type GetterOptions, type Regularizer } from './variableStore.ts';
export * from './variables.ts';
