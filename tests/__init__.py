"""The tests, in one folder per package."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
