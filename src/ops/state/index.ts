/** @file Public functions of the state ops; importing it loads their definitions. */
export {};
