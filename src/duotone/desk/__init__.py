"""The desk: what one can do at an office, declared once, whichever way people come.

Start with `operations`: the list of which HTTP, the Python client and an assistant's tools are made. `terms` are what these
take (`plain_words` say what is wrong with it), `callers` who calls, and why they are refused.
"""
