"""Run the campaign: see `tests.reference.campaign`."""

import sys

# First of all: it names a folder for compiled code that no other version of the kernels has used.
import tests.conftest  # noqa: F401
from tests.reference.campaign import main

sys.exit(main())
