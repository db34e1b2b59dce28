"""Speed and quality, as ratios in one run."""
