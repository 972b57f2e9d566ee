"""The Model Context Protocol: the operations of an office as an assistant's tools.

`tools` are made from the list of operations, and served over standard input and output, or over HTTP within a service.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if find_spec("mcp") is None or find_spec("pydantic") is None:
    raise MissingExtra("the interface for assistants", "assistant")
