"""Label-DP family: cube votes, cube means and nearest neighbors under label DP, with full-DP and non-private peers."""
