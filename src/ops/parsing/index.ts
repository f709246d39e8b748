/** @file Public functions that parse bytes and text; importing it loads their ops. */
import './decodeCsv.ts';
import './decodeRaw.ts';
import './parseExampleOps.ts';
import './parseSequenceOps.ts';
