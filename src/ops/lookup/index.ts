/** @file Lookup tables; importing it loads the definitions of their ops. */
import './tables.ts';
import './textFile.ts';
