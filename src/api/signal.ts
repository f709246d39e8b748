/** @file `tf.signal`. */
export { fft, fft2d, fft3d, ifft, ifft2d, ifft3d, irfft, rfft } from '../ops/math/fft.ts';
