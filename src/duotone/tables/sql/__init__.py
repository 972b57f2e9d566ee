"""SQL: a yes/no question as text, read into a few kinds of comparisons, or refused with a sentence. Nothing is read yet."""
