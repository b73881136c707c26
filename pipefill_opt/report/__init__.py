"""Tables and pictures of timelines and plans."""
