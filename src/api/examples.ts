/** @file `tf.examples`: data for the first programs. */
export { type Cifar, type CifarOptions, cifar10, cifar100, type PictureSet } from '../io/cifar.ts';
export { type CsvOptions, type CsvTable, csv } from '../io/csvFile.ts';
export { cacheFolder, type DownloadOptions, type Progress } from '../io/download.ts';
export { ExampleSet } from '../io/exampleSet.ts';
export { idx } from '../io/idxFile.ts';
export { type DigitSet, fashionMnist, type Mnist, type MnistOptions, mnist } from '../io/mnist.ts';
