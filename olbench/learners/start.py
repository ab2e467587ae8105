"""Starting learners: which class holds the state of an algorithm, and how many bytes that takes."""

from olbench.algorithms.algorithm import Algorithm
from olbench.errors import UserError
from olbench.learners.contestants import BatchLearner, ObjectLearner
from olbench.learners.learners import (
    AveragedLearner,
    BaselineLearner,
    CovarianceLearner,
    DiagonalLearner,
    DualLearner,
    ExactLearner,
    FirstOrderLearner,
    LabelledDiagonal,
    LabelledRoot,
    Learner,
    ProductLearner,
    RootLearner,
)


def start(algorithm: Algorithm, d: int) -> Learner:
    """Return a learner for d features that has seen no example yet."""
    definition = algorithm.definition
    if not definition.online:
        raise UserError(
            f"{algorithm.id} learns from all examples at once and has no online pass; run it in a "
            "cross-validation, beside the online learners"
        )
    if definition.only_native:
        raise UserError(f"{algorithm.id} learns several classes: it needs labels='all'")
    if definition.order == "object":
        return ObjectLearner(algorithm, d)
    if definition.order == "advice":
        from olbench.papers.adviceptron2010.learner import AdviceLearner

        return AdviceLearner(algorithm, d)
    if definition.order == "baseline":
        return BaselineLearner(algorithm, d)
    if definition.order == "first":
        return AveragedLearner(algorithm, d) if definition.averaged else FirstOrderLearner(algorithm, d)
    if algorithm.kernel is not None:
        return DualLearner(algorithm, d, algorithm.kernel)
    if definition.sees_label:
        return (
            LabelledDiagonal(algorithm, d) if algorithm.covariance == "diag" else LabelledRoot(algorithm, d)
        )
    if algorithm.covariance == "diag" and definition.product:
        return ProductLearner(algorithm, d)
    if algorithm.covariance == "diag":
        return (
            ExactLearner(algorithm, d) if algorithm.projection == "exact" else DiagonalLearner(algorithm, d)
        )
    return RootLearner(algorithm, d) if algorithm.form == "root" else CovarianceLearner(algorithm, d)


def start_batch(algorithm: Algorithm) -> BatchLearner:
    return BatchLearner(algorithm)
