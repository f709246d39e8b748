/** @file Runs the graph of one op case on one device. */
import type { NDArray } from '../../src/core/ndarray.ts';
import type { Device } from '../../src/devices/device.ts';
import type { Graph } from '../../src/graph/graph.ts';
import type { Tensor } from '../../src/graph/tensor.ts';
import type { NodeDef } from '../../src/proto/graph.ts';
import { Engine } from '../../src/runtime/engine.ts';
import { ResourceManager } from '../../src/runtime/resources.ts';

/** Runs graphs of one case on one device. */
export class CaseRunner {
  private readonly engine: Engine;
  private sent = 0;
  constructor(
    private readonly graph: Graph,
    device: Device,
    private readonly transport: (defs: readonly NodeDef[]) => readonly NodeDef[] = (defs) => defs,
  ) {
    // Unsimplified: the op itself is under test, not what a rewrite makes of it.
    this.engine = new Engine(device, new ResourceManager(), { simplify: false });
  }

  async run(
    fetches: readonly Tensor[],
    feeds: readonly (readonly [Tensor, NDArray])[],
    targets: readonly { readonly name: string }[] = [],
  ): Promise<NDArray[]> {
    this.engine.extend(this.transport(this.graph.operations.slice(this.sent).map((op) => op.nodeDef)));
    this.sent = this.graph.operations.length;
    const executable = this.engine.prepare(
      feeds.map(([t]) => t.name),
      fetches.map((t) => t.name),
      targets.map((t) => t.name),
    );
    return executable.run(feeds.map(([, array]) => array));
  }
}
