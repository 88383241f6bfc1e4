"""Writes vectors.json.gz: what numpy and Python's random draw, for the tests.

Run with any Python 3.9+ and numpy 1.17+ (made with Python 3.11.7, numpy 1.26.4):
    python make_vectors.py
"""
import gzip
import json
import pathlib
import random

import numpy as np

SEEDS = [0, 1, 42, 123456789, 2**32 - 1]
WIDE_SEEDS = SEEDS + [2**32, 2**40 + 12345, 2**63 + 1]
RANGES = [(0, 1), (0, 2), (1, 1025), (512, 1537), (-7, 8), (0, 128256), (0, 2**31), (0, 2**32 - 1),
          (0, 2**32), (0, 2**32 + 5), (-(2**40), 2**40), (0, 2**62 + 3), (-(2**63), 2**63 - 1)]
SHAPES = [0.1, 0.25, 0.3, 0.5, 0.999, 1.0, 1.001, 1.7, 2.0, 3.0, 5.0, 10.0, 250.0]


def weights(n):
    w = 1.0 / np.arange(1, n + 1) ** 1.5
    return (w / w.sum()).tolist()


def legacy(seed):
    out = {"seed": seed}
    out["uniform"] = np.random.RandomState(seed).random_sample(1300).tolist()
    out["exponential"] = np.random.RandomState(seed).exponential(0.125, 200).tolist()
    out["normal"] = np.random.RandomState(seed).standard_normal(201).tolist()
    r = np.random.RandomState(seed)
    out["gamma"] = [{"shape": s, "values": [r.gamma(shape=s, scale=1 / (3 * s)) for _ in range(60)]} for s in SHAPES]
    r = np.random.RandomState(seed)
    out["integers"] = [{"low": a, "high": b, "values": r.randint(a, b, size=25, dtype=np.int64).tolist()} for a, b in RANGES]
    out["after_integers"] = r.random_sample()
    out["permutations"] = []
    r = np.random.RandomState(seed)
    for n in (0, 1, 2, 10, 1000):
        out["permutations"].append({"n": n, "values": r.permutation(n).tolist()})
    x = list(range(50))
    r.shuffle(x)
    out["shuffled_50"] = x
    out["weights"] = weights(9)
    r = np.random.RandomState(seed)
    out["weighted"] = [int(r.choice(9, p=out["weights"])) for _ in range(100)]
    return out


def generator(seed):
    out = {"seed": seed}
    g = np.random.default_rng(seed)
    out["raw"] = [str(int(v)) for v in g.bit_generator.random_raw(40)]
    out["uniform"] = np.random.default_rng(seed).random(100).tolist()
    g = np.random.default_rng(seed)
    out["integers"] = [{"low": a, "high": b, "values": g.integers(a, b, size=25).tolist()} for a, b in RANGES]
    out["after_integers"] = g.random()
    out["weights"] = weights(17)
    out["weighted"] = np.random.default_rng(seed).choice(17, size=200, replace=True, p=out["weights"]).tolist()
    return out


def python(seed):
    out = {"seed": seed}
    r = random.Random(seed)
    out["uniform"] = [r.random() for _ in range(700)]
    r = random.Random(seed)
    out["bits"] = [{"k": k, "values": [str(r.getrandbits(k)) for _ in range(5)]} for k in (1, 7, 31, 32, 33, 53, 63, 64)]
    r = random.Random(seed)
    out["integers"] = [{"low": a, "high": b, "values": [r.randint(a, b) for _ in range(20)]}
                       for a, b in ((0, 0), (1, 6), (-5, 5), (0, 2**20), (0, 2**40), (1, 2**62))]
    r = random.Random(seed)
    out["choices"] = [{"n": n, "values": r.choices(range(n), k=40)} for n in (1, 3, 100, 128256)]
    out["choice"] = [{"n": n, "values": [r.choice(range(n)) for _ in range(20)]} for n in (1, 3, 100, 128256)]
    out["shuffles"] = []
    for n in (0, 1, 2, 10, 500):
        x = list(range(n))
        r.shuffle(x)
        out["shuffles"].append({"n": n, "values": x})
    out["samples"] = [{"n": n, "k": k, "values": r.sample(range(n), k)}
                      for n, k in ((1, 1), (21, 5), (22, 5), (40, 6), (85, 10), (86, 21), (100, 100), (5000, 30), (100000, 200))]
    return out


def main():
    data = {
        "python": "3.11.7", "numpy": np.__version__,
        "legacy": [legacy(s) for s in SEEDS],
        "generator": [generator(s) for s in WIDE_SEEDS],
        "random": [python(s) for s in WIDE_SEEDS],
    }
    text = json.dumps(data, separators=(",", ":")).encode()
    path = pathlib.Path(__file__).with_name("vectors.json.gz")
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(text)
    print(path.name, len(text), "bytes,", path.stat().st_size, "compressed")


main()
