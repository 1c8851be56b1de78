"""The names of torch that refuse, by what mindtorch lacks: a line for each module. An @ marks a decorator.

A * is a package in which all names and submodules refuse that mindtorch does not have.
"""

_DISTRIBUTED = "mindtorch has not this part of torch.distributed. Use its collectives and process groups"
_TORCHRUN = ("mindtorch's torchrun has not this part. Start jobs by torchrun or elastic_launch, with the rendezvous "
             "c10d or static")
_FSDP1 = ("mindtorch has FullyShardedDataParallel and fully_shard without this name. Keep states by the names of "
          "parameters")
_PIPELINES = ("mindtorch has no schedules with zero bubbles. Run the stages by ScheduleGPipe, Schedule1F1B or "
              "ScheduleInterleaved1F1B")
_EXPORT = "mindtorch exports no programs. Save the state_dict, and export the model with PyTorch"
_QUANTIZED = "mindtorch has no quantized tensors. Keep the model in a floating-point dtype"
_NESTED = "mindtorch has no nested tensors. Pad the tensors with torch.nn.utils.rnn.pad_sequence"
_EXTENSION = ("mindtorch has none of PyTorch's C++ API. Build over ACL with torch.utils.cpp_extension.load, and "
              "register the operator with torch.library.custom_op")
_DATAPIPES = "mindtorch has no data pipes. Use torch.utils.data.IterableDataset"
_JIT = "mindtorch has no TorchScript. Save the state_dict, and call the model as the Python that it is"
_COMPILER = "mindtorch has no compiler: torch.compile returns the function itself. Call it uncompiled"
_SCALED = "mindtorch has no products of scaled tensors. Cast the operands and call torch.matmul"
_SEMI_STRUCTURED = ("mindtorch has no tensors of 2:4 sparsity, whose kernels are for CUDA. Keep the tensor dense, or "
                    "make it a CSR tensor with to_sparse_csr")
_MASKED = "mindtorch has no masked tensors. Give the mask to the functions of torch.masked"
_DEPRECATED = "torch has deprecated it. Derive from torch.autograd.Function"
_DIMENSIONS = "mindtorch has no first-class dimensions. Call einops.rearrange"
_LAYOUT = "a gradient always has the strides of its parameter here"
_PRIVATE = "this is private to PyTorch, and has no counterpart in mindtorch"

NAMES = {
    _DISTRIBUTED: """
        torch.distributed: BuiltinCommHookType Logger Reducer breakpoint
            record_comm shrink_group
        torch.testing._internal.distributed:
        torch.distributed._functional_collectives: all_gather_into_tensor_backward
            all_gather_into_tensor_coalesced_backward all_gather_into_tensor_coalesced_setup_context
            all_gather_into_tensor_setup_context all_reduce_backward all_reduce_coalesced_backward
            all_reduce_coalesced_setup_context all_reduce_setup_context all_to_all_single_backward
            all_to_all_single_setup_context allow_inflight_collective_as_graph_input_ctx backend_impl
            batch_p2p_ops_inplace get_proxy_mode irecv_inplace is_torchdynamo_compiling isend_inplace
            legacy_all_gather legacy_all_gather_base legacy_all_to_all_single legacy_allgather
            legacy_allgather_single legacy_allreduce legacy_batch_p2p_ops legacy_irecv legacy_isend
            legacy_lib legacy_lib_impl legacy_reduce_scatter_base legacy_reducescatter
            legacy_reducescatter_single lib_impl lib_impl_autograd reduce_scatter_tensor_backward
            reduce_scatter_tensor_coalesced_backward reduce_scatter_tensor_coalesced_setup_context
            reduce_scatter_tensor_setup_context tree_map_only wait_tensor_backward wait_tensor_setup_context
        torch.distributed._local_tensor: LocalTensorMode
        torch.distributed._mesh_layout: _MeshLayout
        torch.distributed._ops:
        torch.distributed._ops.device_mesh:
        torch.distributed._shard: load_with_process_group
        torch.distributed._shard.sharded_tensor: ShardedTensor
        torch.distributed._state_dict_utils: _gather_state_dict
        torch.distributed._symmetric_memory: _test_mode empty enable_symm_mem_for_group get_backend
            get_symm_mem_workspace is_symm_mem_enabled_for_group rendezvous set_backend
        torch.distributed.algorithms.ddp_comm_hooks:
        torch.distributed.algorithms.ddp_comm_hooks.ddp_zero_hook: hook_with_zero_step hook_with_zero_step_interleaved
        torch.distributed.algorithms.ddp_comm_hooks.mixed_precision_hooks:
        torch.distributed.algorithms.ddp_comm_hooks.optimizer_overlap_hooks:
        torch.distributed.algorithms.ddp_comm_hooks.quantization_hooks: quantization_perchannel_hook
            quantization_pertensor_hook
        torch.distributed.algorithms.model_averaging.hierarchical_model_averager: HierarchicalModelAverager
        torch.distributed.c10d_logger:
        torch.distributed.logging_handlers:
        torch.distributed.remote_device:
        torch.distributed.checkpoint: QuantizedHuggingFaceStorageReader load_sharded_optimizer_state_dict
        torch.distributed.checkpoint._consolidate_hf_safetensors: consolidate_safetensors_files
            consolidate_safetensors_files_on_every_rank
        torch.distributed.checkpoint.filesystem: FileSystem FileSystemBase SerializationFormat
        torch.distributed.checkpoint.logger:
        torch.distributed.checkpoint.logging_handlers:
        torch.distributed.checkpoint.resharding:
        torch.distributed.checkpoint.optimizer: load_sharded_optimizer_state_dict
        torch.distributed.checkpoint.quantized_hf_storage: QuantizedHuggingFaceStorageReader
        torch.distributed.config: compile_on_one_rank patch use_torchcomms
        torch.distributed.debug: start_debug_server stop_debug_server
        torch.distributed.device_mesh: _register_distributed_opaque_types
        torch.distributed.distributed_c10d: _new_process_group_helper record_comm shrink_group
        torch.distributed.fsdp._common_utils: clean_tensor_name
        torch.distributed.fsdp._flat_param: FlatParamHandle
        torch.distributed.fsdp._fully_shard:
        torch.distributed.fsdp._fully_shard._fsdp_collectives:
        torch.distributed.fsdp._fully_shard._fsdp_common: FSDPMeshInfo ShardPlacementResult
        torch.distributed.fsdp._fully_shard._fsdp_init: _get_mesh_info
        torch.distributed.fsdp._fully_shard._fsdp_param:
        torch.distributed.fsdp._fully_shard._fsdp_param_group: FSDPParamGroup
        torch.distributed.fsdp._fully_shard._fsdp_state:
        torch.distributed.fsdp._runtime_utils: _post_backward_final_callback
        torch.distributed.fsdp._traversal_utils: _get_fsdp_states
        torch.distributed.autograd: backward context get_gradients DistAutogradContext
        torch.distributed.flight_recorder:
        torch.distributed.flight_recorder.components.builder: build_collectives build_db build_groups_memberships
            transform_ft
        torch.distributed.flight_recorder.components.config_manager: JobConfig
        torch.distributed.flight_recorder.components.fr_logger: FlightRecorderLogger
        torch.distributed.flight_recorder.components.loader: read_dir read_dump
        torch.distributed.flight_recorder.components.types: Collective Database EntryState Group MatchInfo MatchState
            MatchStateRecord Membership NCCLCall Op Ref Traceback TypeInfo
        torch.distributed.flight_recorder.components.utils: add_stack_id_in_entries align_trace_from_beginning
            check_current_entry_match check_no_missing_dump_files check_size_alltoall check_version error_analysis
            find_coalesced_group find_coalesced_group_with_non_p2p format_frame format_frames get_version_detail
            just_print_entries match_coalesced_groups match_coalesced_groups_with_non_p2p match_one_event
        torch.distributed.flight_recorder.fr_trace: main
        torch.distributed.nn: RemoteModule
        torch.distributed.nn.api.remote_module: RemoteModule
        torch.distributed.nn.jit.instantiator: get_arg_return_types_from_interface
            instantiate_non_scriptable_remote_module_template instantiate_scriptable_remote_module_template
        torch.distributed.nn.jit.templates.remote_module_template: get_remote_module_template
        torch.distributed.optim: DistributedOptimizer as_functional_optim
        torch.distributed.optim.functional_adadelta:
        torch.distributed.optim.functional_adagrad:
        torch.distributed.optim.functional_adam:
        torch.distributed.optim.functional_adamax:
        torch.distributed.optim.functional_adamw:
        torch.distributed.optim.functional_rmsprop:
        torch.distributed.optim.functional_rprop:
        torch.distributed.optim.functional_sgd:
        torch.distributed.optim.named_optimizer:
        torch.distributed.optim.optimizer: DistributedOptimizer
        torch.distributed.optim.utils: as_functional_optim register_functional_optim
        torch.distributed.pipelining.microbatch: _split_block_mask
        torch.distributed.pipelining.schedules: BACKWARD_INPUT BACKWARD_WEIGHT OVERLAP_F_B REDUCE_GRAD RESHARD UNSHARD
            _PipelineContext _PipelineScheduleRuntime _wait_batch_p2p
        torch.distributed.pipelining.stage: _normalize_model_output_as_tuple build_stage
        torch.distributed.rpc: AllGatherStates BackendType RRef TensorPipeRpcBackendOptions get_worker_info
            init_rpc method_factory new_method remote rpc_async rpc_sync shutdown
        torch.distributed.rpc.api: _all_gather @_require_initialized AllGatherStates RRef get_worker_info
            method_factory new_method remote rpc_async rpc_sync shutdown
        torch.distributed.rpc.backend_registry: BackendType BackendValue backend_registered
            construct_rpc_backend_options init_backend register_backend
        torch.distributed.rpc.constants:
        torch.distributed.rpc.functions: @async_execution
        torch.distributed.rpc.internal: PythonUDF RPCExecMode RemoteException deserialize serialize
        torch.distributed.rpc.options: TensorPipeRpcBackendOptions
        torch.distributed.rpc.rref_proxy: RRefProxy
        torch.distributed.rpc.server_process_global_profiler:
        torch.distributed.tensor._ops:
        torch.distributed.tensor._random: manual_seed
        torch.distributed.tensor.debug: visualize_sharding
        torch.distributed.tensor.parallel.ddp:
        torch.distributed.tensor.parallel.fsdp: DTensorExtensions
        torch.distributed.tensor.parallel.input_reshard: input_reshard
        torch.distributed.tensor.experimental: context_parallel
        torch.distributed.tensor.experimental._attention: _HeadTailLoadBalancer _PTRRLoadBalancer
            _context_parallel_shard _cp_options _enable_context_parallel_dispatcher set_rotate_method
        torch.distributed.tensor.experimental._context_parallel:
        torch.distributed.tensor.experimental._context_parallel._attention: flex_cp_allgather
        torch.distributed.tensor.experimental._context_parallel._sharding_rules:
            unregister_cp_sharding_rules
    """,
    _TORCHRUN: """
        torch.distributed.elastic.agent.server: ElasticAgent SimpleElasticAgent Worker WorkerGroup
        torch.distributed.elastic.agent.server.health_check_server: HealthCheckServer create_healthcheck_server
        torch.distributed.elastic.agent.server.local_elastic_agent: TORCHELASTIC_ENABLE_FILE_TIMER
            TORCHELASTIC_HEALTH_CHECK_PORT TORCHELASTIC_TIMER_FILE TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT
        torch.distributed.elastic.control_plane: worker_main
        torch.distributed.elastic.multiprocessing.api: get_std_cm
        torch.distributed.elastic.multiprocessing.subprocess_handler: SubprocessHandler get_subprocess_handler
        torch.distributed.elastic.multiprocessing.subprocess_handler.handlers: get_subprocess_handler
        torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler: SubprocessHandler
        torch.distributed.elastic.rendezvous: RendezvousHandlerCreator RendezvousHandlerRegistry RendezvousStoreInfo
            rendezvous_handler_registry
        torch.distributed.elastic.rendezvous.c10d_rendezvous_backend: C10dRendezvousBackend create_backend
        torch.distributed.elastic.rendezvous.dynamic_rendezvous: DynamicRendezvousHandler RendezvousBackend
            RendezvousSettings RendezvousTimeout create_handler
        torch.distributed.elastic.rendezvous.etcd_rendezvous: EtcdRendezvous EtcdRendezvousHandler
            EtcdRendezvousRetryImmediately EtcdRendezvousRetryableFailure create_rdzv_handler
        torch.distributed.elastic.rendezvous.etcd_rendezvous_backend: EtcdRendezvousBackend create_backend
        torch.distributed.elastic.rendezvous.etcd_server: EtcdServer find_free_port stop_etcd
        torch.distributed.elastic.rendezvous.etcd_store: EtcdStore cas_delay
        torch.distributed.elastic.rendezvous.registry: get_rendezvous_handler
        torch.distributed.elastic.rendezvous.static_tcp_rendezvous: StaticTCPRendezvous create_rdzv_handler
        torch.distributed.elastic.timer.debug_info_logging: log_debug_info_for_expired_timers
    """,
    _FSDP1: """
        torch.distributed.fsdp: DataParallelMeshDims OptimStateKeyType share_comm_ctx
        torch.distributed.fsdp.fully_sharded_data_parallel: OptimStateKeyType
    """,
    _PIPELINES: """
        torch.distributed.pipelining: ScheduleDualPipeV ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble
        torch.distributed.pipelining.schedules: ScheduleDualPipeV ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble
    """,
    _EXPORT: """
        torch._export:
        torch._export.config: patch
        torch._export.error: InternalError
        torch._export.utils: _disable_aten_to_metadata_assertions _is_cia_op
        torch.export: AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature
            ExportGraphSignature ExportedProgram FlatArgsAdapter ModuleCallEntry ModuleCallSignature
            ShapesCollection UnflattenedModule default_decompositions dims draft_export export load
            register_dataclass save unflatten
        torch.export._trace:
        torch.export.decomp_utils: CustomDecompTable
        torch.onnx: ExportableModule InputObserver ONNXProgram TensorProtoDataType export
        torch.onnx._internal.exporter:
        torch.onnx.operators: shape_as_tensor
        torch.onnx.symbolic_opset12: dropout
        torch.onnx.symbolic_opset9: masked_fill softmax sub""",
    _QUANTIZED: """
        torch: per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine
            per_tensor_symmetric qscheme _fake_quantize_learnable_per_channel_affine
            _fake_quantize_learnable_per_tensor_affine _make_per_tensor_quantized_tensor
            _convert_weight_to_int4pack _weight_int8pack_mm
        torch.ao: *
        torch.nn.intrinsic: *
        torch.nn.qat: *
        torch.nn.quantizable: *
        torch.nn.quantized: *
        torch.quantization: *""",
    _NESTED: """
        torch: _nested_compute_contiguous_strides_offsets _nested_view_from_buffer
        torch.nested: as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged
            to_padded_tensor
        torch.nested._internal.nested_tensor: NestedTensor _tensor_symint_registry
            nested_view_from_values_offsets
        torch.nested._internal.ops: extract_kwargs""",
    _MASKED: """
        torch.masked: MaskedTensor as_masked_tensor is_masked_tensor masked_tensor""",
    _DEPRECATED: """
        torch.autograd: NestedIOFunction""",
    _EXTENSION: """
        torch.library: get_kernel
        torch.utils.cpp_extension: CUDAExtension CUDA_HOME ROCM_HOME SyclExtension
            _get_build_directory _get_cuda_arch_flags check_compiler_is_gcc check_compiler_ok_for_platform
            get_compiler_abi_compatibility_and_version remove_extension_h_precompiler_headers verify_ninja_availability
        torch.utils.hipify:
        torch.utils.hipify.hipify_python: hipify""",
    _DATAPIPES: """
        torch.utils.data: DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation @functional_datapipe
            guaranteed_datapipes_determinism non_deterministic runtime_validation runtime_validation_disabled
        torch.utils.data.datapipes.iter: Batcher
        torch.utils.data.datapipes.iter.combinatorics: ShufflerIterDataPipe
        torch.utils.data.graph_settings: apply_shuffle_settings""",
    _JIT: """
        torch: ScriptObject
        torch._C: ScriptDict ScriptList ScriptMethod
        torch.jit: Attribute CompilationUnit Error RecursiveScriptModule _get_trace_graph
            enable_onednn_fusion export_opnames freeze isinstance load onednn_fusion_enabled
            optimize_for_inference save set_fusion_strategy strict_fusion""",
    _DIMENSIONS: """
        torch.func: rearrange""",
    _LAYOUT: """
        torch.autograd: enforce_grad_layout_policy""",
    _COMPILER: """
        torch.func: functionalize
        torch._C._dynamo:
        torch._C._dynamo.eval_frame: _set_lru_cache
        torch._C._functorch: _add_batch_dim _remove_batch_dim get_unwrapped is_batchedtensor
            is_legacy_batchedtensor
        torch._decomp: core_aten_decompositions
        torch._dynamo: export lookup_backend nonstrict_trace override_optimization_hint
        torch._dynamo.backends.common: AotAutograd aot_autograd
        torch._dynamo.compiled_autograd: _enable
        torch._dynamo.convert_frame: compile_lock
        torch._dynamo.exc: TensorifyScalarRestartAnalysis
        torch._dynamo.functional_export: dynamo_graph_capture_for_export
        torch._dynamo.graph_deduplication: _stable_topological_sort
        torch._dynamo.guards: GuardBuilder get_verbose_code_parts
        torch._dynamo.source: ConstantSource LocalSource
        torch._dynamo.testing: CompileCounterWithBackend
        torch._dynamo.variables: ConstantVariable SliceVariable SymNodeVariable
        torch._dynamo.variables.base: NO_SUCH_SUBOBJ
        torch._dynamo.variables.builder: wrap_to_fake_tensor_and_record
        torch._functorch._activation_offloading.offload_ops: pinned_memory_pool
        torch._functorch._aot_autograd.functional_utils: from_fun to_fun
        torch._functorch._aot_autograd.fx_utils: get_plain_input_and_grad_nodes
        torch._functorch.aot_autograd: JointWithDescriptors aot_compile_joint_with_descriptors
            aot_export_joint_with_descriptors aot_module_simplified
        torch._functorch.compile_utils: raise_getitems
        torch._functorch.partitioners: _extract_fwd_bwd_outputs _extract_graph_with_inputs_outputs _is_primal
            _is_tangent default_partition get_default_op_list has_recomputable_ops has_recomputable_rng_ops is_sym_node
            min_cut_rematerialization_partition must_recompute solve_min_cut
        torch._functorch.vmap: Tensor _add_batch_dim _broadcast_to_and_flatten _create_batched_inputs
            _get_name _maybe_remove_batch_dim _process_batched_inputs _unwrap_batched tree_flatten
            tree_unflatten
        torch._guards: TracingContext active_fake_mode tracing
        torch._higher_order_ops: associative_scan flex_attention inline_asm_elementwise out_dtype
        torch._higher_order_ops.effects: _EffectType _register_effectful_op
        torch._inductor: aoti_compile_and_package aoti_load_package compile cudagraph_mark_step_begin
            list_mode_options
        torch._inductor.codecache: extract_tensor_metadata_for_cache_key
        torch._inductor.codegen:
        torch._inductor.codegen.triton: TritonOverrides
        torch._inductor.config: _micro_pipeline_tp allow_buffer_reuse aten_distributed_optimizations
            compile_threads coordinate_descent_check_all_directions coordinate_descent_tuning cpp
            eager_numerics emulate_precision_casts force_fuse_int_mm_with_mul freezing fx_graph_cache
            max_autotune max_autotune_gemm_search_space patch post_grad_custom_post_pass
            post_grad_custom_pre_pass pre_grad_custom_pass reorder_for_compute_comm_overlap
            reorder_for_peak_memory size_asserts test_configs triton
        torch._inductor.constant_folding: constant_fold
        torch._inductor.cpp_builder: get_cpp_compiler
        torch._inductor.cpu_vec_isa: pick_vec_isa
        torch._inductor.cudagraph_trees: _use_cuda_memory_pool_manager
        torch._inductor.custom_graph_pass: CustomGraphPass CustomInferenceAwareGraphPass get_hash_for_files
        torch._inductor.decomposition: @register_decomposition
        torch._inductor.exc: InductorError
        torch._inductor.freezing_utils: maybe_set_is_frozen_param
        torch._inductor.fx_passes.bucketing: BucketMode is_all_gather_into_tensor is_wait_tensor
        torch._inductor.fx_passes.control_dependencies: preserve_node_ordering
        torch._inductor.fx_passes.freezing_patterns: freezing_passes register_freezing_graph_pattern
        torch._inductor.fx_passes.micro_pipeline_tp: micro_pipeline_tp_pass
        torch._inductor.fx_passes.mkldnn_fusion: _gelu_fusion_1 _gelu_fusion_2 _get_remaining_users
            _hardswish_fusion _hardtanh_fusion _silu_fusion
        torch._inductor.fx_passes.overlap_manual_scheduling: ManualOverlapPreservingBucketer
            ManualOverlapScheduler _move_overlap_nodes manual_overlap_bucketing
        torch._inductor.fx_passes.overlap_scheduling: get_group_name is_compute_node
            schedule_overlap_bucketing schedule_overlap_bucketing_from_inductor_configs
        torch._inductor.ir: Buffer ChoiceCaller CppTemplateBuffer FallbackKernel FixedLayout IRNode Layout
            Pointwise TensorBox get_fill_order
        torch._inductor.kernel.flex.common: construct_strides maybe_realize
        torch._inductor.lowering: add_needs_realized_inputs addcmul expand fallbacks lowerings
            @register_lowering to_dtype
        torch._inductor.metrics: reset
        torch._inductor.output_code: RegionalOutputCode
        torch._inductor.pattern_matcher: Arg CallFunction KeywordArg Match PatternMatcherPass filter_nodes
            register_lowering_pattern
        torch._inductor.runtime:
        torch._inductor.runtime.cache_dir_utils: cache_dir default_cache_dir
        torch._inductor.runtime.compile_tasks:
        torch._inductor.runtime.hints: DeviceProperties
        torch._inductor.scheduler: Scheduler
        torch._inductor.select_algorithm: DataProcessorTemplateWrapper ExternKernelChoice
            autotune_select_algorithm
        torch._inductor.sizevars: SizeVarAllocator
        torch._inductor.utils: count_tangents is_big_gpu parallel_num_threads run_and_get_code
        torch._inductor.virtualized: V ops
        torch._library.opaque_object: is_opaque_value register_opaque_type
        torch._logging: trace_structured
        torch._prims:
        torch._prims.rng_prims:
        torch.compiler: _is_non_strict_tracing _non_strict_tracing_context _patch_engine_backward
            load_cache_artifacts load_compiled_function save_cache_artifacts
        torch.compiler._cache: CacheArtifactManager _deserialize_single_cache _serialize_single_cache
        torch.fx._graph_pickler: GraphPickler Options
        torch.fx._lazy_graph_module: _make_graph_module
        torch.fx._pytree: register_pytree_flatten_spec tree_flatten_spec
        torch.fx.experimental._config: enrich_profiler_metadata
        torch.fx.experimental.proxy_tensor: ProxyTorchDispatchMode _ProxyTensor _SymNodeDict decompose
            disable_proxy_modes_tracing fetch_object_proxy fetch_sym_proxy get_proxy_slot
            track_tensor_tree
        torch.fx.experimental.symbolic_shapes: DimDynamic DivideByKey GuardOnDataDependentSymNode
            RelaxedUnspecConstraint StatelessSymbolicContext StrictMinMaxConstraint optimization_hint
        torch.fx.passes.regional_inductor: regional_inductor
        torch.fx.passes.runtime_assert: insert_deferred_runtime_asserts
        torch.fx.passes.utils.matcher_with_name_node_map_utils: InternalMatch SubgraphMatcherWithNameNodeMap
        torch.fx.passes.utils.source_matcher_utils: SourcePartition check_subgraphs_connected
            get_source_partitions
        torch.fx.traceback: NodeSource NodeSourceAction
        torch.utils._config_module: ConfigModule
        torch.utils._sympy.functions: FloorDiv simple_floordiv_gcd
        torch.utils._sympy.numbers: IntInfinity int_oo
        torch.utils._sympy.value_ranges: ValueRanges
        torch.utils.viz._cycles: warn_tensor_cycles""",
    _SCALED: """
        torch: _grouped_mm _scaled_grouped_mm _scaled_mm
        torch.nn.functional: ScalingType SwizzleType scaled_grouped_mm scaled_mm""",
    _SEMI_STRUCTURED: """
        torch.sparse: SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT
            SparseSemiStructuredTensorCUTLASS to_sparse_semi_structured
        torch.sparse._triton_ops_meta: get_meta minimize update""",
    _PRIVATE: """
        torch: _cslt_compress _cslt_sparse_mm _sparse_semi_structured_apply
            _sparse_semi_structured_apply_dense _sparse_semi_structured_tile
        torch._C: Graph OptionalType ScriptObject Value _cuda_releasePool
            _dispatch_dump
            _dispatch_key_for_device _dispatch_keys _get_sdp_priority_order _jit_get_operation
            _set_math_sdp_allow_fp16_bf16_reduction _show_config
        torch._C._autograd: _KinetoEvent _top_saved_tensors_default_hooks
        torch._C._cpu:
        torch._C._distributed_c10d: Reducer _register_process_group
        torch._C._distributed_rpc: PyRRef _is_current_rpc_agent_set
        torch._C._profiler: _ExperimentalConfig
        torch._prims_common: DeviceLikeType alert_not_deterministic canonicalize_dims is_contiguous_or_false
        torch._prims_common.wrappers: _maybe_convert_to_dtype
        torch._tensor_str: printoptions
        torch._vendor.packaging.version: parse
        torch._weights_only_unpickler: _get_user_allowed_globals
        torch.autograd.profiler_legacy: profile
        torch.backends.cudnn.rnn: fp32_precision
        torch.cuda._annotate_cuda_graph_trace: annotate_trace
        torch.cuda._graph_annotations: _is_tools_id_unavailable get_kernel_annotations mark_kernels
        torch.cuda._memory_viz: memory segment_plot segments trace_plot
        torch.func: debug_unwrap
        torch.library: _defs wrap_triton
        torch.serialization: check_module_version_greater_or_equal
        torch.mps.event: Event
        torch.nn.attention: _backend_names _get_flash_version activate_flash_attention_impl
            current_flash_attention_impl list_flash_attention_impls restore_flash_attention_impl
        torch.nn.attention._fa3:
        torch.nn.attention._fa4:
        torch.nn.attention._registry:
        torch.nn.attention.experimental._scaled_dot_product_attention_quantized:
            _scaled_dot_product_attention_quantized
        torch.nn.attention.flex_attention: _MaskModWrapper _mask_mod_signature _score_mod_signature
        torch.nn.attention.varlen: AuxRequest _should_use_cudnn varlen_attn varlen_attn_out
        torch.nn.utils._named_member_accessor: swap_tensor
        torch.nn.utils._per_sample_grad: call_for_per_sample_grads
        torch.numa.binding: AffinityMode NumaOptions _maybe_apply_numa_binding_to_current_process
        torch.optim._multi_tensor: RMSprop
        torch.profiler._memory_profiler: MemoryProfileTimeline _CATEGORY_TO_COLORS _CATEGORY_TO_INDEX
        torch.profiler._utils: _init_for_cuda_graphs
        torch.utils._appending_byte_serializer: AppendingByteSerializer
        torch.utils._device:"""}
