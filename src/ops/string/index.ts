/** @file Public functions of the string ops; importing it loads their definitions. */
export { type AsStringOptions, asString, stringToNumber } from './asString.ts';
export { stringToHashBucket, stringToHashBucketFast, stringToHashBucketStrong } from './hashBucket.ts';
export { type ReduceJoinOptions, reduceJoin, stringJoin } from './join.ts';
export { regexReplace } from './regexOps.ts';
export { stringSplit } from './split.ts';
export { stringStrip, substr, type Unit } from './substr.ts';
