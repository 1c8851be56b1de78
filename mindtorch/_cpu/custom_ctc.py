"""CPU references of the connectionist temporal classification loss: sums over all paths of labels and blanks."""
import numpy as np


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
