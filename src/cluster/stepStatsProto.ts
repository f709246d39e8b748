/** @file Step statistics as the messages that servers send. */
export { costGraphProto, stepStatsProto } from '../proto/runMetadata.ts';
