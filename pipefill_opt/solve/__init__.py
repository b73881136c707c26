"""HOW TO CHOOSE: greedy, exact dynamic programs, CP-SAT, MILP, bounds, behind one `solve()`."""
