"""Speed: the kernels against honest peers, on the same data, one thread, in one run."""
