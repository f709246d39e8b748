/** @file Placement: which device each node runs on; refuses nodes that ask for devices this process does not have. */
import { InvalidArgumentError } from '../core/errors.ts';
import { DeviceSpec } from '../graph/device.ts';

interface Placed {
  readonly name: string;
  /** What the node asks for: a full or partial device name, or nothing. */
  readonly device: string;
}

/** The devices there are, and which of them serves a request. */
export class Placement {
  private readonly specs: readonly DeviceSpec[];
  /** What was found for each request so far. */
  private readonly found = new Map<string, string | undefined>();

  constructor(
    private readonly devices: readonly string[],
    /** Soft placement looks at job and task only where no device fits. */
    private readonly isSoft: boolean,
  ) {
    this.specs = devices.map((name) => DeviceSpec.fromString(name));
  }

  /** Throws when a node asks for a device that is not there. */
  check(nodes: readonly Placed[]): void {
    for (const { name, device } of nodes)
      if (this.find(device) === undefined)
        throw new InvalidArgumentError(
          `Cannot assign a device for operation ${name}: Could not satisfy explicit device specification '${device}' because no devices matching that specification are registered in this process; available devices are [ ${this.devices.join(', ')} ]. Name one of these, or set allowSoftPlacement: true in the session's config.`,
          { node: name },
        );
  }

  /** The device of a node that asks for `device`. */
  deviceFor(device: string): string {
    return this.find(device) ?? this.devices[0]!;
  }

  private find(device: string): string | undefined {
    if (device === '') return this.devices[0];
    if (!this.found.has(device)) {
      const wanted = DeviceSpec.fromString(device);
      let at = this.specs.findIndex((spec) => isOnTask(wanted, spec) && isOfKind(wanted, spec));
      if (at < 0 && this.isSoft) at = this.specs.findIndex((spec) => isOnTask(wanted, spec));
      this.found.set(device, this.devices[at]);
    }
    return this.found.get(device);
  }
}

const fits = <T>(wanted: T | undefined, given: T | undefined) => wanted === undefined || wanted === given;

function isOnTask(wanted: DeviceSpec, device: DeviceSpec): boolean {
  return fits(wanted.job, device.job) && fits(wanted.replica, device.replica) && fits(wanted.task, device.task);
}

function isOfKind(wanted: DeviceSpec, device: DeviceSpec): boolean {
  return fits(wanted.deviceType, device.deviceType) && fits(wanted.deviceIndex, device.deviceIndex);
}
