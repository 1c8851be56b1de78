"""Short-time Fourier transforms, over torch.fft. Device-neutral."""
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.tensor import views as _views
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._core.tensor.factories import arange as _arange
from mindtorch._core.tensor.factories import ones as _ones
from mindtorch._ops.composite.common import _require_tensors


def _window(name, window, win_length, n_fft, like):
    """The window, or ones, with zeros on both sides up to n_fft elements."""
    if window is not None and list(window.shape) != [win_length]:
        raise RuntimeError(f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got "
                           f"window with size {list(window.shape)}")
    dtype = like.real.dtype if like.is_complex() else like.dtype
    window = _ones(win_length, dtype=dtype, device=like.device) if window is None else window
    left = (n_fft - win_length) // 2
    return _OPS["constant_pad_nd"](window, [left, n_fft - win_length - left]) if win_length < n_fft else window


def _lengths(name, described, n_fft, hop_length, win_length):
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if hop_length <= 0:
        raise RuntimeError(f"{name}({described}): expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{name}({described}): expected 0 < win_length <= n_fft, but got win_length={win_length}")
    return hop_length, win_length


@with_autocast_policy("stft")
def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    """The spectra of windows of (B, T) or (T): (B, frequencies, windows). `center` pads both ends by n_fft // 2."""
    from mindtorch import fft
    from mindtorch.nn.functional import pad
    _require_tensors("stft", input=input)
    with_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not with_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further "
                               "require that return_complex=True in a future PyTorch release.")
        return_complex = True
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if input.dim() not in (1, 2) or not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"stft({input.dtype}{list(input.shape)}): expected a 1D or 2D tensor of floating or complex "
                           "values")
    lines = input if input.dim() == 2 else input.unsqueeze(0)
    if center:
        lines = pad(lines.unsqueeze(1), [n_fft // 2] * 2, pad_mode).squeeze(1)
    described = f"{input.dtype}{list(input.shape)}, n_fft={n_fft}"
    if not 0 < n_fft <= lines.shape[1]:
        raise RuntimeError(f"stft({described}): expected 0 < n_fft <= {lines.shape[1]}, but got n_fft={n_fft}")
    hop_length, win_length = _lengths("stft", described, n_fft, hop_length, win_length)
    if align_to_window:
        lines = lines[:, (n_fft - win_length) // 2:]
    windows = lines.unfold(1, n_fft, hop_length)
    if not lines.stride(1):         # of an expanded tensor the gradient is that of its memory, as in torch
        windows = lines.as_strided(windows.shape, windows.stride())
    frames = windows * _window("stft", window, win_length, n_fft, lines)
    onesided = not with_complex if onesided is None else onesided
    if onesided and with_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    transform = fft.rfft if onesided else fft.fft
    result = transform(frames, norm="ortho" if normalized else "backward").transpose(1, 2)
    result = drop_base(result if input.dim() == 2 else result.squeeze(0))
    return result if return_complex else _views.FUNCTIONS["view_as_real"](result)


def _summed(frames, hop_length):
    """(B, windows, n) added up where the windows overlap."""
    batch, count, size = frames.shape
    positions = _arange(count, device=frames.device).unsqueeze(1) * hop_length + _arange(size, device=frames.device)
    line = frames.new_zeros((batch, (count - 1) * hop_length + size))
    return line.index_add(1, positions.reshape(-1), frames.reshape(batch, -1))


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False):
    """The signal whose `stft` comes closest to `input`: (B, frequencies, windows) or without the batch."""
    from mindtorch import fft
    _require_tensors("istft", input=input)
    described = f"{input.dtype}{list(input.shape)}, n_fft={n_fft}"
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with "
                           "return_complex=True.")
    parts = input.dim() + 1                         # torch looks at dimensions of the real and imaginary parts first
    if parts < 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-parts}, {parts - 1}], but got "
                         f"{-parts - 1})")
    if input.numel() == 0 or input.dim() not in (2, 3):
        raise RuntimeError(f"istft({described}): expected a non-empty tensor with 2 or 3 dimensions")
    spectra = (input if input.dim() == 3 else input.unsqueeze(0)).transpose(1, 2)
    onesided = spectra.shape[2] != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if spectra.shape[2] != expected:
        raise RuntimeError(f"istft({described}): expected the frequency dimension (3rd to the last) of the input "
                           f"tensor to match {'n_fft / 2 + 1' if onesided else 'n_fft'} when "
                           f"onesided={bool(onesided)}, but got {spectra.shape[2]}")
    hop_length, win_length = _lengths("istft", described, n_fft, hop_length, win_length)
    if return_complex and onesided:
        raise RuntimeError("cannot have onesided output if window or input is complex")
    window = _window("istft", window, win_length, n_fft, spectra)
    norm = "ortho" if normalized else "backward"
    # One half of a real signal's spectrum determines the other.
    frames = fft.ifft(spectra, norm=norm) if return_complex else fft.irfft(
        spectra[..., :n_fft // 2 + 1], n_fft, norm=norm)
    line = _summed(frames * window, hop_length)
    weight = _summed((window * window).expand(1, spectra.shape[1], n_fft), hop_length)
    start = n_fft // 2 if center else 0
    stop = line.shape[1] - start if length is None else min(start + length, line.shape[1])
    line, weight = line[:, start:stop], weight[:, start:stop]
    if bool((weight.abs().amin() < 1e-11).item()):
        raise RuntimeError("istft: the window's overlap is 0 somewhere: the signal cannot be told there")
    line = line / weight
    if length is not None and line.shape[1] < length:
        line = _OPS["constant_pad_nd"](line, [0, length - line.shape[1]])
    return line if input.dim() == 3 else line.squeeze(0)


FUNCTIONS = {"stft": stft, "istft": istft}
METHODS = {"stft": stft, "istft": istft}
