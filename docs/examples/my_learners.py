"""Your own learners that are more than a rule: two functions over arrays that they declare."""

import math

from olbench import Parameter, add, compiled_learner, dot, project


@compiled_learner(
    "my-adagrad",
    title="My AdaGrad",
    source="Duchi, Hazan & Singer, JMLR 12 (2011)",
    arrays={"w": "d", "squares": "d"},
    parameters=(Parameter("rate", 0.1, "size of a step", grid=(0.01, 0.1, 1.0)),),
)
class MyAdaGrad:
    """Divide the step of each weight by the root of its summed squared gradients."""

    def score(arrays, columns, values, t, p):
        return dot(arrays.w, columns, values)

    def learn(arrays, columns, values, y, t, p):
        if y * dot(arrays.w, columns, values) >= 1.0:
            return 0
        for k in range(columns.size):
            j, gradient = columns[k], -y * values[k]
            arrays.squares[j] += gradient * gradient
            arrays.w[j] -= p[0] * gradient / math.sqrt(arrays.squares[j])
        return 2


@compiled_learner(
    "weighted-arow",
    title="AROW with class weights",
    source="docs/own-algorithm.md",
    arrays={"mu": "d", "sigma": ("d x d", 1.0), "z": "d"},
    parameters=(
        Parameter("r", 1.0, "regularisation, as in AROW", grid=(0.25, 1.0, 4.0)),
        Parameter("weight", 2.0, "of positive examples", grid=(1.0, 2.0, 4.0)),
    ),
)
class WeightedArow:
    """Multiply the loss of positive examples by `weight`."""

    def score(arrays, columns, values, t, p):
        return dot(arrays.mu, columns, values)

    def learn(arrays, columns, values, y, t, p):
        loss = 1.0 - y * dot(arrays.mu, columns, values)
        if loss <= 0.0:
            return 0
        mu, sigma, z = arrays.mu, arrays.sigma, arrays.z
        project(sigma, columns, values, z)
        beta = 1.0 / (dot(z, columns, values) + (p[0] / p[1] if y > 0.0 else p[0]))
        add(mu, columns, z, loss * beta * y)
        for i in range(z.size):
            z[i] *= math.sqrt(beta)
        for i in range(z.size):
            add(sigma[i], columns, z, -z[i])
        return 2 if columns.size else 1
