"""Speed: the kernels against other implementations, on the same data and one thread, in one run."""
