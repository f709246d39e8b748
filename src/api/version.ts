/** @file `tf.version`: which tensorloom this is, and which graphs it understands. */
import { graphDefVersion } from '../graph/graph.ts';

/** The version of this package. */
export const VERSION = '0.1.0';
/** The tag of this version in the repository. */
export const GIT_VERSION = `v${VERSION}`;
/** The version of TensorFlow's graph format that is written: TensorFlow 2.21's. */
export const GRAPH_DEF_VERSION = graphDefVersion;
/** The oldest consumers that graphs written here are meant for, and the oldest producers whose graphs are read. */
export const GRAPH_DEF_VERSION_MIN_CONSUMER = 0;
export const GRAPH_DEF_VERSION_MIN_PRODUCER = 0;
