"""torch.hann_window and the like: the windows of torch.signal, periodic unless asked otherwise."""

from mindtorch._core.dtype import bfloat16, float16, float32, get_default_dtype


def _periodic(name, **fixed):
    def window(window_length, periodic=True, *args, dtype=None, layout=None, device=None, pin_memory=False,
               requires_grad=False, **options):
        from mindtorch.signal import windows
        if window_length < 0:
            raise RuntimeError(f"{window.__name__} requires non-negative window_length, got "
                               f"window_length={window_length}")
        values = dict(zip(fixed, args, strict=False))
        options = {name: options.get(name, values.get(name, default)) for name, default in fixed.items()}
        dtype = dtype or get_default_dtype()
        half = dtype in (float16, bfloat16)
        made = _MAKERS[name](windows, options, window_length, sym=not periodic, dtype=float32 if half else dtype,
                             layout=layout, device=device)
        made = made.to(dtype) if half else made
        made = made.pin_memory() if pin_memory else made
        return made.requires_grad_() if requires_grad else made
    window.__name__ = f"{name}_window"
    window.__doc__ = f"torch.signal.windows.{name}, periodic by default."
    return window


_MAKERS = {
    "hann": lambda windows, _, length, **options: windows.hann(length, **options),
    "bartlett": lambda windows, _, length, **options: windows.bartlett(length, **options),
    "blackman": lambda windows, _, length, **options: windows.blackman(length, **options),
    "hamming": lambda windows, given, length, **options: windows.general_cosine(
        length, a=[given["alpha"], given["beta"]], **options),
    "kaiser": lambda windows, given, length, **options: windows.kaiser(length, beta=given["beta"], **options),
}

FUNCTIONS = {"hann_window": _periodic("hann"), "bartlett_window": _periodic("bartlett"),
             "blackman_window": _periodic("blackman"), "hamming_window": _periodic("hamming", alpha=0.54, beta=0.46),
             "kaiser_window": _periodic("kaiser", beta=12.0)}
METHODS = {}
