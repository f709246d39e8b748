/** @file protobuf's text format, as in `.pbtxt` files: printing and parsing. */
export { parseText } from './textParse.ts';
export { printText } from './textPrint.ts';
