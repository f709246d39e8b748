/** @file Ops on files; importing it loads their definitions. */
import './saver.ts';
import './saverV1.ts';
