/** @file Public functions on ragged tensors; importing it loads their ops. */
export { RaggedTensor, RaggedTensorValue, type RaggedValues } from './raggedTensor.ts';

import './raggedGather.ts';
import './variants.ts';
