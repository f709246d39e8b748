/** @file Public functions of the nn ops; importing it loads their definitions. */
export {};
