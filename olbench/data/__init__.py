"""Data sets: any LIBSVM file by its path, every benchmark of the papers by its name."""
