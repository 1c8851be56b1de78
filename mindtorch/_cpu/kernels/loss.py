"""CPU kernels of losses and embeddings, on arrays in the compute dtype; classes and indices come as they are."""
import numpy as np

from mindtorch._cpu.kernels.basic import sigmoid


def reduced(losses, reduction):
    """The losses as `reduction` says: all (0), their mean (1) or their sum (2)."""
    if reduction not in (1, 2):
        return losses
    total = np.sum(losses)
    return total if reduction == 2 else np.divide(total, losses.size)


def shared(grad, slopes, reduction):
    """The gradient of each loss; that of a mean is divided by their number."""
    return grad / slopes.size * slopes if reduction == 1 else grad * slopes


def smooth_l1(difference, beta):
    distance = np.abs(difference)
    return np.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)


def smooth_l1_derivative(difference, beta):
    return np.where(np.abs(difference) < beta, difference / beta, np.sign(difference))


def soft_margin(margin):
    if np.iscomplexobj(margin):
        return np.log1p(np.exp(-margin))
    return np.logaddexp(0, -margin)


def _weighted(values, weight):
    return values if weight is None else values * weight


def binary_cross_entropy(chances, target, weight):
    for name, values in (("input", chances), ("target", target)):
        if not ((values >= 0) & (values <= 1)).all():
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    losses = (target - 1) * np.maximum(np.log1p(-chances), -100) - target * np.maximum(np.log(chances), -100)
    return _weighted(losses, weight)


def binary_cross_entropy_derivative(chances, target, weight):
    return _weighted((chances - target) / np.maximum((1 - chances) * chances, 1e-12), weight)


def _positive_weight(target, pos_weight):
    return 1 if pos_weight is None else (pos_weight - 1) * target + 1


def logits_cross_entropy(scores, target, weight, pos_weight):
    # The scores are real, though they come in the dtype of the target.
    losses = (1 - target) * scores + _positive_weight(target, pos_weight) * np.logaddexp(0, -scores.real)
    return _weighted(losses, weight)


def logits_derivative(scores, target, weight, pos_weight):
    return _weighted(1 - target - _positive_weight(target, pos_weight) * sigmoid(-scores), weight)


def divergence(logs, target, log_target):
    if log_target:
        return np.exp(target) * (target - logs)
    return np.where(target == 0, 0, target * np.log(target)) - target * logs


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


def nll_loss2d(scores, target, weight, reduction, ignored):
    """nll_loss at each pixel of scores (N, C, H, W)."""
    rows = np.moveaxis(scores, 1, -1)
    losses, total = nll_loss(rows.reshape(-1, scores.shape[1]), target, weight, reduction, ignored)
    return (losses.reshape(target.shape) if reduction == 0 else losses), total


def nll_loss2d_backward(grad, scores, target, weight, reduction, ignored, total_weight):
    classes, weights = _sample_weights(np.moveaxis(scores, 1, -1), target, weight, ignored)
    factors = -weights / total_weight if reduction == 1 else -weights
    shape, slopes = (len(scores), 1, *scores.shape[2:]), np.zeros_like(scores)
    np.put_along_axis(slopes, classes.reshape(shape), (factors * np.reshape(grad, -1)).reshape(shape), 1)
    return slopes


def _labels(scores, target):
    """Scores as rows; per row the classes before the first -1, which of them there are, and whether a class is one."""
    rows = scores.reshape(-1, scores.shape[-1] if scores.ndim else 1)
    labels = target.reshape(rows.shape)
    if np.any((labels < -1) | (labels >= rows.shape[1])):
        raise RuntimeError("argument #2 'target' is out of range")
    named = np.cumsum(labels < 0, axis=1) == 0
    labels = np.where(named, labels, 0)
    chosen = np.zeros(rows.shape, bool)
    row, position = np.nonzero(named)
    chosen[row, labels[row, position]] = True
    return rows, labels, named, chosen


def _margins(rows, labels, named, chosen):
    """max(0, 1 - score of a label + score of a class that is none), 0 of NaN: (rows, labels, classes)."""
    margins = 1 - np.take_along_axis(rows, labels, 1)[:, :, None] + rows[:, None, :]
    return np.where(named[:, :, None] & ~chosen[:, None, :], np.fmax(margins, 0), 0)


def multilabel_margin_loss(scores, target, reduction):
    """The loss, and 1 for each class among the labels."""
    rows, labels, named, chosen = _labels(scores, target)
    losses = np.sum(_margins(rows, labels, named, chosen), axis=(1, 2)) / rows.shape[1]
    losses = losses if scores.ndim == 2 else losses.reshape(())
    return reduced(losses, reduction), chosen.reshape(target.shape)


def multilabel_margin_loss_backward(grad, scores, target, reduction, is_target):
    rows, labels, named, _ = _labels(scores, target)
    hits = _margins(rows, labels, named, is_target.reshape(rows.shape) != 0) > 0
    slopes = np.sum(hits, axis=1).astype(rows.dtype)
    row, position = np.nonzero(named)
    np.subtract.at(slopes, (row, labels[row, position]), np.sum(hits, axis=2)[row, position])
    count = slopes.size if reduction == 1 else rows.shape[1]
    return (np.reshape(grad, (-1, 1)) * slopes / count).reshape(scores.shape)


def _rows(indices, count):
    if np.any((indices < 0) | (indices >= count)):
        raise IndexError("index out of range in self")
    return indices.astype(np.int64)


def embedding(weight, indices):
    return weight[_rows(indices, weight.shape[0])]


def embedding_renorm(weight, indices, most, p):
    """The rows that are longer than `most` shortened to it, of those that `indices` names, which count from the end
    where they are below 0, as torch's CPU does."""
    rows = np.unique(indices)
    count = weight.shape[0]
    for row in rows[(rows < -count) | (rows >= count)][:1]:
        raise IndexError(f"select(): index {row} out of range for tensor of size {list(weight.shape)} at dimension 0")
    lines = weight[rows].astype(np.result_type(weight, np.float32))
    sizes = np.linalg.norm(lines, p, axis=1, keepdims=True)
    result = weight.copy()
    result[rows] = lines * np.where(sizes > most, most / (sizes + 1e-7), 1)
    return result


def embedding_backward(grad, indices, count, padding, by_frequency):
    rows = _rows(indices, count).reshape(-1)
    lines = grad.reshape(-1, grad.shape[-1])
    kept = rows != padding
    if by_frequency:
        lines = lines / np.bincount(rows, minlength=count)[rows][:, None]
    table = np.zeros((count, grad.shape[-1]), grad.dtype)
    np.add.at(table, rows[kept], lines[kept])
    return table


# --- CTC loss: sums over all paths of labels and blanks --------------------------------------------------------------

def _targets(targets, lengths):
    """The labels of each sample, from (N, S) or from one after the other."""
    rows = targets.astype(np.int64)
    ends = np.cumsum(lengths)
    return [rows[n, :length] if rows.ndim == 2 else rows[ends[n] - length:ends[n]] for n, length in enumerate(lengths)]


def _states(labels, blank):
    """Labels with blanks between and around them, and which may be reached past a blank."""
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skips = np.zeros(len(states), bool)
    skips[3::2] = labels[1:] != labels[:-1]
    return states, skips


def _shifted(scores, steps):
    """The scores of the states `steps` before; -inf where there are none."""
    return np.concatenate([np.full(min(steps, len(scores)), -np.inf), scores[:max(len(scores) - steps, 0)]])


def _forward(logs, states, skips):
    """log_alpha: the scores of all beginnings of paths, (time, states)."""
    scores = np.full((len(logs), len(states)), -np.inf)
    for t, row in enumerate(logs):
        if t == 0:
            scores[0, :2] = row[states[:2]]
            continue
        before = scores[t - 1]
        reached = np.logaddexp(before, _shifted(before, 1))
        reached = np.logaddexp(reached, np.where(skips, _shifted(before, 2), -np.inf))
        scores[t] = reached + row[states]
    return scores


def _loss(scores):
    if not len(scores):
        return 0.0 if scores.shape[1] == 1 else np.inf
    return -np.logaddexp.reduce(scores[-1, -2:])


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    """The loss of each sample, and log_alpha, -inf where a sample has no time or no state."""
    losses = np.zeros(log_probs.shape[1])
    alpha = np.full((log_probs.shape[1], log_probs.shape[0], 2 * max(target_lengths, default=0) + 1), -np.inf)
    for n, labels in enumerate(_targets(targets, target_lengths)):
        states, skips = _states(labels, blank)
        scores = _forward(log_probs[:input_lengths[n], n].astype(np.float64), states, skips)
        alpha[n, :len(scores), :len(states)] = scores
        losses[n] = _loss(scores)
    return np.where(np.isinf(losses), 0, losses) if zero_infinity else losses, alpha


def ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, losses, alpha, blank, zero_infinity):
    """The gradient in front of a log_softmax, which torch takes for granted: exp(log_probs) less the paths' share."""
    slopes = np.zeros(log_probs.shape)
    for n, labels in enumerate(_targets(targets, target_lengths)):
        states, skips = _states(labels, blank)
        logs = log_probs[:input_lengths[n], n].astype(np.float64)
        forward = _forward(logs, states, skips)
        loss = _loss(forward)
        if not len(logs) or (zero_infinity and np.isinf(loss)):
            continue
        backward = _forward(logs[::-1], states[::-1], np.roll(skips[::-1], 2))[::-1, ::-1]
        shares = np.full(logs.shape, -np.inf)
        for s, label in enumerate(states):
            shares[:, label] = np.logaddexp(shares[:, label], forward[:, s] + backward[:, s])
        slopes[:len(logs), n] = (np.exp(logs) - np.exp(shares + loss - logs)) * grad[n]
    return slopes
