/** @file What the library asks of an `AbortSignal`: its own words for it, since not every program has the types of Node or of a browser. */

export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}
