"""Tests of pipefill_opt.workload.flags."""
