"""Trainers next to each other: `python -m bench training`."""
