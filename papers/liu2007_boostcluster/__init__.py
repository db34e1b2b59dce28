"""Liu, Jin & Jain (KDD 2007): BoostCluster."""
