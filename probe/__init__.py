"""The gate and the benchmarks."""
