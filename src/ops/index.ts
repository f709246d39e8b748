/** @file Loads every op definition: the registry is complete once this is imported. */
import './array/index.ts';
import './data/index.ts';
import './files/index.ts';
import './flow/index.ts';
import './image/index.ts';
import './lookup/index.ts';
import './math/index.ts';
import './nn/index.ts';
import './parsing/index.ts';
import './queue/index.ts';
import './ragged/index.ts';
import './random/index.ts';
import './reader/index.ts';
import './sparse/index.ts';
import './state/index.ts';
import './string/index.ts';
import './summary/index.ts';
