/** @file Public functions of the ops on files; importing it loads their definitions. */
import './saver.ts';
import './saverV1.ts';
import './vocabRemapping.ts';

export { matchingFiles, readFile, writeFile } from './wholeFiles.ts';
