/** @file `tf.signal`. */
export { fft, fft2d, fft3d, ifft, ifft2d, ifft3d } from '../ops/math/fft.ts';
export { irfft, irfft2d, irfft3d, rfft, rfft2d, rfft3d } from '../ops/math/signal.ts';
