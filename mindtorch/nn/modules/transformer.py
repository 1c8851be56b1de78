"""Transformers: attention and feed-forward layers, each with a sum around it and a norm."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mindtorch import full, get_default_dtype, triu
from mindtorch.nn import functional as F
from mindtorch.nn import init
from mindtorch.nn.modules.activation import MultiheadAttention
from mindtorch.nn.modules.container import ModuleList
from mindtorch.nn.modules.dropout import Dropout
from mindtorch.nn.modules.linear import Linear
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.normalization import LayerNorm

if TYPE_CHECKING:
    from mindtorch import Tensor, device, dtype
    from mindtorch.types import Device

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer"]


def _get_activation_fn(activation):
    """The function of this name, or what was given."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _get_clones(module, N):
    """N copies of a layer."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _generate_square_subsequent_mask(sz, device=None, dtype=None):
    """-inf above the diagonal, 0 elsewhere: each place sees those before it."""
    dtype = get_default_dtype() if dtype is None else dtype
    return triu(full((sz, sz), float("-inf"), dtype=dtype, device=device), 1)


def _get_seq_len(src, batch_first):
    """How many places a sequence (S, E), (N, S, E) or (S, N, E) has."""
    return src.size(1 if batch_first and src.dim() != 2 else 0)


def _detect_is_causal_mask(mask, is_causal=None, size=None):
    """Whether attention is causal: what `is_causal` says; None asks whether the mask is the causal one."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = _generate_square_subsequent_mask(mask.size(-2) if size is None else size, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


class _TransformerLayer(Module):
    """`x = norm(x + part(x))` for each part in turn; with `norm_first`, `x = x + part(norm(x))`."""

    __constants__ = ["norm_first"]

    def _add_feed_forward_(self, d_model, dim_feedforward, dropout, activation, norm_first, bias, factory):
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        self.activation = _get_activation_fn(activation)

    def _add_norms_(self, count, d_model, dropout, eps, bias, factory):
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=eps, bias=bias, **factory))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))

    def _residual_(self, x, norm, part, *args):
        return x + part(norm(x), *args) if self.norm_first else norm(x + part(x, *args))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        found = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal,
                               need_weights=False)[0]
        return self.dropout1(found)


class TransformerEncoderLayer(_TransformerLayer):
    """Attention of a sequence to itself, then two linear maps.

    Example:
        >>> nn.TransformerEncoderLayer(8, 2, 16)(torch.ones(3, 1, 8)).shape
        torch.Size([3, 1, 8])
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Tensor] = F.relu, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Device = None,
                 dtype: dtype | None = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first,
                                            **factory)
        self._add_feed_forward_(d_model, dim_feedforward, dropout, activation, norm_first, bias, factory)
        self._add_norms_(2, d_model, dropout, layer_norm_eps, bias, factory)

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        x = self._residual_(src, self.norm1, self._sa_block, src_mask, src_key_padding_mask, is_causal)
        return self._residual_(x, self.norm2, self._ff_block)

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(_TransformerLayer):
    """Attention of a sequence to itself and to the encoder's result, then two linear maps.

    Example:
        >>> nn.TransformerDecoderLayer(8, 2, 16)(torch.ones(3, 1, 8), torch.ones(5, 1, 8)).shape
        torch.Size([3, 1, 8])
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Tensor] = F.relu, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Device = None,
                 dtype: dtype | None = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn"):
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first,
                                                   **factory))
        self._add_feed_forward_(d_model, dim_feedforward, dropout, activation, norm_first, bias, factory)
        self._add_norms_(3, d_model, dropout, layer_norm_eps, bias, factory)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        x = self._residual_(tgt, self.norm1, self._sa_block, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        x = self._residual_(x, self.norm2, self._mha_block, memory, memory_mask, memory_key_padding_mask,
                            memory_is_causal)
        return self._residual_(x, self.norm3, self._ff_block)

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        found = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                                    is_causal=is_causal, need_weights=False)[0]
        return self.dropout2(found)

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class _Stack(Module):
    """Copies of one layer, and a norm behind the last."""

    __constants__ = ["norm"]

    def __init__(self, layer: Any, num_layers: int, norm: Any) -> None:
        super().__init__()
        self.layers = _get_clones(layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm


class TransformerEncoder(_Stack):
    """`num_layers` copies of `encoder_layer`.

    Arguments:
        encoder_layer: the layer
        enable_nested_tensor: changes nothing, there are no nested tensors here
        mask_check: changes nothing, likewise

    Example:
        >>> nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)(torch.ones(1, 3, 8)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = False
        self.mask_check = mask_check

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """`num_layers` copies of `decoder_layer`.

    Arguments:
        decoder_layer: the layer

    Example:
        >>> decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2)
        >>> decoder(torch.ones(3, 1, 8), torch.ones(5, 1, 8)).shape
        torch.Size([3, 1, 8])
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                        tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                        tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that attends to its result.

    Arguments:
        num_encoder_layers: the layers of the encoder
        num_decoder_layers: the layers of the decoder
        custom_encoder: a module in place of the encoder
        custom_decoder: a module in place of the decoder

    Example:
        >>> nn.Transformer(8, 2, 1, 1, 16)(torch.ones(5, 2, 8), torch.ones(3, 2, 8)).shape
        torch.Size([3, 2, 8])
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: str | Callable[[Tensor], Tensor] = F.relu, custom_encoder: Any | None = None,
                 custom_decoder: Any | None = None, layer_norm_eps: float = 1e-05, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Device = None,
                 dtype: dtype | None = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}

        def stack(kind, layer, count):
            one = layer(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
                        bias, **factory)
            return kind(one, count, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory))
        self.encoder = custom_encoder if custom_encoder is not None else stack(
            TransformerEncoder, TransformerEncoderLayer, num_encoder_layers)
        self.decoder = custom_decoder if custom_decoder is not None else stack(
            TransformerDecoder, TransformerDecoderLayer, num_decoder_layers)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
                memory_is_causal: bool = False) -> Tensor:
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                            tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: device | None = None, dtype: dtype | None = None) -> Tensor:
        """-inf above the diagonal, 0 elsewhere: each place sees those before it."""
        return _generate_square_subsequent_mask(sz, device, dtype)
