"""WHICH ORDER: actions and their grammar, `Schedule`, one module per family, torch CSV."""
