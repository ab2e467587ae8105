"""Measurements that are not tests: speed, harness, latency, stream. `make bench` runs the first."""
