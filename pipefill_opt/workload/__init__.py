"""WHAT IT COSTS: durations, communication and memory of a main job, read from MAIN files."""
