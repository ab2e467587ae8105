"""What the documents show is what happens."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_tour_of_the_readme_prints_what_it_says():
    text = (ROOT / "README.md").read_text()
    tour, estimators = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    printed = io.StringIO()
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(printed):
        exec(tour, names)
    shown = "".join(f"    {line}\n" for line in printed.getvalue().splitlines())
    assert shown in text
    exec(estimators, names)


def test_every_page_that_is_linked_exists():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_tables_of_the_reproduction_are_those_of_the_record_that_ships():
    from olbench.report import markdown, verdicts
    from olbench.report.build import make_report
    from olbench.report.sections.verdicts import glance, verdict_map

    report = make_report(ROOT / "results/scw/reference")
    readme, page = (ROOT / name for name in ("README.md", "docs/REPRODUCTION.md"))
    rates = markdown.render([glance(report)]).strip()
    assert rates in readme.read_text(encoding="utf-8")
    assert rates in page.read_text(encoding="utf-8")
    assert markdown.render([verdict_map(report)]).strip() in page.read_text(encoding="utf-8")
    for quantity in report.judged:
        summary = verdicts.summary(report.judgements, quantity)
        assert summary in " ".join(readme.read_text(encoding="utf-8").split())


def test_the_verdicts_of_the_record_that_ships_are_those_expected():
    from olbench.report.build import make_report
    from olbench.report.verdicts import compare_expected, read_expected

    report = make_report(ROOT / "results/scw/reference")
    expected = read_expected(ROOT / "results/scw/expected.yaml")
    assert len(expected) == 144 + len(report.claims)
    assert compare_expected(expected, report.judgements, report.claims) == []
