/** @file `tf.image`. */
export {
  type Rot90Options,
  randomFlipLeftRight,
  randomFlipUpDown,
  resizeImageWithPad,
  rot90,
} from '../front/image/flips.ts';
export { psnr, type SsimOptions, sobelEdges, ssim, ssimMultiscale } from '../front/image/quality.ts';
export * from '../ops/image/index.ts';
export { extractImagePatches, extractPatches, type PatchOptions } from '../ops/nn/patches.ts';
export { randomCrop } from '../ops/random/index.ts';
