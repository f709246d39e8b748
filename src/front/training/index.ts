/** @file Names of `tf.train` for loops that train: coordinators, sessions that look after themselves, and their hooks. */
export type { GraphSession } from '../../graph/sessions.ts';
export { summaryIterator } from '../summary/fileWriter.ts';
export { type BasicTrainLoopOptions, basicTrainLoop } from './basicTrainLoop.ts';
export { CheckpointSaverHook, CheckpointSaverListener, type CheckpointSaverOptions } from './checkpointSaverHook.ts';
export { Coordinator, type CoordinatorOptions, type JoinOptions, LooperThread } from './coordinator.ts';
export {
  FeedFnHook,
  FinalOpsHook,
  GlobalStepWaiterHook,
  LoggingTensorHook,
  type LoggingTensorOptions,
  NanLossDuringTrainingError,
  NanTensorHook,
  StopAtStepHook,
} from './hooks.ts';
export {
  MonitoredSession,
  type MonitoredSessionOptions,
  SingularMonitoredSession,
  type SingularMonitoredSessionOptions,
  StepContext,
} from './monitoredSession.ts';
export { MonitoredTrainingSession, type MonitoredTrainingSessionOptions } from './monitoredTrainingSession.ts';
export { ProfilerHook, type ProfilerOptions } from './profilerHook.ts';
export { Scaffold, type ScaffoldOptions } from './scaffold.ts';
export { ChiefSessionCreator, SessionCreator, WorkerSessionCreator } from './sessionCreators.ts';
export { SessionManager, type SessionManagerOptions } from './sessionManager.ts';
export { SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues } from './sessionRunHook.ts';
export {
  StepCounterHook,
  type StepCounterOptions,
  SummarySaverHook,
  type SummarySaverOptions,
} from './summaryHooks.ts';
export { Supervisor, type SupervisorOptions } from './supervisor.ts';
export { BackgroundTask, type Task, type TaskOptions } from './task.ts';
export { SecondOrStepTimer } from './timer.ts';
