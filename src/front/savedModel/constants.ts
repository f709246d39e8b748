/** @file Names of the files in a SavedModel and of the collections that its graphs have. */
export const ASSETS_DIRECTORY = 'assets';
export const ASSETS_KEY = 'saved_model_assets';
export const LEGACY_INIT_OP_KEY = 'legacy_init_op';
export const MAIN_OP_KEY = 'saved_model_main_op';
export const SAVED_MODEL_FILENAME_PB = 'saved_model.pb';
export const SAVED_MODEL_FILENAME_PBTXT = 'saved_model.pbtxt';
export const SAVED_MODEL_SCHEMA_VERSION = 1;
export const VARIABLES_DIRECTORY = 'variables';
export const VARIABLES_FILENAME = 'variables';
export const DEBUG_DIRECTORY = 'debug';
export const DEBUG_INFO_FILENAME_PB = 'saved_model_debug_info.pb';
