/** @file Tensor lists: loading this registers their ops. */
import './change.ts';
import './make.ts';
import './read.ts';
