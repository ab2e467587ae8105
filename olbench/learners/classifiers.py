"""The bases of the scikit-learn estimators, and the decorator that makes an estimator of an algorithm."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import make_algorithm
from olbench.algorithms.definition import KERNEL, KERNELS
from olbench.errors import UserError
from olbench.learners.classes import predict_classes
from olbench.learners.examples import Floats, Ints, as_examples
from olbench.learners.start import start, start_classes

Estimator = TypeVar("Estimator", bound=type)
# Replaces a variance that is zero, or negative by rounding.
TINY = np.finfo(np.float64).tiny
#: Scores above this are scaled down before they become probabilities: their squares must be numbers.
LARGE_SCORE = 1e100


def _has_probabilities(model: Any) -> bool:
    if model.multiclass == "native":
        raise AttributeError("multiclass='native' has no probabilities; use multiclass='one-vs-rest'")
    return True


def _each(name: str, doc: str) -> Any:
    def read(model: Any) -> Ints:
        check_is_fitted(model, "learners_")
        return np.array([getattr(learner, name) for learner in model.learners_])

    return property(read, doc=doc)


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The base of all estimators: binary, or one-vs-rest or native for more than two classes.

    Parameters
    ----------
    epochs : int, default=1
        Number of passes over the data in `fit`.
    shuffle : bool, default=True
        Whether each pass uses a new random order.
    random_state : int, RandomState instance or None, default=None
        Seed of these orders.
    fit_intercept : bool, default=False
        Whether to learn a bias, as the weight of an additional feature that is always one.
    multiclass : {'one-vs-rest', 'native'}, default='one-vs-rest'
        More than two classes: one learner per class, or one learner of all classes, where an algorithm has
        it. Two classes have one binary learner either way.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        Number of features seen in the first fit.
    learners_ : list of Learner
        The online learners themselves.
    """

    algorithm_id: ClassVar[str]

    epochs: int = 1
    shuffle: bool = True
    random_state: Any = None
    fit_intercept: bool = False
    multiclass: str = "one-vs-rest"

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit from scratch in `epochs` passes."""
        if not isinstance(self.epochs, int | np.integer) or self.epochs < 1:
            raise UserError(f"epochs must be a whole number above zero, not {self.epochs!r}")
        X, y = self._validate_examples(X, y, reset=True)
        self._start(np.unique(y))
        random = check_random_state(self.random_state)
        rows = np.arange(X.shape[0])
        orders = [random.permutation(rows) if self.shuffle else rows for _ in range(self.epochs)]
        return self._learn(X, y, np.concatenate(orders))

    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn these examples in the given order; the first call must name all classes."""
        first = not hasattr(self, "learners_")
        X, y = self._validate_examples(X, y, reset=first)
        if first and classes is None:
            raise UserError(
                "the first call of partial_fit must name all classes: partial_fit(X, y, classes=...)"
            )
        all_classes = self.classes_ if classes is None else np.unique(np.asarray(classes))
        if not first and not np.array_equal(self.classes_, all_classes):
            raise UserError(f"classes={classes!r} differ from those of the first call of partial_fit")
        unknown = np.setdiff1d(y, all_classes)
        if unknown.size:
            raise UserError(
                f"label {unknown.tolist()[0]!r} is not among the classes of the first call of partial_fit"
            )
        if first:
            self._start(all_classes)
        return self._learn(X, y, np.arange(X.shape[0]))

    def margins(self, X: Any) -> Floats:
        """Return the scores, one column per learner, or class of a native one, on a common scale.

        They are X @ coef_.T + intercept_, except for a kernel and for SOP with a diagonal covariance.
        """
        return self._margins(self._validate_rows(X))

    def _margins(self, X: Any) -> Floats:
        rows, order = as_examples(X).rows(), np.arange(X.shape[0])
        if self._native:
            return np.asarray(self.learners_[0].class_scores(rows, order))
        scores = [np.ldexp(learner.scores(rows, order), shift) for learner, shift in self._pairs()]
        return np.column_stack(scores)

    def decision_function(self, X: Any) -> Floats:
        """Return the margins: one per row for two classes, otherwise one per row and class."""
        margins = self.margins(X)
        return margins[:, 0] if self._binary else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each row; a margin of zero counts as positive.

        With several classes, the class with the highest margin, as in a pass; of equals, the first.
        """
        X = self._validate_rows(X)
        rows, order, learner = as_examples(X).rows(), np.arange(X.shape[0]), self.learners_[0]
        if self._binary:
            chosen = (learner.predict(rows, order) > 0.0).astype(int)
        elif self._native:
            chosen = learner.predict(rows, order).astype(int)
        else:
            chosen = predict_classes(self.learners_, rows, order)
        return np.asarray(self.classes_[chosen])

    @property
    def coef_(self) -> Floats:
        """The weights of each learner."""
        return np.array([weights[: self.n_features_in_] for weights in self._weights()])

    @property
    def intercept_(self) -> Floats:
        """The bias of each learner; zero unless fit_intercept."""
        return np.array([weights[self.n_features_in_ :].sum() for weights in self._weights()])

    mistakes_ = _each("mistakes", "Mistakes of each learner, counted before each example was learnt.")
    updates_ = _each("updates", "Rounds of each learner with a loss above zero.")
    breakdowns_ = _each(
        "breakdowns", "Numerical breakdowns of each learner: if any, rescale the data or change the form."
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _binary(self) -> bool:
        return len(self.classes_) == 2

    @property
    def _native(self) -> bool:
        return bool(self.learners_[0].classes > 1)

    def _settings(self) -> dict[str, Any]:
        other = OnlineClassifier.__dataclass_fields__.keys() - {"multiclass"}
        params = self.get_params().items()
        return {name: value for name, value in params if name not in other and value is not None}

    def _validate_examples(self, X: Any, y: ArrayLike, reset: bool) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=reset)
        check_classification_targets(y)
        return self._add_bias(X), np.asarray(y)

    def _validate_rows(self, X: Any) -> Any:
        check_is_fitted(self, "learners_")
        return self._add_bias(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))

    def _add_bias(self, X: Any) -> Any:
        if not self.fit_intercept:
            return X
        ones = np.ones((X.shape[0], 1))
        return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])

    def _start(self, classes: NDArray[Any]) -> None:
        if classes.size < 2:
            raise UserError(
                f"a classifier needs at least two classes, but y holds 1 class: {classes.tolist()[0]!r}"
            )
        self.classes_ = classes
        algorithm = make_algorithm(self.algorithm_id, **self._settings())
        count = 1 if self._binary else classes.size
        d = self.n_features_in_ + bool(self.fit_intercept)
        if not self._binary and algorithm.multiclass == "native":
            self.learners_: list[Any] = [start_classes(algorithm, d, count)]
        else:
            self.learners_ = [start(algorithm, d) for _ in range(count)]

    def _learn(self, X: Any, y: NDArray[Any], order: Ints) -> Self:
        rows = as_examples(X).rows()
        if self._native:
            self.learners_[0].run(rows, np.searchsorted(self.classes_, y).astype(np.float64), order)
            return self
        positives = self.classes_[1:] if self._binary else self.classes_
        for learner, positive in zip(self.learners_, positives, strict=True):
            learner.run(rows, np.where(y == positive, 1.0, -1.0), order)
        return self

    def _pairs(self) -> list[tuple[Any, int]]:
        """Return each learner with the exponent that brings it to the scale of the one rescaled least."""
        least = min(learner.scale_exponent for learner in self.learners_)
        return [(learner, least - learner.scale_exponent) for learner in self.learners_]

    def _weights(self) -> list[Floats]:
        check_is_fitted(self, "learners_")
        if getattr(self, "kernel", None) not in (None, "linear"):
            raise AttributeError(f"a {type(self).__name__} with this kernel has no weights")
        if self._native:
            return list(self.learners_[0].weights)
        return [np.ldexp(learner.weights, shift) for learner, shift in self._pairs()]


@dataclass(eq=False, repr=False, kw_only=True)
class SecondOrderClassifier(OnlineClassifier):
    """The base of second-order estimators: a Gaussian over weights gives each margin a variance.

    `predict_proba` is the probability under that Gaussian. It is not calibrated: wrap the estimator in
    scikit-learn's `CalibratedClassifierCV` where probabilities are used as such.

    Parameters
    ----------
    covariance : {'full', 'diag', 'block', 'shared'} or None, default=None
        A d x d covariance, or one variance per feature. With multiclass='native', also one d x d covariance
        per class ('block') or for all classes ('shared'). None for 'full' or, natively, 'block'.
    projection : {'kl', 'l2', 'exact'}, default='kl'
        How an update is projected onto a diagonal covariance; only CW and CWVar have 'exact'.
    form : {'covariance', 'root'} or None, default=None
        How a full covariance is stored; None for the default of the algorithm.
    a : float, default=1.0
        Initial variance of every weight.
    forgetting : float, default=1.0
        Below 1, every variance grows by its inverse between examples, up to `a`: for streams that drift.
    kernel : {'linear', 'rbf', 'poly'} or None, default=None
        Learn in the feature space of a kernel; None for the features themselves. It suits data of a few
        thousand rows: time grows with the square of the support.
    gamma : float, default=1.0
        gamma in exp(-gamma ||x - z||^2) and (gamma x.z + coef0)^degree.
    degree : int, default=3
        Degree of the kernel 'poly'.
    coef0 : float, default=0.0
        coef0 of the kernel 'poly'.
    """

    covariance: str | None = None
    projection: str = "kl"
    form: str | None = None
    a: float = 1.0
    forgetting: float = 1.0
    kernel: str | None = None
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def _settings(self) -> dict[str, Any]:
        unused = set(KERNEL).difference(KERNELS.get(self.kernel or "", ()))
        return {name: value for name, value in super()._settings().items() if name not in unused}

    def margin_variance(self, X: Any) -> Floats:
        """Return x' Sigma x: one per row for two classes, otherwise one per row and class."""
        X = self._validate_rows(X)
        if self._native:
            return np.asarray(self.learners_[0].class_variances(X))
        variances = np.column_stack(
            [np.ldexp(learner.margin_variance(X), 2 * shift) for learner, shift in self._pairs()]
        )
        return variances[:, 0] if self._binary else variances

    def decision_function(self, X: Any) -> Floats:
        """Return m / sqrt(v), the margin by its standard deviation, for two classes; for more, the margins.

        For two classes the score has the sign of m and ranks examples as predict_proba does. A row of zeros
        has a score of zero. `margins` returns m itself.
        """
        check_is_fitted(self, "learners_")
        return self._confidences(X)[:, 0] if self._binary else super().decision_function(X)

    def _confidences(self, X: Any) -> Floats:
        """Return m / sqrt(v), one column per learner; v is the mean of all, so that only m ranks classes."""
        X = self._validate_rows(X)
        variances = [np.ldexp(learner.margin_variance(X), 2 * shift) for learner, shift in self._pairs()]
        deviations = np.sqrt(np.maximum(np.mean(variances, axis=0), TINY))
        return np.asarray(self._margins(X) / deviations[:, None])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class under the Gaussian over weights, which is not calibrated.

        It says how sure the weights are of the sign of the margin, not how often that sign is right.
        scikit-learn's CalibratedClassifierCV turns it into a probability that can be used as such. For two
        classes it is Phi(m / sqrt(v)). For more, the classes' learners are assumed to be independent
        and exactly one of them to be right, which gives each class the weight Phi / (1 - Phi). v is
        then the mean over the classes, so that `predict` is the most probable class. With
        multiclass="native" there are no probabilities.
        """
        check_is_fitted(self, "learners_")
        scores = self._confidences(X)
        if self._binary:
            scores = scores[:, 0]
            return np.column_stack([ndtr(-scores), ndtr(scores)])
        # log Phi grows with the square of a score. Scores this large differ by far more than 1 or not at all,
        # so scaling a row down does not change its probabilities.
        size = np.maximum(np.abs(scores).max(axis=1, keepdims=True), LARGE_SCORE)
        scores = scores * (LARGE_SCORE / size)
        return np.asarray(softmax(log_ndtr(scores) - log_ndtr(-scores), axis=1))


@dataclass(eq=False, repr=False, kw_only=True)
class EllipsoidClassifier(OnlineClassifier):
    """The base of second-order estimators whose matrix is not a covariance: they have no probabilities."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The weights depend mostly on the last mistake, so the score of a single pass is often poor.
        tags.classifier_tags.poor_score = True
        return tags


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(id: str) -> Callable[[Estimator], Estimator]:
    """Make a class the estimator of an algorithm: its fields are the parameters, described as there."""

    def decorate(cls: Estimator) -> Estimator:
        lines = []
        for each in get_definition(id).parameters:
            words, default = ", ".join(map(repr, each.choices)), getattr(cls, each.name)
            kind = f"{{{words}}}" if words else f"float in {each.interval}"
            note = f"; None for {each.default}" if default is None else ""
            note = f"; instead of {each.instead_of}" if each.instead_of else note
            lines += [f"{each.name} : {kind}, default={default!r}", f"    {each.doc}{note}"]
        heading = ["", "Parameters", "----------"] if lines else []
        cls.__doc__ = "\n".join([cls.__doc__ or get_definition(id).title, *heading, *lines])
        cls.algorithm_id = id  # type: ignore[attr-defined]
        dataclass(eq=False, repr=False, kw_only=True)(cls)
        return cls

    return decorate
