"""Traces: timelines and plans for Perfetto."""
