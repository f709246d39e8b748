/** @file `tf.strings`. */
export {
  asString,
  reduceJoin,
  regexReplace,
  stringJoin as join,
  stringStrip as strip,
  stringToHashBucket as toHashBucket,
  stringToHashBucketFast as toHashBucketFast,
  stringToHashBucketStrong as toHashBucketStrong,
  stringToNumber as toNumber,
  substr,
} from '../ops/string/index.ts';
export { regexFullMatch } from '../ops/string/regexOps.ts';
export { split } from '../ops/string/split.ts';
export { stringLength as length, stringLower as lower, stringUpper as upper } from '../ops/string/substr.ts';
