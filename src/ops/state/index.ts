/** @file The state ops; importing it loads their definitions. What users call is in src/front. */
import './apply.ts';
import './assign.ts';
import './countUpTo.ts';
import './disableCopyOnRead.ts';
import './gather.ts';
import './refVariable.ts';
import './scatter.ts';
import './scatterNd.ts';
import './sliceAssign.ts';
import './variable.ts';
