"""Writes test/golden/front/seq2seq.json with numpy: attention weights, monotonic attention, backtracked beams, beam search.

Run: python tools/golden/seq2seq.py
TensorFlow 2 has no tf.contrib.seq2seq, so this follows the definitions of the papers (Bahdanau, Luong, Raffel) step by step.
"""
import itertools
import json
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
random = np.random.RandomState(7)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention():
    batch, time, depth, units, width = 2, 4, 3, 5, 2
    memory = random.randn(batch, time, depth)
    query, luong_query = random.randn(batch, width), random.randn(batch, units)
    memory_kernel, query_kernel = random.randn(depth, units), random.randn(width, units)
    v, g, b = random.randn(units), 0.7, random.randn(units)
    lengths = [4, 2]
    masked = memory * (np.arange(time)[None, :, None] < np.array(lengths)[:, None, None])
    keys = masked @ memory_kernel

    def weights(score):
        return softmax(np.where(np.arange(time)[None] < np.array(lengths)[:, None], score, -np.inf))

    processed = (query @ query_kernel)[:, None]
    unit = g * v / np.sqrt((v * v).sum())
    return dict(
        memory=memory, query=query, luongQuery=luong_query, memoryKernel=memory_kernel, queryKernel=query_kernel, v=v, g=g, b=b,
        lengths=lengths,
        bahdanau=weights((v * np.tanh(keys + processed)).sum(-1)),
        bahdanauNormalized=weights((unit * np.tanh(keys + processed + b)).sum(-1)),
        luong=weights(np.einsum("btu,bu->bt", keys, luong_query)),
        luongScaled=weights(g * np.einsum("btu,bu->bt", keys, luong_query)),
    )


def monotonic():
    p = random.uniform(size=(2, 5))
    before = softmax(random.randn(2, 5))
    after = np.zeros_like(p)
    for row in range(2):
        for j in range(5):
            # Having stopped at k last time, the look passes k to j - 1 and stops at j.
            after[row, j] = p[row, j] * sum(before[row, k] * np.prod(1 - p[row, k:j]) for k in range(j + 1))
    return dict(p=p, before=before, after=after)


def tree():
    steps, batch, beams, end = 4, 2, 3, 9
    ids = random.randint(0, 8, (steps, batch, beams))
    ids[1, 0, 1] = end
    parents = random.randint(0, beams, (steps, batch, beams))
    lengths = [4, 3]
    found = np.full_like(ids, end)
    for row in range(batch):
        for beam in range(beams):
            at = beam
            for t in reversed(range(lengths[row])):
                found[t, row, beam] = ids[t, row, at]
                at = parents[t, row, at]
            ended = False
            for t in range(steps):
                ended = ended or found[t, row, beam] == end
                if ended:
                    found[t, row, beam] = end
    return dict(ids=ids, parents=parents, lengths=lengths, end=end, beams=found)


def search():
    """A chain of symbols whose every transition has a score: the best of all sequences, by trying all of them."""
    symbols, steps, end, start = 4, 3, 3, 0
    scores = random.randn(symbols, symbols) * 2
    log_p = np.log(softmax(scores))
    best = []
    for sequence in itertools.product(range(symbols), repeat=steps):
        total, at, over, shown = 0.0, start, False, []
        for symbol in sequence:
            if over and symbol != end:
                break
            if not over:
                total += log_p[at, symbol]
            over = over or symbol == end
            at = symbol
            shown.append(symbol)
        else:
            best.append((total, shown))
    best.sort(key=lambda pair: -pair[0])
    return dict(scores=scores, start=start, end=end, steps=steps, best=[b for _, b in best[:4]], totals=[t for t, _ in best[:4]])


def plain(value):
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return np.round(value, 9).tolist() if value.dtype.kind == "f" else value.tolist()
    return float(value) if isinstance(value, np.floating) else value


if __name__ == "__main__":
    record = dict(attention=attention(), monotonic=monotonic(), tree=tree(), search=search())
    with open(os.path.join(HERE, "..", "..", "test", "golden", "front", "seq2seq.json"), "w") as file:
        json.dump(plain(record), file, indent=None)
        file.write("\n")
