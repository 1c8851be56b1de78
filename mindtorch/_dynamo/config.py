"""torch._dynamo.config: settings of a compiler that is not there. They can be read and set, and change nothing."""
from mindtorch._compat.compiler_settings import patcher

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
capture_scalar_outputs = capture_dynamic_output_shape_ops = suppress_errors = verbose = disable = False
error_on_nested_fx_trace = optimize_ddp = automatic_dynamic_shapes = assume_static_by_default = True
skip_fwd_side_effects_in_bwd_under_checkpoint = allow_unspec_int_on_nn_module = specialize_int = False
inline_inbuilt_nn_modules = dynamic_shapes = skip_tensor_guards_with_matching_dict_tags = True
enable_cpp_symbolic_shape_guards = fail_on_recompile_limit_hit = force_disable_caches = wrap_top_frame = False
job_id = log_file_name = None
cache_key_tag = dynamic_sources = unbacked_sources = ""
reorderable_logging_functions, ignore_logger_methods = set(), set()

patch = patcher(globals())
