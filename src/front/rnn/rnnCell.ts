/** @file `tf.nn.rnnCell`: the cells that recurrent networks are made of. */
export { BasicRNNCell, type BasicRNNCellOptions, GRUCell, type GRUCellOptions } from './basicCells.ts';
export { type CellOptions, type CellStep, RNNCell, type Sizes } from './cell.ts';
export {
  BasicLSTMCell,
  type BasicLSTMCellOptions,
  LSTMCell,
  type LSTMCellOptions,
  type LSTMState,
  LSTMStateTuple,
} from './lstmCells.ts';
export { MultiRNNCell } from './multiCell.ts';
export { DeviceWrapper, DropoutWrapper, type DropoutWrapperOptions, ResidualWrapper } from './wrappers.ts';
