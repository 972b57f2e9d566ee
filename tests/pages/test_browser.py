"""The pages in a real browser, wide and at a phone's width: they work under the policy, and ask nobody else for anything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from support.offices import VOTES, Served, make_office, serving
from support.pages import chromium, new_page, page_app, served

CHECKER = Path(__file__).parents[2] / "tools" / "check_certificate.py"
WIDTHS = (1280, 390)
PEOPLE = """
[people.olga]
role = "owner"
[people.ana]
role = "analyst"
datasets = ["votes"]
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@contextmanager
def watched(browser: Browser, url: str, width: int) -> Iterator[Page]:
    """A page that may say nothing on its console, break nothing of the policy, ask no other host and not be too wide."""
    page = new_page(browser, width)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(url) else said.append(request.url))
    page.add_init_script("addEventListener('securitypolicyviolation', e => console.error('policy', e.violatedDirective))")
    yield page
    mistakes = ("status of 422", "status of 409")  # in a question, or over the budget: they are shown
    replaced = ("htmx:afterRequest", "htmx:sendAbort")  # a check that a newer one has replaced
    assert [one for one in said if not any(known in one for known in mistakes + replaced)] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_studio_is_drawn_by_hand(browser: Browser, width: int) -> None:
    with served(page_app(None)) as url, watched(browser, url, width) as page:
        page.goto(f"{url}/studio")
        said, drawing = page.locator("#said"), page.locator("#drawing")
        assert "wrong with probability 0.3 at most" in said.inner_text()
        assert page.locator("#edges").is_hidden()

        page.locator("input[data-for=delta]").fill("0.2")  # the range moves the number, and both the picture
        expect(said).to_contain_text("0.2667 at most")
        assert page.locator("#delta").input_value() == "0.2"

        page.get_by_role("button", name="Start afresh").click()
        expect(page.locator(".dataset")).to_have_count(0)
        for number, (x, y) in enumerate([(0.3, 0.3), (0.7, 0.3), (0.7, 0.7)], 1):
            box = drawing.bounding_box()
            assert box is not None
            drawing.click(position={"x": box["width"] * x, "y": box["height"] * y})
            expect(page.locator(".dataset")).to_have_count(number)
        for a, b in ("ab", "bc"):
            page.locator(f".dataset[data-name={a}] .shape").click()
            page.locator(f".dataset[data-name={b}] .shape").click()
            expect(page.locator(f".edge[data-a={a}][data-b={b}]")).to_have_count(1)
        assert page.locator("#edges").input_value() == "a, b\nb, c"
        assert page.locator("#blue").input_value() == "a"
        page.locator(".dataset[data-name=c] .shape").click()
        page.locator(".dataset[data-name=c] .shape").click()
        page.wait_for_selector(".dataset.yes[data-name=c]")

        page.get_by_role("radio", name="each dataset has its own").check()
        page.locator("#each").fill("a=0.99, c=0.1")  # a yes at a, and hardly ever at c, two steps away
        page.wait_for_selector("#said .clash")
        assert "c allows along c–b–a" in said.inner_text()
        assert page.locator(".dataset.path").count() == 3

        page.locator(".dataset[data-name=c] .shape").click()
        page.get_by_role("button", name="Remove the chosen one").click()
        expect(page.locator(".dataset")).to_have_count(2)
        with page.expect_download() as download:
            page.get_by_role("radio", name="equally often").check()
            page.get_by_role("button", name="Save as JSON").click()
        assert '"a": {"colour": "blue", "level": 0' in download.value.path().read_text()


def test_the_studio_by_keyboard_and_without_a_script(browser: Browser) -> None:
    with served(page_app(None)) as url:
        with watched(browser, url, 390) as page:
            page.goto(f"{url}/studio")
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.className") == "skip"
            page.get_by_text("The graph as text").focus()
            page.keyboard.press("Enter")
            page.locator("#edges").fill("x, y")
            page.locator("#blue").fill("y")
            page.wait_for_selector(".dataset.yes[data-name=y]")
        context = browser.new_context(java_script_enabled=False)
        plain = context.new_page()
        plain.goto(f"{url}/studio?example=path")
        plain.locator("#delta").fill("0")
        plain.get_by_role("button", name="Draw").click()
        assert "δ = 0 is wrong" in plain.locator("#said").inner_text()
        context.close()


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(make_office(tmp_path_factory.mktemp("office"), VOTES, people=PEOPLE)) as running:
        yield running


def log_in(page: Page, office: Served, person: str) -> None:
    page.goto(office.url)
    page.get_by_label("Your token").fill(office.token(person))
    page.keyboard.press("Enter")


@pytest.mark.parametrize(("width", "limit"), [(1280, 35), (390, 36)])
def test_a_question_from_the_menus_to_its_certificate(
    browser: Browser, office: Served, width: int, limit: int, tmp_path: Path
) -> None:
    with watched(browser, office.url, width) as page:
        log_in(page, office, "ana")  # whose only dataset is there at once
        check = page.locator("#check")
        expect(check).to_contain_text("Choose or write a question")
        page.get_by_label("Is it true that").select_option("avg:age")
        page.get_by_label("The limit").fill("many")
        expect(page.locator("#limit-wrong")).to_contain_text("the limit must be a number")
        page.get_by_label("The limit").fill(str(limit))
        expect(check).to_contain_text(f"avg(age) > {limit}")
        expect(check).to_contain_text("Each row is protected")
        expect(page.locator("#heard")).to_contain_text("Wrong with probability")
        page.get_by_label("the least with which an answer is wrong at most").check()
        expect(check).to_contain_text("ε 0.41")
        assert page.locator("#epsilon").is_hidden()
        page.get_by_label("this much of the budget").check()
        page.locator("#epsilon").select_option("1")
        expect(check).to_contain_text("such question")
        page.get_by_role("button", name="Try on made-up rows").click()
        expect(page.locator("#answer")).to_contain_text("Of made-up rows")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator(".verdict")).to_have_text("Yes")
        expect(check).to_contain_text("Free")
        with page.expect_download() as download:
            page.get_by_role("link", name="Certificate").click()
        certificate = tmp_path / "certificate.json"
        download.value.save_as(certificate)
        done = subprocess.run([sys.executable, str(CHECKER), str(certificate)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("width", WIDTHS)
def test_a_mistake_stands_beside_its_field_until_it_is_mended(browser: Browser, office: Served, width: int) -> None:
    """Several at once, which a reader of the screen hears of; mending one takes only that away, and no other entry."""
    with watched(browser, office.url, width) as page:
        log_in(page, office, "ana")
        limit, delta = page.get_by_label("The limit"), page.locator("#delta")
        page.get_by_label("Is it true that").select_option("avg:age")
        limit.fill("many")
        delta.fill("2")
        page.get_by_text("More", exact=True).click()
        page.locator("#people").fill("some")
        page.get_by_text("More", exact=True).click()
        expect(page.locator("#limit-wrong")).to_contain_text("the limit must be a number")
        expect(page.locator("#delta-wrong")).to_contain_text("at least 0 and below 1")
        expect(page.locator("#people-wrong")).to_be_visible()  # where it was closed
        for field in (limit, delta):
            expect(field).to_have_attribute("aria-invalid", "true")
        expect(limit).to_have_accessible_description("the limit must be a number, as 0.5, 50% or 1,000, got many.")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(limit).to_be_focused()
        page.keyboard.press("Control+A")
        page.keyboard.type("38")
        expect(page.locator("#limit-wrong")).to_be_hidden()
        expect(limit).not_to_have_attribute("aria-invalid", "true")
        expect(page.locator("#delta-wrong")).to_be_visible()
        expect(delta).to_have_value("2")
        delta.fill("0.0001%")
        page.locator("#people").fill("1,000")
        expect(page.locator("#check")).to_contain_text("of 1,000 people")
        expect(page.locator("#check")).to_contain_text("δ 1e-06")
        assert page.locator(".wrong:not(:empty), [aria-invalid]").count() == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_a_mistake_on_another_page_goes_when_it_is_mended(browser: Browser, office: Served, width: int) -> None:
    with watched(browser, office.url, width) as page:
        log_in(page, office, "ana")
        expect(page.locator("#asking")).to_be_visible()
        page.goto(f"{office.url}/budget/votes?epsilon=x&delta=1e-7")
        expect(page.locator("#such")).to_be_focused()
        expect(page.locator("#such")).to_have_accessible_description("the value of ε must be a number, as 0.5 or 1/3, got x.")
        expect(page.locator("#such-delta")).to_have_value("1e-7")
        page.locator("#such").fill("50%")
        expect(page.locator("#such-wrong")).to_be_hidden()
        assert page.locator("[aria-invalid]").count() == 0
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".facts")).to_contain_text("1 answer at ε 0.5, δ 1e-07")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_menus_speak_english_and_show_their_sql(browser: Browser, office: Served, width: int) -> None:
    with watched(browser, office.url, width) as page:
        log_in(page, office, "ana")
        what, sql = page.get_by_label("Is it true that"), page.locator("#check pre.sql")
        expect(what).to_be_visible()
        offered = what.locator("option").all_inner_texts()
        assert {"the number of different towns", "the most frequent town", "the average age"} <= set(offered)
        assert not {"the median town", "the total town", "the average vote"} & set(offered)
        what.select_option(label="the number of different towns")
        page.get_by_label("The limit").fill("1")
        expect(sql).to_have_text("count(distinct town) > 1")
        what.select_option(label="the most frequent town")
        expect(page.get_by_label("Compared how").locator("option:enabled")).to_have_text(["is", "is not"])
        page.get_by_label("The limit").fill("Ely")
        expect(sql).to_have_text("mode(town) = 'Ely'")
        what.select_option("share")
        page.get_by_label("The limit").fill("50%")
        page.get_by_label("counting those whose").select_option("vote")
        page.get_by_label("Condition", exact=True).select_option(label="is not")
        page.get_by_label("Value of the condition").fill("Y")
        page.get_by_label("for", exact=True).select_option(label="each town")
        expect(sql).to_have_text("select town, count(*) filter (where vote <> 'Y') / count(*) > 0.5 from votes group by town")
        page.get_by_label("Condition", exact=True).select_option(label="is missing")
        expect(page.get_by_label("Value of the condition")).to_be_hidden()


@pytest.mark.parametrize("width", WIDTHS)
def test_spending_more_on_an_answer(browser: Browser, tmp_path: Path, width: int) -> None:
    """One click, and the question stands there at twice the price, with what is left after it; or with all that is left."""
    with serving(make_office(tmp_path, VOTES, people=PEOPLE)) as office, watched(browser, office.url, width) as page:
        log_in(page, office, "ana")
        page.get_by_label("Is it true that").select_option("avg:age")
        page.get_by_label("The limit").fill("39.9")
        page.get_by_role("link", name="Spend more: ε 1").click()  # from a preview: nothing was paid yet
        expect(page.locator("#check")).to_contain_text("ε 1, δ 1e-06")
        expect(page.get_by_text("a higher price")).to_have_count(0)
        page.get_by_role("button", name="Ask", exact=True).click()
        more = page.get_by_role("link", name="Spend more on this")
        expect(more).to_have_count(0)  # ε 1 is left, and no more
        page.locator("#epsilon-other").fill("0.4")
        expect(page.locator("#check")).to_contain_text("ε 0.4")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(more).to_have_text("Spend more on this: ε 0.6")
        more.click()
        expect(page.get_by_text("It is a new charge")).to_be_visible()
        expect(page.get_by_label("The limit")).to_have_value("39.9")
        expect(page.locator("#check")).to_contain_text("Left then: ε 0")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator("#answer")).to_contain_text("Left: ε 0")
        assert len(office.desk.ledger.statement("votes").charges) == 3


@pytest.mark.parametrize("width", WIDTHS)
def test_who_approves_sees_what_who_asks_sees(browser: Browser, tmp_path: Path, width: int) -> None:
    with serving(make_office(tmp_path, VOTES + "approval = true\n", people=PEOPLE)) as office:
        with watched(browser, office.url, width) as page:
            log_in(page, office, "ana")
            page.get_by_label("Is it true that").select_option("avg:age")
            page.get_by_label("The limit").fill("38")
            page.get_by_text("More", exact=True).click()
            page.get_by_label("About how many people are there?").fill("1,000")
            expect(page.locator("#check")).to_contain_text("of 1,000 people")
            page.get_by_role("button", name="Ask for approval").click()
            purpose = page.get_by_label("Another person approves")
            expect(purpose).to_be_focused()
            expect(page.locator("#purpose-wrong")).to_contain_text("say what the answer is for")
            purpose.fill("a report")
            expect(page.locator("#purpose-wrong")).to_be_hidden()
            expect(page.locator("#check")).to_contain_text("Left then")
            seen = page.locator("#check").inner_text()
            page.get_by_role("button", name="Ask for approval").click()
            expect(page.locator("#answer")).to_contain_text("waits for another person")
        with watched(browser, office.url, width) as page:
            log_in(page, office, "olga")
            page.get_by_role("link", name="Requests").click()
            page.get_by_role("link", name="Look at it, and decide").click()
            said = page.locator(".side").inner_text()
            assert said in seen  # but for its SQL, and for the link to spend more
            for what in (
                "Left then: ε 1.5",
                "The answer will say yes or no",
                "Wrong with probability",
                "of 1,000 people",
                "age to [0, 100]",
            ):
                assert what in said
            page.get_by_role("button", name="Approve").click()
            expect(page.get_by_text("The request is approved.")).to_be_visible()


def tab_to(page: Page, element: str) -> None:
    """By the key alone, as many times as it takes."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", element):
            return
    raise AssertionError(f"no key leads to {element}")


def test_a_question_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    """From the door to the certificate; what is heard says the price before, and the answer after."""
    with serving(make_office(tmp_path, VOTES, people=PEOPLE)) as office, watched(browser, office.url, 1280) as page:
        page.goto(office.url)
        tab_to(page, "#token")
        page.keyboard.type(office.token("ana"))
        page.keyboard.press("Enter")
        expect(page.locator("#asking")).to_be_visible()
        tab_to(page, "#by-menus")
        page.keyboard.press("ArrowRight")
        tab_to(page, "#question")
        page.keyboard.type("avg(age) > 35")
        expect(page.get_by_role("status").first).to_contain_text("It costs ε 0.5")
        tab_to(page, "button[value=ask]")
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="The answer")).to_contain_text("Yes")
        tab_to(page, "#answer a[download]")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert '"certificate"' in download.value.path().read_text()


def test_what_is_entered_before_the_scripts_are_there_is_checked_too(browser: Browser, office: Served) -> None:
    with watched(browser, office.url, 390) as page:
        log_in(page, office, "ana")
        expect(page.locator("#check")).to_be_visible()
        held: list[Route] = []
        page.route("**/htmx.min.js", lambda route: held.append(route))
        page.reload(wait_until="commit")
        while not held:
            page.wait_for_timeout(10)
        page.get_by_label("The limit").fill("many")
        page.get_by_label("Is it true that").select_option("avg:age")
        assert "Choose or write a question" in page.locator("#check").inner_text()
        held.pop().continue_()
        expect(page.locator("#limit-wrong")).to_contain_text("the limit must be a number")


def test_no_table_hides_its_last_column_on_a_phone(browser: Browser, office: Served) -> None:
    with watched(browser, office.url, 390) as page:
        log_in(page, office, "ana")
        page.get_by_text("What is in it").click()
        for address in (None, f"{office.url}/api"):
            if address is not None:
                page.goto(address)
            wide = page.locator(".scroll").evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length")
            assert (page.locator(".stacked").count() > 0, wide) == (True, 0)


def test_what_the_browser_puts_back_is_checked_too(browser: Browser, office: Served) -> None:
    with watched(browser, office.url, 390) as page:
        log_in(page, office, "ana")
        page.get_by_label("in SQL").check()
        page.locator("#question").fill("count(*) > 7")
        expect(page.locator("#check")).to_contain_text("Each row is protected")
        page.get_by_role("link", name="Studio").click()
        expect(page.locator("#drawing")).to_be_visible()
        page.go_back()
        expect(page.locator("#question")).to_have_value("count(*) > 7")
        expect(page.locator("#question")).to_be_visible()
        expect(page.locator("#check")).to_contain_text("Each row is protected")


@pytest.mark.parametrize("width", WIDTHS)
def test_running_out_of_budget_and_the_owner(browser: Browser, tmp_path: Path, width: int) -> None:
    """Two answers take the whole budget; a third is refused, and another limit of what was counted is free."""
    with serving(make_office(tmp_path, VOTES, people=PEOPLE)) as office, watched(browser, office.url, width) as page:
        log_in(page, office, "ana")
        page.get_by_label("in SQL").check()
        page.locator("#epsilon").select_option("1")
        check, verdict = page.locator("#check"), page.locator(".verdict")
        for question, said, answer in (("count(*) > 7", "About 2", "Yes"), ("avg(age) > 90", "About 1", "No")):
            page.locator("#question").fill(question)
            expect(check).to_contain_text(said)
            page.get_by_role("button", name="Ask", exact=True).click()
            expect(verdict).to_have_text(answer)
            expect(check).to_contain_text("Free")
        page.locator("#question").fill("avg(age) > 8")
        expect(check).to_contain_text("is more than is left")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator("#answer")).to_contain_text("does not fit into the budget of votes")
        page.locator("#question").fill("count(*) > 8")
        expect(check).to_contain_text("Free")
        page.get_by_role("link", name="The budget").click()
        expect(page.locator(".count")).to_contain_text("No such question is left")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()
        log_in(page, office, "olga")
        page.get_by_label("its new label").fill("2")
        page.get_by_role("button", name="Relabel").click()
        expect(page.get_by_placeholder("now 2")).to_be_visible()
        page.get_by_role("link", name="Budget and history").click()
        page.get_by_role("button", name="Verify the ledger").click()
        expect(page.locator("#verdict")).to_contain_text("The ledger is as it was written")
