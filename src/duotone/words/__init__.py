"""Sentences, by code and by audience: `sentences` says one, `refusals` and `notes` are what there is to say, `options` how each
audience writes an option; `budgets` what costs and budgets are in words."""
