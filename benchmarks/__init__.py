"""Measurements that are not tests: speed, harness, latency, stream. `make bench` runs the first.

The one-off studies that pages of papers cite are here too: calibrate, readings, reversal, shards, zero_rows.
"""
