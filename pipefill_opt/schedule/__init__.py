"""WHICH ORDER: what every device does, one action after the other, before any duration is known.

- `actions`: kinds, `Action`, `Pair` and their text, which is torch's: `3F7`, `3F7.2`, `(0F3;3B1)OVERLAP_F_B`.
- `schedule`: `Schedule` = pipes, placement and rows as arrays; `same_order` compares two.
- `families`: `build_family("1f1b", 4, 8)` and `FAMILIES`; one module a family, a rule for all sizes in its domain.
- `torch_csv`: `read_torch_csv` and `write_torch_csv`, the orders of torch.distributed.pipelining.
- `validate`: each action exactly once, on the device that holds its stage (`census` counts).
- `precedence`: who waits for whom, and the cycle of a deadlock (`deadlock`).
"""
