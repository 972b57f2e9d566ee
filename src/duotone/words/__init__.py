"""Sentences, made of values and codes: nothing below reads them, and nothing above parses them."""
