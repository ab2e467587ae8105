"""The words of the rule language, each with the place where it begins."""

import re
from dataclasses import dataclass

from olbench.errors import UserError, shorten

#: Other ways to write a sign; rules copied from a paper or a PDF have them.
SPELLINGS = {
    "≤": "<=", "≥": ">=", "==": "=", "⇒": "=>", "→": "=>", "∧": "and", "&": "and", "&&": "and",
    "∨": "or", "|": "or", "||": "or", "¬": "not", "!": "not", "≠": "!=", "<>": "!=", "−": "-", "–": "-",
    "·": "*", "×": "*",
}  # fmt: skip
#: Words with a meaning of their own; a feature of such a name is written in quotes.
KEYWORDS = frozenset((
    "and", "or", "not", "at", "least", "most", "exactly", "of", "present", "absent", "is", "are", "if", "all",
    "any", "none",
))  # fmt: skip
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[^\W\d]\w*(?:\.\w+)*)
      | (?P<quoted>"[^"]*"|`[^`]*`|'[^']*')
      | (?P<sign><=|>=|=>|==|!=|<>|=<|->|&&|\|\||[<>=≤≥≠⇒→∧∨¬!&|+\-−–*/·×^(),:;%])
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class RuleText:
    text: str
    place: str
    column: int | None = None

    def fail(self, position: int, reason: str) -> UserError:
        reason = shorten(" ".join(reason.split()), 400)
        if self.column is None:
            return UserError(f"{self.place}: {reason} (in '{shorten(' '.join(self.text.split()), 200)}')")
        return UserError(f"{self.place}:{self.column + position}: {reason}")


def split(source: RuleText) -> list[Token]:
    """Return the tokens of a rule up to its arrow, closed by one of kind "end"; a class may have any name."""
    tokens: list[Token] = []
    position = 0
    text = source.text.rstrip()
    while position < len(text) and not (tokens and (tokens[-1].kind, tokens[-1].text) == ("sign", "=>")):
        match = _TOKEN.match(text, position)
        if match is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise source.fail(start, f"'{text[start]}' has no meaning in a rule")
        tokens.append(_token(match))
        position = match.end()
    return [*tokens, Token("end", "", position, position)]


def _token(match: re.Match[str]) -> Token:
    kind = str(match.lastgroup)
    text, span = match[kind], match.span(kind)
    if kind == "quoted":
        return Token("name", text[1:-1], *span)
    if kind == "name" and text.lower() in KEYWORDS:
        return Token("keyword", text.lower(), *span)
    text = SPELLINGS.get(text, text)
    return Token("keyword" if text in KEYWORDS else kind, text, *span)
