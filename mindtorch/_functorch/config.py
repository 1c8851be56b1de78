"""torch._functorch.config: settings of a compiler that is not there. They can be read and set, and change nothing."""
from mindtorch._compat.compiler_settings import patcher

cse = treat_parameters_as_free_to_save = static_weight_shapes = decompose_custom_triton_ops = True
visualize_memory_budget_pareto = False
functionalize_rng_ops = debug_assert = debug_partitioner = recompute_views = aggressive_recomputation = False
view_replay_for_aliased_outputs = donated_buffer = ban_recompute_used_far_apart = True
ban_recompute_long_fusible_chains = ban_recompute_materialized_backward = ban_recompute_not_in_allowlist = True
ban_recompute_reductions = check_custom_op_aliasing = fake_tensor_allow_meta = True
enable_autograd_cache = strict_autograd_cache = unlift_effect_tokens = bundled_autograd_cache = False
fake_tensor_allow_unsafe_data_ptr_access = True
fake_tensor_crossref = fake_tensor_propagate_real_tensors = generate_fake_kernels_from_real_mismatches = False
activation_memory_budget, activation_memory_budget_solver, max_dist_from_bw = 1.0, "dp", 1000
activation_memory_budget_runtime_estimator, memory_budget_pareto_dir = "flops", None

patch = patcher(globals())
