"""torch._dynamo.config: settings of a compiler that is not there. They can be read and set, and change nothing."""
from mindtorch._compat.compiler_settings import patcher

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
capture_scalar_outputs = capture_dynamic_output_shape_ops = suppress_errors = verbose = disable = False
error_on_nested_fx_trace = optimize_ddp = automatic_dynamic_shapes = assume_static_by_default = True
skip_fwd_side_effects_in_bwd_under_checkpoint = allow_unspec_int_on_nn_module = specialize_int = False
inline_inbuilt_nn_modules = True
reorderable_logging_functions, ignore_logger_methods = set(), set()

patch = patcher(globals())
