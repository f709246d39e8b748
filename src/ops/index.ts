/** @file Loads every op definition. The only list of op files; the registry is complete once it is imported. */
export * from './array/constant.ts';
export * from './array/identity.ts';
export * from './array/placeholder.ts';
export * from './math/matmul.ts';
