/** @file `tf.strings`. */
export {
  asString,
  reduceJoin,
  regexReplace,
  stringJoin as join,
  stringStrip as strip,
  stringToHashBucketFast as toHashBucketFast,
  stringToNumber as toNumber,
  substr,
} from '../ops/string/index.ts';
export { regexFullMatch } from '../ops/string/regexOps.ts';
export { stringLength as length, stringLower as lower, stringUpper as upper } from '../ops/string/substr.ts';
