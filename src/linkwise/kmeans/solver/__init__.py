"""The one loop behind every k-means method, and the pieces a preset chooses."""
