"""WHAT MAY RUN THERE: `FillProblem`, `FillPlan`, `certify`. Imports no solver."""
