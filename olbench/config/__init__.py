"""Configs: YAML into typed structs (`specs`), what is wrong named with its line, and the JSON schema."""
