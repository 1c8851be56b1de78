"""Functions of higher packages that `_core` calls. Each package registers its own when it is imported.

load_backend(name), current_stream(index), default_stream(index), set_stream(stream): mindtorch._backend.
resolve_name(function), load_torch_dispatch(), describe(function, overloads): mindtorch._tensor.
Function: mindtorch.autograd.function.
tangent_of(tensor): mindtorch.autograd.forward_ad.
BatchedTensor, apply_function_to_batch(class, apply, args, kwargs), apply_composite_to_batch(function, each_sample,
args, kwargs): mindtorch.func, once vmap has been imported.
find_sparse_kernel(function or name of a method): mindtorch._sparse.
call_torch_dispatch(overload, args, kwargs), call_torch_dispatch_of_row(key, values, outs, inplace), and the functions
that take the place of rows, decompositions_for_dispatch: mindtorch._library.torch_dispatch.
check_norm_dtype(function, dtype of the operand, dtype to compute in): mindtorch._ops.composite.
expanded_writes, {key: function(name, the tensor without what is expanded, arguments...)}: mindtorch._ops.composite.
"""
load_backend = current_stream = default_stream = set_stream = None
resolve_name = find_sparse_kernel = tangent_of = Function = load_torch_dispatch = describe = None
call_torch_dispatch = call_torch_dispatch_of_row = apply_function_to_batch = apply_composite_to_batch = None
BatchedTensor = check_norm_dtype = None
decompositions_for_dispatch, expanded_writes = {}, {}
