"""Online passes, once or epoch after epoch: the documented place of what `olbench.learn.passes` has."""

from olbench.learn.passes import (
    Curve,
    PassResult,
    StoppedError,
    online_pass,
    predict_signs,
    train,
    windowed_pass,
)

__all__ = ["Curve", "PassResult", "StoppedError", "online_pass", "predict_signs", "train", "windowed_pass"]
