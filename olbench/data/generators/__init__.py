"""Data that is made instead of read from files: drawn at random, or bundled with a library."""
