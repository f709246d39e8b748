/** @file Public functions of the random ops; importing it loads their definitions. */
export {};
