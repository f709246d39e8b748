/** @file `tf.contrib.rnn`: where TensorFlow 1.x had the cells before `tf.nn.rnnCell`. */
export { staticBidirectionalRnn, staticRnn, staticStateSavingRnn } from '../front/rnn/index.ts';
export * from '../front/rnn/rnnCell.ts';
