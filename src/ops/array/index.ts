/** @file Public functions of the array ops; importing it loads their definitions. */
export { type ConstantOptions, constant } from './constant.ts';
export { identity } from './identity.ts';
export { placeholder } from './placeholder.ts';
