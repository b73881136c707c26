"""Networks, costs and memory against published figures."""
