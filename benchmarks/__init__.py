"""The offline benchmark: `python -m benchmarks --data DIR`. See README.md for what it measured."""
