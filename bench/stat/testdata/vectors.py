"""Golden vectors of numpy for bench/stat.  python3 vectors.py > numpy.json

The samples are made by splitmix64, so that the Go test makes the same ones and
only results are stored. Floats are written by repr, which reads back exactly.
"""
import json
import sys

import numpy as np

PERCENTILES = [0, 1, 5, 10, 25, 33.3, 50, 66.6, 75, 90, 95, 99, 99.9, 100]
M = (1 << 64) - 1


def splitmix(seed):
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & M
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
        yield z ^ (z >> 31)


def samples(kind, n):
    g = splitmix(n)
    out = []
    for _ in range(n):
        u = next(g)
        if kind == "ns":  # nanoseconds of a step, as seconds
            out.append((4_000_000 + u % 300_000) / 1e9)
        elif kind == "unit":
            out.append((u >> 11) * 2.0**-53)
        elif kind == "wide":  # 600 orders of two, both signs
            out.append((-1.0 if u & 1 else 1.0) * ((u >> 11) | 1) * 2.0 ** (int((u >> 1) % 600) - 350))
        elif kind == "near":  # differ in the last bits only
            out.append(1.0 + (u % 7) * 2.0**-52)
        elif kind == "tied":
            out.append(float(u % 3) / 10)
        elif kind == "subnormal":
            out.append((u % 1000) * 5e-324)
    return out


def row(kind, n):
    a = np.array(samples(kind, n))
    return {
        "kind": kind, "n": n,
        "percentiles": [float(v) for v in np.percentile(a, PERCENTILES)],
        "median": float(np.median(a)), "mean": float(np.mean(a)),
        "std": float(np.std(a)), "sample_std": float(np.std(a, ddof=1)) if n > 1 else None,
        "sum": float(np.sum(a)),
    }


kinds = ["ns", "unit", "wide", "near", "tied", "subnormal"]
rows = [row(k, n) for k in kinds for n in range(1, 51)]
rows += [row(k, n) for k in ("ns", "wide") for n in (127, 128, 129, 136, 255, 256, 257, 1000, 8191, 8192, 8193, 20011)]
json.dump({"numpy": np.__version__, "percentile": PERCENTILES, "rows": rows}, sys.stdout, indent=0)
