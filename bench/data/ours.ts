/**
 * @file Our side of bench/data.ts: reads names of rows, runs each once, answers with the seconds it took, as bench/peers/data.py
 * does. Run by bench/data.ts with the folder of its files.
 */
import { createInterface } from 'node:readline';
import { rows } from './index.ts';
import type { Work } from './row.ts';

const [folder, clock] = process.argv.slice(2) as [string, string]; // bench/data.ts gives both

async function seconds(work: Work): Promise<number> {
  const start = process.hrtime.bigint();
  const before = process.cpuUsage();
  await work.run();
  const { user, system } = process.cpuUsage(before);
  return clock === 'cpu' ? (user + system) / 1e6 : Number(process.hrtime.bigint() - start) / 1e9;
}

const ready = new Map<string, Work>();
console.log('ready');
for await (const name of createInterface({ input: process.stdin })) {
  let work = ready.get(name);
  if (!work) ready.set(name, (work = await rows.find((row) => row.name === name)!.prepare(folder)));
  console.log(await seconds(work));
}
for (const work of ready.values()) await work.close?.();
