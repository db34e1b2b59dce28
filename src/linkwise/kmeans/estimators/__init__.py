"""The public k-means estimators and the bases they share."""
