"""Column generation: the whole problem at the scale of a cluster. A column is a device with given residents, sets of them are priced."""
