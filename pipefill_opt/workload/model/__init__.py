"""From a network on given hardware to costs: layers, memory, split; see docs/models.md."""
