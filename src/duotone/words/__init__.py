"""Sentences, by code and audience: `sentences` says one, with options as each audience writes them; `refusals` and `notes`
are what there is to say, `budgets` what costs and budgets are in words, `answers` how sure an answer is."""
