"""Rows of a table by their numbers."""
from mindtorch import empty
from mindtorch.nn import functional as F
from mindtorch.nn import init
from mindtorch.nn.modules.module import Module
from mindtorch.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """The weight (num_embeddings, embedding_dim), given or drawn, with a row that stays zero where it is drawn."""

    _padding_name = "padding_idx"

    def _set_table(self, num_embeddings, embedding_dim, padding_idx, weight, factory, requires_grad=True):
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(f"{self._padding_name} must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        if weight is None:
            self.weight = Parameter(empty((num_embeddings, embedding_dim), **factory), requires_grad=requires_grad)
            self.reset_parameters()
            return
        if list(weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(weight, requires_grad=requires_grad)

    def reset_parameters(self):
        """Standard normal numbers; zeros at `padding_idx`."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.detach()[self.padding_idx].fill_(0)

    def _described(self, *usual):
        """The sizes, then those attributes whose values are not the usual ones."""
        told = [f"{name}={getattr(self, name)!r}" for name, value in usual if getattr(self, name) != value]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *told])


class Embedding(_Table):
    """The rows that the input names; row `padding_idx` gets no gradient."""

    __constants__ = ["num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq",
                     "sparse"]
    _padding_name = "Padding_idx"

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._set_table(num_embeddings, embedding_dim, padding_idx, _weight, {"device": device, "dtype": dtype},
                        not _freeze)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)

    def extra_repr(self):
        return self._described(("padding_idx", None), ("max_norm", None), ("norm_type", 2),
                               ("scale_grad_by_freq", False), ("sparse", False))

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0,
                        scale_grad_by_freq=False, sparse=False):
        """A layer with this table, which is not trained unless `freeze` is False."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows that each bag names."""

    __constants__ = ["num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
                     "include_last_offset", "padding_idx"]

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 mode="mean", sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None,
                 dtype=None):
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._set_table(num_embeddings, embedding_dim, padding_idx, _weight, {"device": device, "dtype": dtype})

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                               self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self):
        return self._described(("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False), ("mode", None),
                               ("padding_idx", None))

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                        mode="mean", sparse=False, include_last_offset=False, padding_idx=None):
        """A layer with this table, which is not trained unless `freeze` is False."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
                   include_last_offset, padding_idx)
        made.weight.requires_grad = not freeze
        return made
