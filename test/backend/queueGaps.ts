/** @file Ops of queues, readers and the like, which mean something only together: cases cannot give them their other half. */

const forms = (names: readonly string[]) => names.flatMap((name) => [name, `${name}V2`]);
const makers = ['FIFOQueue', 'PaddingFIFOQueue', 'RandomShuffleQueue', 'PriorityQueue'];
const actions = ['Enqueue', 'EnqueueMany', 'Dequeue', 'DequeueMany', 'DequeueUpTo', 'Close', 'IsClosed', 'Size'];

const queueOps = [...forms(makers), ...forms(actions.map((action) => `Queue${action}`)), 'FakeQueue'];

const inQueues = 'needs a queue that other nodes make and fill; tested in test/whole/queues.test.ts';

/** No value case. */
export const queueGaps: Readonly<Record<string, string>> = Object.fromEntries(queueOps.map((name) => [name, inQueues]));
