"""What the papers write for each part of an algorithm, to show beside two values that differ."""

from olbench.algorithms.definition import Definition

_DEVIATION = (
    "beta = alpha phi / (sqrt(u) + v alpha phi), sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v)) / 2"
)
_ALPHA = "(-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 zeta)) / (v zeta)"
_ROMMA = "w = ((s q - m) w + q (y - f) x) / (s q - f^2), q = ||w||^2; w = y x if w = 0"
#: By id: when it updates, its step and its covariance; m = y mu.x, v = x' Sigma x, s = ||x||^2, f = mu.x.
FORMULAS: dict[str, tuple[str, str, str]] = {
    "perceptron": ("y w.x <= 0 (sign(0) = +1)", "tau = 1", ""),
    "margin-perceptron": ("m <= margin", "tau = 1", ""),
    "pa": ("l = 1 - m > 0", "tau = l / s", ""),
    "pa1": ("l = 1 - m > 0", "tau = min(C, l / s)", ""),
    "pa2": ("l = 1 - m > 0", "tau = l / (s + 1/(2C))", ""),
    "romma": ("a mistake", _ROMMA, ""),
    "aromma": ("1 - m > 0", _ROMMA, ""),
    "alma": (
        "m / ||x|| <= (1 - alpha) sqrt(8) / (alpha sqrt(k))",
        "w += C y x / (sqrt(k) ||x||), then w /= max(1, ||w||)",
        "",
    ),
    "ogd": ("a loss", "tau = -C / sqrt(t) times the slope of the loss", ""),
    "sgd": ("every round", "w = (1 - eta lam) w - eta times the slope of the loss", ""),
    "sop": ("a mistake of w' S x, S = (Sigma^-1 + x x')^-1", "w += y x", "Sigma = S, on a mistake"),
    "sop-libol": ("a mistake of w' S x, S = (Sigma^-1 + x x')^-1", "w += y x", "Sigma = S, in every round"),
    "iellip": (
        "a mistake",
        "mu += ((1 - m) / sqrt(v)) Sigma g, g = y x / sqrt(v)",
        "Sigma = (Sigma - c_t Sigma g g' Sigma) / (1 - c_t), c_t = c b^(t - 1)",
    ),
    "cw": ("phi sqrt(v) - m > 0", f"alpha = max(0, {_ALPHA})", _DEVIATION),
    "cw-var": (
        "phi v - m > 0",
        "alpha = max(0, (-(1 + 2 phi m) + sqrt((1 + 2 phi m)^2 - 8 phi (m - phi v))) / (4 phi v))",
        "beta = 2 alpha phi / (1 + 2 alpha phi v)",
    ),
    "arow": ("l = 1 - m > 0", "alpha = l / (v + r)", "beta = 1 / (v + r)"),
    "nherd": ("l = 1 - m > 0", "alpha = l / (v + 1/C)", "beta = (v + 2/C) / (v + 1/C)^2"),
    "narow": (
        "l = 1 - m > 0",
        "alpha = l beta",
        "beta = 1 / (v + r), r = v / (b v - 1) if v > 1/b, else no change",
    ),
    "narow2010": ("1 - m > 0", "theta += y x, mu = Sigma theta", "as NAROW"),
    "scw1": ("phi sqrt(v) - m > 0", f"alpha = min(C, max(0, {_ALPHA}))", _DEVIATION),
    "scw2": (
        "phi sqrt(v) - m > 0",
        "alpha = max(0, (-(2 m n + phi^2 m v) + gamma) / (2 (n^2 + n v phi^2))), n = v + 1/(2C), "
        "gamma = phi sqrt(phi^2 m^2 v^2 + 4 n v (n + v phi^2))",
        _DEVIATION,
    ),
}


def find_formula(definition: Definition, place: str) -> str:
    """Return what the paper writes at a place: trigger, step or covariance; else all that is known."""
    known = FORMULAS.get(definition.id.removeprefix("averaged-"))
    if known is None:
        return definition.doc.strip().partition("\n")[0]
    trigger, step, covariance = known
    wanted = {"trigger": [f"update if {trigger}"], "step": [step], "covariance": [covariance]}
    parts = wanted.get(place) or [step, covariance]
    return "; ".join(part for part in parts if part)
