"""What `_core` calls in the packages above it. Each of them enters its own when it is imported.

load_backend(name), current_stream(index), default_stream(index), set_stream(stream): mindtorch._backend.
install_function_overrides(), resolve_name(function): mindtorch._tensor. Function: mindtorch.autograd.function.
"""
load_backend = current_stream = default_stream = set_stream = None
install_function_overrides = resolve_name = Function = None
