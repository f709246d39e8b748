/** @file Device names: parsing, merging and writing of `/job:ps/replica:0/task:1/device:GPU:0`. */
import { userError } from './userError.ts';

interface DeviceParts {
  readonly job?: string;
  readonly replica?: number;
  readonly task?: number;
  readonly deviceType?: string;
  readonly deviceIndex?: number;
}

/** A full or partial device name. */
export class DeviceSpec implements DeviceParts {
  declare readonly job?: string;
  declare readonly replica?: number;
  declare readonly task?: number;
  declare readonly deviceType?: string;
  declare readonly deviceIndex?: number;
  constructor(parts: DeviceParts = {}) {
    Object.assign(this, parts);
  }

  /**
   * Reads a device string; `/cpu:0` and `/gpu:1` are short for `/device:CPU:0` and `/device:GPU:1`.
   *
   * @example tf.DeviceSpec.fromString('/job:ps/cpu:0').toString() // '/job:ps/device:CPU:0'
   */
  static fromString(text: string): DeviceSpec {
    const parts: { -readonly [K in keyof DeviceParts]: DeviceParts[K] } = {};
    for (const piece of text.split('/').filter(Boolean)) {
      const [key, value, index] = piece.split(':');
      const lower = key!.toLowerCase();
      if (value !== undefined && key === 'job') parts.job = value;
      else if (value !== undefined && key === 'replica') parts.replica = wholeNumber(value, text);
      else if (value !== undefined && key === 'task') parts.task = wholeNumber(value, text);
      else if (value !== undefined && (lower === 'cpu' || lower === 'gpu')) {
        parts.deviceType = lower.toUpperCase();
        if (value !== '*') parts.deviceIndex = wholeNumber(value, text);
      } else if (value !== undefined && key === 'device') {
        parts.deviceType = value;
        if (index !== undefined && index !== '*') parts.deviceIndex = wholeNumber(index, text);
      } else
        throw userError(
          `Unknown attribute '${key}' is encountered while parsing the device name: '${text}'. Write it as '/job:ps/task:0/device:GPU:1'.`,
        );
    }
    return new DeviceSpec(parts);
  }

  /** This spec with every part that `other` sets replaced by it. */
  mergedWith(other: DeviceSpec): DeviceSpec {
    return new DeviceSpec({ ...this, ...other });
  }

  toString(): string {
    let text = '';
    if (this.job !== undefined) text += `/job:${this.job}`;
    if (this.replica !== undefined) text += `/replica:${this.replica}`;
    if (this.task !== undefined) text += `/task:${this.task}`;
    if (this.deviceType !== undefined) text += `/device:${this.deviceType}:${this.deviceIndex ?? '*'}`;
    return text;
  }
}

function wholeNumber(text: string, whole: string): number {
  if (!/^\d+$/.test(text)) throw userError(`'${text}' in the device name '${whole}' is not a number`);
  return Number(text);
}
