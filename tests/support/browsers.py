"""A real browser, Debian's Chromium, for a test: it waits as long as a busy machine needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from needed import need
from patience import PATIENCE
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
MILLISECONDS = 1000 * PATIENCE


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; without it the test is skipped, or fails where CI is set."""
    need(None if CHROMIUM.exists() else str(CHROMIUM))
    expect.set_options(timeout=MILLISECONDS)
    with sync_playwright() as playwright:
        options = {"executable_path": str(CHROMIUM), "args": ["--no-sandbox"], "timeout": MILLISECONDS}
        browser = playwright.chromium.launch(**options)  # type: ignore[arg-type]
        yield browser
        browser.close()


def new_page(browser: Browser, width: int = 1280) -> Page:
    """A page of this width."""
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.set_default_timeout(MILLISECONDS)
    return page
