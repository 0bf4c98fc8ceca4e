"""Values: short principles, each judged against the cluster of experiences that it summarises."""
