"""Values: short principles, each judged against the cluster of experiences it claims to sum up."""
