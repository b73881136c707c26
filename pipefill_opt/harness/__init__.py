"""CHECKED ON A DEVICE: calibrate it, replay a main job with its fill plan on it, compare. See docs/harness.md."""
