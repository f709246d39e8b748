/** @file Names in signatures: what TensorFlow Serving and other readers of SavedModels look for. */
export const DEFAULT_SERVING_SIGNATURE_DEF_KEY = 'serving_default';
export const CLASSIFY_INPUTS = 'inputs';
export const CLASSIFY_METHOD_NAME = 'tensorflow/serving/classify';
export const CLASSIFY_OUTPUT_CLASSES = 'classes';
export const CLASSIFY_OUTPUT_SCORES = 'scores';
export const PREDICT_INPUTS = 'inputs';
export const PREDICT_METHOD_NAME = 'tensorflow/serving/predict';
export const PREDICT_OUTPUTS = 'outputs';
export const REGRESS_INPUTS = 'inputs';
export const REGRESS_METHOD_NAME = 'tensorflow/serving/regress';
export const REGRESS_OUTPUTS = 'outputs';
