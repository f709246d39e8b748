/** @file Public functions of the math ops; importing it loads their definitions. */
import './matmul.ts';
