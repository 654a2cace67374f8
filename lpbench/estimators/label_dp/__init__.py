"""Label-DP family: cube votes, cube means and nearest neighbours under label DP, with full-DP and non-private peers."""
