"""What is kept while agents work: experiences and memories."""
