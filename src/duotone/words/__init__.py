"""Sentences, by code and audience: `sentences` says one, with options as each audience writes them, and how sure an answer is;
`refusals` and `notes` are what there is to say, `budgets` what costs and budgets are in words."""
