/** @file Refuses nodes that ask for devices this process does not have. */
import { InvalidArgumentError } from '../core/errors.ts';
import { DeviceSpec } from '../graph/device.ts';

interface Placed {
  readonly name: string;
  readonly device: string;
}

/** Throws when a node asks for a device that is not among `available`; soft placement looks at job and task only. */
export function checkPlacement(nodes: readonly Placed[], available: readonly string[], soft: boolean): void {
  const asked = new Map<string, Placed>();
  for (const node of nodes) if (node.device !== '' && !asked.has(node.device)) asked.set(node.device, node);
  if (asked.size === 0) return;
  const devices = available.map((name) => DeviceSpec.fromString(name));
  for (const [text, { name }] of asked) {
    const wanted = DeviceSpec.fromString(text);
    if (!devices.some((device) => matches(wanted, device, soft)))
      throw new InvalidArgumentError(
        `Cannot assign a device for operation ${name}: Could not satisfy explicit device specification '${text}' because no devices matching that specification are registered in this process; available devices are [ ${available.join(', ')} ]. Name one of these, or set allowSoftPlacement: true in the session's config.`,
        { node: name },
      );
  }
}

function matches(wanted: DeviceSpec, device: DeviceSpec, soft: boolean): boolean {
  const fits = <T>(a: T | undefined, b: T | undefined) => a === undefined || a === b;
  if (!fits(wanted.job, device.job) || !fits(wanted.replica, device.replica) || !fits(wanted.task, device.task))
    return false;
  return soft || (fits(wanted.deviceType, device.deviceType) && fits(wanted.deviceIndex, device.deviceIndex));
}
