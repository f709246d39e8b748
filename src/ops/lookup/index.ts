/** @file Lookup tables; importing it loads the definitions of their ops. */
import './makeTables.ts';
import './tables.ts';
import './textFile.ts';
