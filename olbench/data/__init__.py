"""Data sets: any file of the user's by its path, every benchmark of the papers by its name.

In: a `DatasetSpec`, from a config, or a name, a path or a frame.
Out: examples X, y in {-1, +1} or numbers of classes, with a fingerprint.
"""
