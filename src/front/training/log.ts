/** @file What training code says while it works. */

/** Takes the messages of training code. */
export interface TrainingLog {
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

const toTerminal = (level: string) => (text: string) => {
  process.stderr.write(`${level}:tensorflow:${text}\n`);
};

/** Warnings and errors go to the terminal; who wants to know more asks for it. */
let current: TrainingLog = { info: () => {}, warn: toTerminal('WARNING'), error: toTerminal('ERROR') };

export const log: TrainingLog = {
  info: (text) => current.info(text),
  warn: (text) => current.warn(text),
  error: (text) => current.error(text),
};

/** Has messages go elsewhere. */
export function setTrainingLog(target: TrainingLog): void {
  current = target;
}
