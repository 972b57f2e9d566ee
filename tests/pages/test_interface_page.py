"""The page for programs names every route that the service describes, and every field."""

from __future__ import annotations

import re
from pathlib import Path

from support.offices import make_office, serving


def test_every_route_and_field_is_on_the_page(tmp_path: Path) -> None:
    with serving(make_office(tmp_path)) as served, served.client("ana") as client, served.client(None) as stranger:
        page, described = client.get("/api"), client.get("/api/openapi.json").json()
        assert page.status_code == 200
        for path, methods in described["paths"].items():
            for method in methods:
                assert f"<code>{method.upper()} {path}</code>" in page.text
        for name in re.findall(r'href="#(\w+)"', page.text):
            assert f'id="{name}"' in page.text or name == "main"
        for field in described["components"]["schemas"]["Terms"]["properties"]:
            assert f"<code>{field}</code>" in page.text
        for shape in described["components"]["schemas"].values():  # each field says what it is for
            for name, field in shape.get("properties", {}).items():
                assert len(field.get("description", "")) > 10, name
        assert " or null" not in page.text
        assert stranger.get("/api", follow_redirects=False).status_code == 303
        assert stranger.get("/api/datasets").status_code == 401
