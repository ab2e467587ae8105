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
