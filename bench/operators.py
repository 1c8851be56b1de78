"""The statements of the Python rungs, the same for mindtorch and for torch."""

# `v` has four float32 values, `m` is their 2 x 2 form, `like` says on which device a new tensor lies.
STATEMENTS = {
    "a + b": "v + v",
    "a.relu()": "v.relu()",
    "a @ b": "m @ m",
    "a.sum()": "v.sum()",
    "a.to(float16)": "v.half()",
    "a[1]": "v[1]",
    "torch.empty(4)": "empty(4, **like)",
}
