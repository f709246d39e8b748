/** @file Public functions that parse bytes and text; importing it loads their ops. */
import './parseExampleOps.ts';
