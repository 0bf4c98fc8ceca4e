"""Between the records that people keep and the vectors that find them again."""
