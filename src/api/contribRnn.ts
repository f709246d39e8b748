/** @file `tf.contrib.rnn`: where TensorFlow 1.x had the cells before `tf.nn.rnnCell`, and more of them. */
export * from '../front/contrib/rnn/cells.ts';
export * from '../front/contrib/rnn/stackBidirectional.ts';
export * from '../front/contrib/rnn/wrappers.ts';
export { staticBidirectionalRnn, staticRnn, staticStateSavingRnn } from '../front/rnn/index.ts';
export * from '../front/rnn/rnnCell.ts';
