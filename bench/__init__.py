"""Benchmarks of the hub beside a bare httpx2 loop and a bare openai SDK loop, in one run."""
