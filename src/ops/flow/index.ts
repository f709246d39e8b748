/** @file Public functions of the flow ops; importing it loads their definitions. */
export {};
