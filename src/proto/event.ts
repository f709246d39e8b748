/** @file Messages of event files: Event, and the Summary that TensorBoard draws. */
import {
  bytes,
  double,
  enumeration,
  enumField,
  float,
  int32,
  int64Number,
  type MessageType,
  message,
  msg,
  oneof,
  repeated,
  str,
} from './message.ts';
import { TensorProto } from './tensor.ts';

export const HistogramProto = message('HistogramProto', {
  min: double(1),
  max: double(2),
  num: double(3),
  sum: double(4),
  sum_squares: double(5),
  bucket_limit: repeated(double(6)),
  bucket: repeated(double(7)),
});
export type HistogramProto = MessageType<typeof HistogramProto>;

export const DataClass = enumeration('DataClass', {
  DATA_CLASS_UNKNOWN: 0,
  DATA_CLASS_SCALAR: 1,
  DATA_CLASS_TENSOR: 2,
  DATA_CLASS_BLOB_SEQUENCE: 3,
});

export const PluginData = message('SummaryMetadata.PluginData', { plugin_name: str(1), content: bytes(2) });
export type PluginData = MessageType<typeof PluginData>;

export const SummaryMetadata = message('SummaryMetadata', {
  plugin_data: msg(1, () => PluginData),
  display_name: str(2),
  summary_description: str(3),
  data_class: enumField(4, DataClass),
});
export type SummaryMetadata = MessageType<typeof SummaryMetadata>;

export const SummaryDescription = message('SummaryDescription', { type_hint: str(1) });
export type SummaryDescription = MessageType<typeof SummaryDescription>;

export const SummaryImage = message('Summary.Image', {
  height: int32(1),
  width: int32(2),
  /** 1 grey, 3 RGB, 4 RGBA. */
  colorspace: int32(3),
  encoded_image_string: bytes(4),
});
export type SummaryImage = MessageType<typeof SummaryImage>;

export const SummaryAudio = message('Summary.Audio', {
  sample_rate: float(1),
  num_channels: int64Number(2),
  length_frames: int64Number(3),
  encoded_audio_string: bytes(4),
  content_type: str(5),
});
export type SummaryAudio = MessageType<typeof SummaryAudio>;

export const SummaryValue = message('Summary.Value', {
  tag: str(1),
  node_name: str(7),
  metadata: msg(9, () => SummaryMetadata),
  ...oneof({
    simple_value: float(2),
    obsolete_old_style_histogram: bytes(3),
    image: msg(4, () => SummaryImage),
    histo: msg(5, () => HistogramProto),
    audio: msg(6, () => SummaryAudio),
    tensor: msg(8, () => TensorProto),
  }),
});
export type SummaryValue = MessageType<typeof SummaryValue>;

export const Summary = message('Summary', { value: repeated(msg(1, () => SummaryValue)) });
export type Summary = MessageType<typeof Summary>;

export const LogLevel = enumeration('LogMessage.Level', {
  UNKNOWN: 0,
  DEBUGGING: 10,
  INFO: 20,
  WARN: 30,
  ERROR: 40,
  FATAL: 50,
});

export const LogMessage = message('LogMessage', { level: enumField(1, LogLevel), message: str(2) });
export type LogMessage = MessageType<typeof LogMessage>;

export const SessionStatus = enumeration('SessionLog.SessionStatus', {
  STATUS_UNSPECIFIED: 0,
  START: 1,
  STOP: 2,
  CHECKPOINT: 3,
});

export const SessionLog = message('SessionLog', {
  status: enumField(1, SessionStatus),
  checkpoint_path: str(2),
  msg: str(3),
});
export type SessionLog = MessageType<typeof SessionLog>;

export const TaggedRunMetadata = message('TaggedRunMetadata', { tag: str(1), run_metadata: bytes(2) });
export type TaggedRunMetadata = MessageType<typeof TaggedRunMetadata>;

export const SourceMetadata = message('SourceMetadata', { writer: str(1) });
export type SourceMetadata = MessageType<typeof SourceMetadata>;

export const Event = message('Event', {
  /** Seconds since 1970. */
  wall_time: double(1),
  step: int64Number(2),
  source_metadata: msg(10, () => SourceMetadata),
  ...oneof({
    file_version: str(3),
    graph_def: bytes(4),
    summary: msg(5, () => Summary),
    log_message: msg(6, () => LogMessage),
    session_log: msg(7, () => SessionLog),
    tagged_run_metadata: msg(8, () => TaggedRunMetadata),
    meta_graph_def: bytes(9),
  }),
});
export type Event = MessageType<typeof Event>;
