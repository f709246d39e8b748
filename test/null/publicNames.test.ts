/** @file Every public name of TensorFlow 1.x that is in scope exists under its name in camelCase; the others have a reason. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

const golden = JSON.parse(readFileSync(new URL('../golden/publicNames.json', import.meta.url), 'utf8')) as Record<
  string,
  readonly string[]
>;

const words = (text: string) => text.trim().split(/\s+/);

/** Names that are left out, by module, each group with its reason. */
const leftOut: Record<string, Record<string, readonly string[]>> = {
  '': {
    'control flow of TensorFlow 2': words(`vectorized_map TensorArraySpec CriticalSection control_flow_v2_enabled
      disable_control_flow_v2 enable_control_flow_v2`),
    'belongs to debugging': words('add_check_numerics_ops'),
    'reads LMDB files, which need a library of their own': words('LMDBReader'),
    'eager execution and functions have an issue of their own': words(`GradientTape Module disable_eager_execution
      disable_v2_behavior enable_eager_execution enable_v2_behavior executing_eagerly
      executing_eagerly_outside_functions function init_scope is_symbolic_tensor wrap_function recompute_grad
      grad_pass_through nondifferentiable_batch_function variable_creator_scope`),
    'messages of checkpoints, events and logs come with the files': words(`AttrValue MetaGraphDef NameAttrList NodeDef
      TensorInfo OptimizerOptions`),
    'describes types, of which TypeScript has its own': words(`IndexedSlicesSpec NoneTensorSpec OptionalSpec
      RaggedTensorSpec SparseTensorSpec TensorSpec TypeSpec type_spec_from_value register_tensor_conversion_function
      Dimension dimension_at_index dimension_value VariableAggregation VariableSynchronization`),
    'tier 2 ops of sparse and ragged tensors': words(`convert_to_tensor_or_sparse_tensor edit_distance
      ragged_fill_empty_rows ragged_fill_empty_rows_grad sparse_add sparse_fill_empty_rows sparse_mask sparse_matmul
      sparse_maximum sparse_minimum sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum
      sparse_reduce_sum_sparse sparse_reset_shape sparse_slice sparse_softmax sparse_split sparse_tensor_dense_matmul
      sparse_to_indicator sparse_transpose`),
    'quantized arithmetic': words('dequantize quantize quantize_v2 quantized_concat'),
    'tier 2 and 3 ops': words('approx_top_k fftnd fingerprint ifftnd irfftnd random_index_shuffle rfftnd'),
    'raw convolution ops': words('conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2'),
    'loads libraries of C++ ops': words('load_file_system_library load_library load_op_library'),
    'values kept on a server between runs': words('delete_session_tensor get_session_handle get_session_tensor'),
    'about Python itself': words(`check_pinned disable_tensor_equality disable_v2_tensorshape enable_tensor_equality
      enable_v2_tensorshape get_logger numpy_function py_function`),
    'deprecated since 1.0': words('op_scope variable_op_scope create_partitioned_variables batch_scatter_update'),
  },
  debugging: {
    'about Python itself': words(`disable_check_numerics disable_traceback_filtering enable_check_numerics
      enable_traceback_filtering is_traceback_filtering_enabled get_log_device_placement set_log_device_placement`),
    'an assertion of TensorFlow 2': words('assert_shapes'),
  },
  linalg: {
    'a library of its own': golden['linalg']!.filter((name) => name.startsWith('LinearOperator')),
    'tier 2 and 3 ops': words('eigh_tridiagonal tridiagonal_matmul tridiagonal_solve'),
  },
  math: { 'tier 3 ops': words('approx_max_k approx_min_k sobol_sample') },
  nn: {
    'tier 3 ops': words('approx_max_k approx_min_k'),
    'quantized arithmetic': words('quantized_avg_pool quantized_conv2d quantized_max_pool quantized_relu_x'),
    'belongs to the distribution strategies of TensorFlow 2': words('compute_average_loss scale_regularization_loss'),
  },
  random: {
    'generators of TensorFlow 2': words(`Algorithm Generator create_rng_state fold_in get_global_generator
      set_global_generator split`),
    'tier 3 ops': words(`stateless_binomial stateless_gamma stateless_parameterized_truncated_normal
      stateless_poisson`),
  },
  signal: {
    'a library of sound, later': words(`dct fftshift frame hamming_window hann_window idct ifftshift inverse_mdct
      inverse_stft inverse_stft_window_fn kaiser_bessel_derived_window kaiser_window linear_to_mel_weight_matrix mdct
      mfccs_from_log_mel_spectrograms overlap_and_add stft vorbis_window`),
    'tier 3 ops': words('fftnd ifftnd irfftnd rfftnd'),
  },
  sparse: {
    'tier 2 and 3 ops': words(`SparseConditionalAccumulator add bincount concat cross cross_hashed expand_dims eye
      fill_empty_rows from_dense mask matmul maximum merge minimum reduce_max reduce_max_sparse reduce_sum
      reduce_sum_sparse reorder reset_shape reshape retain segment_mean segment_sqrt_n segment_sum slice softmax
      sparse_dense_matmul split to_indicator transpose`),
  },
  strings: {
    'tier 2 and 3 ops': words(`bytes_split format ngrams
      unicode_decode unicode_decode_with_offsets unicode_encode unicode_script unicode_split
      unicode_split_with_offsets unicode_transcode unsorted_segment_join`),
  },
  train: {
    'checkpoints of objects are a way of TensorFlow 2': words('Checkpoint CheckpointManager CheckpointOptions'),
    'training on several machines has an issue of its own': words(`ClusterDef JobDef ServerDef SyncReplicasOptimizer
      replica_device_setter`),
    'quantized arithmetic': words('do_quantize_training_on_graphdef'),
    'tier 3 ops': words('sdca_fprint sdca_optimizer sdca_shrink_l1'),
  },
  summary: { 'about summaries of TensorFlow 2': words('all_v2_summary_ops initialize') },
  image: {
    'formats that TensorFlow 1 did not have': words('decode_jxl decode_webp'),
    'tier 2 and 3 ops': words('extract_glimpse generate_bounding_box_proposals'),
  },
  data: { 'describes types, of which TypeScript has its own': words('DatasetSpec NumpyIterator') },
  'data.experimental': {
    'describes types, of which TypeScript has its own': words(`DatasetStructure OptionalStructure RaggedTensorStructure
      SparseTensorStructure Structure TensorArrayStructure TensorStructure`),
    'reads SQLite files, which need a library of their own': words('SqlDataset'),
    'functions of TensorFlow 2 and of its data service':
      words(`AutotuneAlgorithm ServiceOptions distributed_save enable_debug_mode get_model_proto
      pad_to_cardinality`),
  },
  errors: { 'about Python itself': words('raise_exception_on_not_ok_status') },
  io: {
    'formats that TensorFlow 1 did not have': words('decode_jxl decode_webp'),
    'messages of any kind by their descriptors': words('decode_proto encode_proto'),
  },
  ragged: {
    'more than parsing and strings need': words(`boolean_mask constant_value cross cross_hashed stack
      stack_dynamic_partitions`),
  },
  saved_model: { 'a way of TensorFlow 2': words('Asset SaveOptions load_v2 save') },
  test: {
    "Python's unittest": words(`Benchmark StubOutForTesting TestCase assert_equal_graph_def benchmark_config
      create_local_cluster disable_with_predicate get_temp_dir is_built_with_gpu_support is_built_with_rocm
      is_built_with_xla is_cpu_target_available main test_src_dir_path with_eager_op_as_function`),
  },
};

const camelCase = (name: string) =>
  /^[A-Z]/.test(name) ? name : name.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

function namesOf(module: string): ReadonlySet<string> {
  const found = module
    .split('.')
    .filter((part) => part !== '')
    .reduce<object>((inside, part) => Reflect.get(inside, camelCase(part)) ?? {}, tf);
  return new Set(Object.keys(found ?? {}));
}

describe('public names', () => {
  for (const [module, names] of Object.entries(golden))
    it(`of tf.${module}`, () => {
      const ours = namesOf(module);
      const reasons = new Set(Object.values(leftOut[module] ?? {}).flat());
      expect(names.filter((name) => !ours.has(camelCase(name)) && !reasons.has(name))).toEqual([]);
    });

  it('left out are names that there are', () => {
    for (const [module, groups] of Object.entries(leftOut))
      expect(
        Object.values(groups)
          .flat()
          .filter((name) => !golden[module]!.includes(name)),
        module,
      ).toEqual([]);
  });
});

it('The version is that of the package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  expect([tf.VERSION, tf.version.VERSION, tf.GIT_VERSION]).toEqual([version, version, `v${version}`]);
  expect(tf.version.GRAPH_DEF_VERSION).toBe(new tf.Graph().asGraphDef().versions?.producer);
});

it('A config can be made and then set', async () => {
  const config = new tf.ConfigProto({ allowSoftPlacement: true, deviceCount: { CPU: 2 } });
  config.gpuOptions.allowGrowth = true;
  config.deviceCount.CPU = 3;
  expect(new tf.Session({ config }).listDevices().length).toBe(3);
  expect(() => new tf.ConfigProto({ allowSoftPlacment: true } as never)).toThrow(/Did you mean 'allowSoftPlacement'/);
  expect(() => new tf.GPUOptions({ growth: true } as never)).toThrow(/gpuOptions has no option 'growth'/);
});

it('Sparse tensors are fed, fetched and evaluated as a whole', async () => {
  tf.resetDefaultGraph();
  const x = tf.sparse.placeholder(tf.float32, [2, null], { name: 'x' });
  expect([x.shape, x.values.name, x.indices.shape]).toEqual([[2, null], 'x/values:0', [null, 2]]);
  const doubled = x.withValues(x.values.mul(2));
  const sess = new tf.Session();
  const parts = [[[0, 1], [1, 0]], [1.5, 2.5], [2, 3]]; // biome-ignore format: positions read better in rows
  const value = await sess.run(doubled, [[x, parts]]);
  expect(value).toBeInstanceOf(tf.SparseTensorValue);
  expect([value.values.toArray(), value.denseShape.numbers()]).toEqual([
    [3, 5],
    [2, 3],
  ]);
  const dense = await sess.run(tf.sparse.toDense(x), new Map([[x, value]]));
  expect(dense.toArray()).toEqual([
    [0, 3, 0],
    [5, 0, 0],
  ]);
  await expect(sess.run(doubled, [[x, 3]])).rejects.toThrow(/fed with a tf\.SparseTensorValue or with \[indices/);
  const constant = new tf.SparseTensor([[0], [2]], [1.5, 2.5], [4]);
  expect((await constant.eval([], sess)).values.toArray()).toEqual([1.5, 2.5]);
  expect(() => new tf.SparseTensor([[0], [2]], [1.5], [4])).toThrow(/one value per row.*publicNames/s);
});

it('The time is another one at each run', async () => {
  const now = tf.timestamp();
  const sess = new tf.Session();
  const before = Date.now() / 1000;
  const first = (await sess.run(now)).item() as number;
  while (Date.now() / 1000 <= first) await new Promise((resolve) => setImmediate(resolve));
  const second = (await sess.run(now)).item() as number;
  expect([first >= before, second > first]).toEqual([true, true]);
});

it('Types and lists are checked without a graph', () => {
  expect(tf.assertSameFloatDtype([tf.constant(1.5), null])).toBe(tf.float32);
  expect(tf.assertSameFloatDtype()).toBe(tf.float32);
  const mixed = [tf.constant(1.5, { name: 'a' }), tf.constant(1.5, tf.float64)];
  expect(() => tf.assertSameFloatDtype(mixed)).toThrow(/type=float64, must be of the same type \(float32\) as a:0/);
  expect(() => tf.assertSameFloatDtype([tf.constant(1)])).toThrow(/Expected floating point type, got int32/);
  expect(() => tf.assertProperIterable([1, 2])).not.toThrow();
  expect(() => tf.assertProperIterable(3)).toThrow(/Put it into \[ \]/);
});

it('Error classes and codes lead to each other', () => {
  expect(tf.errors.errorCodeFromExceptionType(tf.errors.NotFoundError)).toBe(5);
  expect(tf.errors.exceptionTypeFromErrorCode(5)).toBe(tf.errors.NotFoundError);
  expect(tf.errors.exceptionTypeFromErrorCode(99)).toBe(tf.errors.UnknownError);
});
