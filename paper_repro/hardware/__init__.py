"""The model against real devices. Results stand in `results/`, each with device, driver, date and the commands that made it."""
