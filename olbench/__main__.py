"""python -m olbench: the same as the command."""

from olbench.cli import main

main()
