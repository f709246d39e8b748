/** @file Loops that are run rather than unrolled: one program for the body and the next test, replayed once per trip. */
import type { NDArray } from '../core/ndarray.ts';
import { isTrue } from '../core/truth.ts';
import type { HostCall } from '../program/instructions.ts';
import { Body } from './functions.ts';
import type { Run } from './run.ts';

/** Something that runs a body by itself. */
export interface BodyRunner {
  run(inputs: readonly NDArray[], options: { readonly run: Run }): Promise<NDArray[]>;
}

/** Applies `body` to the inputs as long as `cond` gives true. `runner` prepares a body to be run. */
export function hostLoop(cond: Body, body: Body, runner: (body: Body, suffix: string) => BodyRunner): HostCall {
  const test = runner(cond, 'cond/');
  if (cond.hasFrames || body.hasFrames) return turnByTurn(test, runner(body, 'body/'));
  // What the body only passes on need not be given back by every trip.
  const changing = body.results.flatMap(({ node }, i) => (node === body.args[i]!.node ? [] : [i]));
  const trip = runner(stepOf(cond, body, changing), 'body/');
  return async (inputs, run) => {
    const scope = { run: run as Run }; // the runtime's own runs are the only ones there are
    const values = [...inputs];
    let [go] = await test.run(values, scope);
    while (isTrue(go!)) {
      const results = await trip.run(values, scope);
      go = results.pop();
      for (const [k, i] of changing.entries()) values[i] = results[k]!;
    }
    return values;
  };
}

/** The body and the test one after the other: the frames of two functions cannot be put together. */
function turnByTurn(test: BodyRunner, body: BodyRunner): HostCall {
  return async (inputs, run) => {
    const scope = { run: run as Run }; // as above
    let values: readonly NDArray[] = inputs;
    for (;;) {
      const [go] = await test.run(values, scope);
      if (!isTrue(go!)) return values;
      values = await body.run(values, scope);
    }
  };
}

/** One trip: the body, then the test of whether there is another one. */
function stepOf(cond: Body, body: Body, changing: readonly number[]): Body {
  const both = body.followedBy(cond);
  const results = [...changing.map((i) => both.results[i]!), both.results.at(-1)!];
  return new Body(both.name, both.nodes, both.args, results, both.targets);
}
