"""Profile a torch module as a fill job: cut it into operators, measure them, write the `jobs:` entry of an INSTANCE."""
