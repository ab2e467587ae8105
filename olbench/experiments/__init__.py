"""Protocols: a config in, trials out; a trial in, its outcome out."""
