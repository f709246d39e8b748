/** @file Loads the ops that make summaries; `tf.summary` is in front/summary. */
import './audio.ts';
import './histogram.ts';
import './image.ts';
import './merge.ts';
import './scalar.ts';
import './tensor.ts';
import './writeOps.ts';
import './writer.ts';
