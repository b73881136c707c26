"""The objectives over time: makespan, weighted completion, on-time value. See docs/solvers.md."""
