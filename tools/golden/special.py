"""Writes test/golden/special.json: values of the special functions, computed with mpmath to 60 digits.

Run with a Python that has mpmath:  python tools/golden/special.py test/golden/special.json
"""
import json
import sys

import mpmath as mp

mp.mp.dps = 60

ONE = [-20.25, -6.5, -3.75, -2.5, -1.25, -0.5, -0.125, 0.0625, 0.5, 0.9375, 1, 1.25, 1.5, 2, 3.25, 5.5, 8.5, 26, 300.5]
INSIDE = [-0.9990234375, -0.9375, -0.5, -0.0625, 0, 0.25, 0.5625, 0.875, 0.99609375]
PROBABILITIES = [2.0**-100, 2.0**-30, 0.0078125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.96875, 1 - 2.0**-20]
PAIRS = [[0.25, 0.5], [0.5, 4], [1, 1], [2.5, 0.125], [5, 5.5], [10, 3], [10, 25], [100, 90], [100, 110], [1000, 1010]]
ZETA = [[1.125, 0.5], [1.5, 3], [2, 1], [2, 0.25], [3, 7.5], [4, 100], [12, 1.5], [20.5, 0.75], [2, -1.5], [3, -0.25]]
POLYGAMMA = [[0, 2.5], [0, -0.5], [1, 0.5], [1, 10], [2, 1.25], [3, 0.125], [4, 30], [9, 2]]

FUNCTIONS = {
    "erf": (mp.erf, [[x] for x in ONE]),
    "erfc": (mp.erfc, [[x] for x in ONE if x < 20]),
    "erfinv": (mp.erfinv, [[x] for x in INSIDE]),
    "ndtri": (lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), [[p] for p in PROBABILITIES]),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), [[x] for x in ONE]),
    "digamma": (mp.digamma, [[x] for x in ONE]),
    "igamma": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), PAIRS),
    "igammac": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), PAIRS),
    "zeta": (mp.zeta, ZETA),
    "polygamma": (lambda n, x: mp.polygamma(int(n), x), POLYGAMMA),
}

if __name__ == "__main__":
    lines = []
    for name, (function, arguments) in FUNCTIONS.items():
        cases = [[*a, float(mp.re(function(*map(mp.mpf, a))))] for a in arguments]
        lines.append(f'"{name}": {json.dumps(cases)}')
    with open(sys.argv[1], "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
