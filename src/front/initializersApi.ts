/** @file The names of `tf.initializers`. */
export {
  constantInitializer as constant,
  glorotNormalInitializer as glorotNormal,
  glorotUniformInitializer as glorotUniform,
  heNormal,
  heUniform,
  identityInitializer as identity,
  lecunNormal,
  lecunUniform,
  onesInitializer as ones,
  orthogonalInitializer as orthogonal,
  randomNormalInitializer as randomNormal,
  randomUniformInitializer as randomUniform,
  truncatedNormalInitializer as truncatedNormal,
  uniformUnitScalingInitializer as uniformUnitScaling,
  varianceScalingInitializer as varianceScaling,
  zerosInitializer as zeros,
} from './initializers.ts';
export { tablesInitializer } from './lookup/staticTables.ts';
export {
  globalVariablesInitializer as global,
  globalVariablesInitializer as globalVariables,
  localVariablesInitializer as local,
  localVariablesInitializer as localVariables,
  variablesInitializer as variables,
} from './variables.ts';
