/** @file Public functions of the image ops; importing it loads their definitions. */
export { hsvToRgb, rgbToHsv } from './colors.ts';
export { type CropAndResizeOptions, cropAndResize } from './cropAndResize.ts';
export { type ResizeOptions, resizeBilinear, resizeNearestNeighbor } from './resize.ts';
