"""Remove secrets from texts before they are stored or logged."""
