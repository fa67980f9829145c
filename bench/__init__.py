"""Speed, as ratios in one run. `python -m bench --help`."""
