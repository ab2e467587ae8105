"""Objects as notebooks show them."""

from collections.abc import Mapping
from html import escape


def facts_html(title: str, facts: Mapping[str, str]) -> str:
    """Return a title and a small table of facts as HTML.

    >>> facts_html("a < b", {"rows": "3"})
    '<p><b>a &lt; b</b></p><table><tr><th style="text-align: left">rows</th><td>3</td></tr></table>'
    """
    rows = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f"<p><b>{escape(title)}</b></p><table>{rows}</table>"
