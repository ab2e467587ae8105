"""Run the campaign: see `benchmarks.reference.campaign`."""

import sys

# First of all: it names a folder for compiled code that no other version of the kernels has used.
import tests.conftest  # noqa: F401
from benchmarks.reference.campaign import main

sys.exit(main())
