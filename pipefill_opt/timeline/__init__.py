"""WHEN: the DAG, exact times, memory step functions, bubbles with kind, cause and slack."""
