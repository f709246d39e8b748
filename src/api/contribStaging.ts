/** @file `tf.contrib.staging`. */
export { MapStagingArea, StagingArea, type StagingAreaOptions } from '../front/input/staging.ts';
