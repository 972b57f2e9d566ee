"""Sentences, by code and audience. `sentences` formats one, with options as each audience writes them, and says how
sure an answer is; `codes` has the templates, `budgets` puts costs and budgets into words."""
