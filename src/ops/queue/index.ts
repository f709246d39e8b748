/** @file Loads the ops of queues and of other things that runs meet at. */
import './queueCreate.ts';
import './queueOps.ts';
import './sparseTensorsMap.ts';
import './barrier.ts';
import './mapStagingOps.ts';
import './stagingOps.ts';
import './accumulatorOps.ts';
