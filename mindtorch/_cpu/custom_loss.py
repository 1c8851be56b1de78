"""CPU references of losses and embeddings, on arrays in the compute dtype; classes and indices come as they are."""
import numpy as np


def _sample_weights(scores, target, weight, ignored):
    """Classes with 0 in place of the ignored ones, and the weight of each sample; IndexError for what is no class."""
    classes = np.reshape(target, -1).astype(np.int64)
    kept = classes != ignored
    if wrong := classes[kept & ((classes < 0) | (classes >= scores.shape[-1]))].tolist():
        raise IndexError(f"Target {wrong[0]} is out of bounds.")
    classes = np.where(kept, classes, 0)
    return classes, np.where(kept, 1 if weight is None else weight[classes], 0).astype(scores.dtype)


def nll_loss(scores, target, weight, reduction, ignored):
    """The loss, and the sum of the weights: 0 where there is no reduction of a batch."""
    classes, weights = _sample_weights(scores, target, weight, ignored)
    rows = scores.reshape(-1, scores.shape[-1])
    losses = np.where(weights != 0, -rows[np.arange(len(classes)), classes] * weights, 0)
    if reduction == 0:
        return (losses, 0) if scores.ndim == 2 else (losses[0], weights[0])
    total = np.sum(weights)
    return np.sum(losses) / total if reduction == 1 else np.sum(losses), total


def nll_loss_backward(grad, scores, target, weight, reduction, ignored, total_weight):
    classes, weights = _sample_weights(scores, target, weight, ignored)
    slopes = np.zeros_like(scores.reshape(-1, scores.shape[-1]))
    factors = -weights / total_weight if reduction == 1 else -weights
    slopes[np.arange(len(classes)), classes] = factors * np.reshape(grad, -1)
    return slopes.reshape(scores.shape)


def _rows(indices, count):
    if np.any((indices < 0) | (indices >= count)):
        raise IndexError("index out of range in self")
    return indices.astype(np.int64)


def embedding(weight, indices):
    return weight[_rows(indices, weight.shape[0])]


def embedding_backward(grad, indices, count, padding, by_frequency):
    rows = _rows(indices, count).reshape(-1)
    lines = grad.reshape(-1, grad.shape[-1])
    kept = rows != padding
    if by_frequency:
        lines = lines / np.bincount(rows, minlength=count)[rows][:, None]
    table = np.zeros((count, grad.shape[-1]), grad.dtype)
    np.add.at(table, rows[kept], lines[kept])
    return table
