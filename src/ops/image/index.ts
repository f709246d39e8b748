/** @file Public functions of the image ops; importing it loads their definitions. */
import './projective.ts';
import './scaleAndTranslate.ts';

export {
  adjustBrightness,
  adjustContrast,
  adjustGamma,
  adjustHue,
  adjustSaturation,
  type ConvertImageOptions,
  convertImageDtype,
  grayscaleToRgb,
  perImageStandardization,
  randomBrightness,
  randomContrast,
  randomHue,
  randomSaturation,
  rgbToGrayscale,
} from './adjust.ts';
export { hsvToRgb, rgbToHsv } from './colors.ts';
export { type CropAndResizeOptions, cropAndResize } from './cropAndResize.ts';
export {
  type DecodeImageOptions,
  type DecodeJpegOptions,
  type DecodePngOptions,
  decodeAndCropJpeg,
  decodeBmp,
  decodeGif,
  decodeImage,
  decodeJpeg,
  decodePng,
  extractJpegShape,
  isJpeg,
} from './decode.ts';
export { drawBoundingBoxes } from './drawBoundingBoxes.ts';
export {
  type AdjustJpegQualityOptions,
  adjustJpegQuality,
  type EncodeJpegOptions,
  encodeJpeg,
  encodePng,
  randomJpegQuality,
} from './encode.ts';
export { type ResizeOptions, resizeBilinear, resizeNearestNeighbor } from './resize.ts';
export { resizeArea, resizeBicubic } from './resizeByWeights.ts';
export { type ResizeImagesOptions, ResizeMethod, resizeImages, resizeImages as resize } from './resizeImages.ts';
export { type SampleBoxOptions, sampleDistortedBoundingBox } from './sampleBox.ts';
export {
  combinedNonMaxSuppression,
  type Detections,
  nonMaxSuppression,
  nonMaxSuppressionOverlaps,
  nonMaxSuppressionPadded,
  nonMaxSuppressionWithScores,
  type SuppressionOptions,
} from './selectBoxes.ts';
export {
  centralCrop,
  cropToBoundingBox,
  flipLeftRight,
  flipUpDown,
  padToBoundingBox,
  resizeImageWithCropOrPad,
  resizeImageWithCropOrPad as resizeWithCropOrPad,
  transposeImage,
  transposeImage as transpose,
} from './transform.ts';
export { imageGradients, totalVariation } from './variation.ts';
export { rgbToYiq, rgbToYuv, yiqToRgb, yuvToRgb } from './yiq.ts';
