"""Open-water thrust and torque coefficients of the Wageningen B-series at a Reynolds number of 2 million.

Source: M. M. Bernitsas, D. Ray, P. Kinley, "K_T, K_Q and efficiency curves for the Wageningen B-series propellers",
University of Michigan report 237 (1981), which has the polynomials of Oosterveld and van Oossanen (1975). Two
independent transcriptions agree in all 39 and 47 terms; K_T of B4-70 at P/D 1.0 is held against published values.

J = U / (n D), K_T = T / (rho n^2 D^4), K_Q = Q / (rho n^2 D^5).
"""

from __future__ import annotations

# Coefficient and the exponents of J, P/D, A_E/A_0, Z.
_K_T = """
0.00880496 0 0 0 0   -0.204554 1 0 0 0      0.166351 0 1 0 0      0.158114 0 2 0 0      -0.147581 2 0 1 0
-0.481497 1 1 1 0    0.415437 0 2 1 0       0.0144043 0 0 0 1     -0.0530054 2 0 0 1    0.0143481 0 1 0 1
0.0606826 1 1 0 1    -0.0125894 0 0 1 1     0.0109689 1 0 1 1     -0.133698 0 3 0 0     0.00638407 0 6 0 0
-0.00132718 2 6 0 0  0.168496 3 0 1 0       -0.0507214 0 0 2 0    0.0854559 2 0 2 0     -0.0504475 3 0 2 0
0.010465 1 6 2 0     -0.00648272 2 6 2 0    -0.00841728 0 3 0 1   0.0168424 1 3 0 1     -0.00102296 3 3 0 1
-0.0317791 0 3 1 1   0.018604 1 0 2 1       -0.00410798 0 2 2 1   -0.000606848 0 0 0 2  -0.0049819 1 0 0 2
0.0025983 2 0 0 2    -0.000560528 3 0 0 2   -0.00163652 1 2 0 2   -0.000328787 1 6 0 2  0.000116502 2 6 0 2
0.000690904 0 0 1 2  0.00421749 0 3 1 2     0.0000565229 3 6 1 2  -0.00146564 0 3 2 2
"""
_K_Q = """
0.00379368 0 0 0 0   0.00886523 2 0 0 0     -0.032241 1 1 0 0     0.00344778 0 2 0 0    -0.0408811 0 1 1 0
-0.108009 1 1 1 0    -0.0885381 2 1 1 0     0.188561 0 2 1 0      -0.00370871 1 0 0 1   0.00513696 0 1 0 1
0.0209449 1 1 0 1    0.00474319 2 1 0 1     -0.00723408 2 0 1 1   0.00438388 1 1 1 1    -0.0269403 0 2 1 1
0.0558082 3 0 1 0    0.0161886 0 3 1 0      0.00318086 1 3 1 0    0.015896 0 0 2 0      0.0471729 1 0 2 0
0.0196283 3 0 2 0    -0.0502782 0 1 2 0     -0.030055 3 1 2 0     0.0417122 2 2 2 0     -0.0397722 0 3 2 0
-0.00350024 0 6 2 0  -0.0106854 3 0 0 1     0.00110903 3 3 0 1    -0.000313912 0 6 0 1  0.0035985 3 0 1 1
-0.00142121 0 6 1 1  -0.00383637 1 0 2 1    0.0126803 0 2 2 1     -0.00318278 2 3 2 1   0.00334268 0 6 2 1
-0.00183491 1 1 0 2  0.000112451 3 2 0 2    -0.0000297228 3 6 0 2 0.000269551 1 0 1 2   0.00083265 2 0 1 2
0.00155334 0 2 1 2   0.000302683 0 6 1 2    -0.0001843 0 0 2 2    -0.000425399 0 3 2 2  0.0000869243 3 3 2 2
-0.0004659 0 6 2 2   0.0000554194 1 6 2 2
"""

Term = tuple[float, int, int, int, int]


def _terms(text: str) -> list[Term]:
    words = text.split()
    return [(float(words[i]), *(int(word) for word in words[i + 1 : i + 5])) for i in range(0, len(words), 5)]  # type: ignore[misc]


def _sum(terms: list[Term], advance: float, pitch: float, area: float, blades: int) -> float:
    return sum(c * float(advance**s * pitch**t * area**u * blades**v) for c, s, t, u, v in terms)


def thrust(advance: float, pitch: float = 1.0, area: float = 0.70, blades: int = 4) -> float:
    """K_T at the advance ratio J, for pitch ratio P/D and expanded area ratio A_E/A_0.

    >>> [round(thrust(j), 3) for j in (0.2, 0.4, 0.6, 0.8)]
    [0.392, 0.314, 0.226, 0.13]
    """
    return _sum(_terms(_K_T), advance, pitch, area, blades)


def torque(advance: float, pitch: float = 1.0, area: float = 0.70, blades: int = 4) -> float:
    """K_Q, with the arguments of `thrust`."""
    return _sum(_terms(_K_Q), advance, pitch, area, blades)
