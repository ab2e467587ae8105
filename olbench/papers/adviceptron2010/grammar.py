"""The grammar of a rule: conditions => class.

    rule        = condition { "and" condition } "=>" [ "not" ] class
    condition   = [ quantity "of" ] features ( "present" | "absent" ) | sum comparison sum [ comparison sum ]
    quantity    = ( "at" ( "least" | "most" ) | "exactly" ) whole number
    features    = feature { "," feature }
    feature     = name | name number | name "(" range { "," range } ")"
    sum         = [ "-" ] product { ( "+" | "-" ) product }
    product     = factor { "*" factor }
    factor      = number | feature | "(" sum ")"

Names are looked up later, so that a rule can be read without the data.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from olbench.errors import UserError, count, shorten

SPELLINGS = {"≤": "<=", "≥": ">=", "⇒": "=>", "∧": "and", "¬": "not"}
#: A feature with the name of a keyword must be quoted.
KEYWORDS = frozenset(("and", "or", "not", "at", "least", "most", "exactly", "of", "present", "absent"))
#: Words and signs that no rule can have, each with the remedy.
REFUSED = {
    "or": "a rule cannot say 'or'; write two rules with the same class instead",
    "not": "a condition cannot be negated; turn the comparison (bmi <= 30 for not bmi >= 30) or write "
    "'absent' for 'not present'",
    "!=": "a rule cannot say '!=': the region is not convex; write one rule for below and one for above",
    "/": "a rule cannot divide; write 0.5*bmi for bmi/2, and add a ratio of features to the data",
    "^": "a power of a feature is not linear; add it to the data as another feature",
}
COMPARISONS = ("<=", ">=", "=", "<", ">")
#: Digits of the number of a feature: a longer range would only fill the memory.
MOST_DIGITS = 6
#: How deep parentheses may be nested.
DEEPEST = 50
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[^\W\d]\w*(?:\.\w+)*)
      | (?P<quoted>"[^"]*")
      | (?P<sign><=|>=|=>|!=|[<>=≤≥⇒∧¬+\-*/^(),])
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class RuleText:
    text: str
    place: str
    column: int | None = None
    reference: str = ""

    def fail(self, position: int, reason: str) -> UserError:
        reason = shorten(" ".join(reason.split()), 400)
        if self.column is None:
            return UserError(f"{self.place}: {reason} (in '{shorten(' '.join(self.text.split()), 200)}')")
        return UserError(f"{self.place}:{self.column + position}: {reason}")


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int


def split(source: RuleText) -> list[Token]:
    """Return the tokens of a rule up to its arrow, then one of kind "end"; a class may have any name."""
    tokens: list[Token] = []
    position, text = 0, source.text.rstrip()
    while position < len(text) and not (tokens and (tokens[-1].kind, tokens[-1].text) == ("sign", "=>")):
        match = _TOKEN.match(text, position)
        if match is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise source.fail(start, f"'{text[start]}' has no meaning in a rule")
        kind = str(match.lastgroup)
        word, (start, position) = SPELLINGS.get(match[kind], match[kind]), match.span(kind)
        if kind == "quoted":
            kind, word = "name", word[1:-1]
        elif word.lower() in KEYWORDS:
            kind, word = "keyword", word.lower()
        tokens.append(Token(kind, word, start))
    return [*tokens, Token("end", "", position)]


@dataclass(frozen=True)
class Feature:
    spellings: tuple[str, ...]
    start: int = field(compare=False)

    @property
    def name(self) -> str:
        return self.spellings[0]


#: The factors of features; that of None is the constant.
Sum = Mapping[Feature | None, float]


def _add(one: Sum, other: Sum, factor: float = 1.0) -> Sum:
    return {each: one.get(each, 0.0) + factor * other.get(each, 0.0) for each in {**one, **other}}


def _is_constant(one: Sum) -> bool:
    return not any(value for feature, value in one.items() if feature)


@dataclass(frozen=True)
class Inequality:
    """difference <= 0, or < 0; an equation is two of them."""

    difference: Sum
    strict: bool
    start: int


@dataclass(frozen=True)
class Condition:
    """Inequalities that hold together; `binary` has the features called present or absent."""

    text: str
    inequalities: tuple[Inequality, ...]
    binary: tuple[Feature, ...]

    @property
    def features(self) -> tuple[Feature, ...]:
        return tuple(dict.fromkeys(f for each in self.inequalities for f in each.difference if f))


@dataclass(frozen=True)
class Head:
    name: str
    negated: bool
    start: int


@dataclass(frozen=True)
class Rule:
    source: RuleText
    conditions: tuple[Condition, ...]
    head: Head


def parse_rule(source: RuleText) -> Rule:
    """Read one rule, or refuse it with the place and a remedy.

    >>> rule = parse_rule(RuleText("18.5 <= bmi <= 25 => not diabetes", "rules.yaml:2", 5))
    >>> rule.head.name, rule.head.negated, len(rule.conditions[0].inequalities)
    ('diabetes', True, 2)
    """
    return _Parser(source).rule()


class _Parser:
    def __init__(self, source: RuleText):
        self.source, self.tokens, self.at, self.depth = source, split(source), 0, 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def next_is(self, *texts: str) -> bool:
        return self.token.kind in ("sign", "keyword") and self.token.text in texts

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, *texts: str) -> Token | None:
        return self.take() if self.next_is(*texts) else None

    def expect(self, text: str, reason: str, start: int | None = None) -> None:
        if not self.accept(text):
            raise self.fail(reason, start)

    def fail(self, reason: str, start: int | None = None) -> UserError:
        return self.source.fail(self.token.start if start is None else start, reason)

    def rule(self) -> Rule:
        for token in self.tokens:
            if token.kind in ("sign", "keyword") and token.text in REFUSED:
                raise self.fail(REFUSED[token.text], token.start)
        *before, end = self.tokens
        if not before or before[-1].text != "=>":
            raise self.fail("the '=>' is missing; a rule is 'conditions => class'", end.start)
        if re.search("=>|⇒", self.source.text[end.start :]):
            raise self.fail("'=>' comes once, before the class; 'at least' is written >=", before[-1].start)
        conditions = [self.condition()]
        while self.accept("and"):
            conditions.append(self.condition())
        self.expect("=>", f"'{self.token.text}' is not expected here; join conditions with 'and'")
        return Rule(self.source, tuple(conditions), self.head())

    def head(self) -> Head:
        text = self.source.text[self.token.start :]
        start = self.token.start + len(text) - len(text.lstrip())
        name = text.strip()
        negation = re.match(r"not\s|¬", name, re.IGNORECASE)
        if negation:
            name = name[negation.end() :].strip()
        if len(name) > 1 and name[0] == name[-1] == '"':
            name = name[1:-1]
        if not name:
            raise self.source.fail(start, "the class after '=>' is missing")
        return Head(name, negation is not None, start)

    def condition(self) -> Condition:
        start = self.token.start
        if self.next_is("=>", "and"):
            raise self.fail("a condition is missing here")
        begin, quantity = self.at, self.quantity()
        features = self.features()
        if features and (state := self.accept("present", "absent")):
            sums = self.presence(quantity, features, state.text == "present", start)
            inequalities = [Inequality(each, False, start) for each in sums]
        elif quantity:
            raise self.fail(
                "'at least k of' needs features and then 'present' or 'absent', as in "
                "'at least one of spacers(29-32) present'"
            )
        else:
            self.at, features = begin, ()
            inequalities = self.comparison()
        return Condition(self.source.text[start : self.token.start].strip(), tuple(inequalities), features)

    def presence(
        self, quantity: tuple[str, int] | None, features: tuple[Feature, ...], is_present: bool, start: int
    ) -> list[Sum]:
        if quantity is None:
            sign, constant = (-1.0, 1.0) if is_present else (1.0, 0.0)
            return [{feature: sign, None: constant} for feature in features]
        (kind, k), n = quantity, len(features)
        if k > n:
            reason = f"{k} of {count(n, 'feature')} is impossible; name more features or ask for fewer"
            raise self.fail(reason, start)
        if (kind, k) in (("least", 0), ("most", n)):
            reason = f"at {kind} {k} of {count(n, 'feature')} is always true; leave the condition out"
            raise self.fail(reason, start)
        low, high = (0 if kind == "most" else k), (n if kind == "least" else k)
        low, high = (low, high) if is_present else (n - high, n - low)
        at_most: Sum = {**dict.fromkeys(features, 1.0), None: -float(high)}
        at_least: Sum = {**dict.fromkeys(features, -1.0), None: float(low)}
        return [at_most] * (high < n) + [at_least] * (low > 0)

    def quantity(self) -> tuple[str, int] | None:
        if self.accept("at"):
            if not self.next_is("least", "most"):
                raise self.fail("'at' is followed by 'least' or 'most'")
        elif not self.next_is("exactly"):
            return None
        kind, word = self.take().text, self.token.text.lower()
        if word in NUMBERS:
            self.take()
            k = NUMBERS.index(word)
        else:
            k = self.whole(f"'{self.token.text}' is not a whole number of features")
        self.expect("of", f"'of' is missing, as in 'at {kind} {k} of spacers(1-4) present'")
        return kind, k

    def next_is_whole(self) -> bool:
        return self.token.kind == "number" and self.token.text.isdigit()

    def whole(self, reason: str) -> int:
        """Take a number of a feature, or of features."""
        if not self.next_is_whole():
            raise self.fail(reason)
        if len(self.token.text) > MOST_DIGITS:
            raise self.fail(f"{shorten(self.token.text)} has more than {MOST_DIGITS} digits")
        return int(self.take().text)

    def features(self) -> tuple[Feature, ...]:
        found: list[Feature] = []
        while self.token.kind == "name":
            found += self.feature()
            if not self.accept(","):
                break
        return tuple(found)

    def feature(self) -> list[Feature]:
        token = self.take()
        if self.next_is_whole():
            return [_numbered(token, self.whole(""))]
        if not self.accept("("):
            return [Feature((token.text,), token.start)]
        numbers = self.range()
        while self.accept(","):
            numbers += self.range()
        self.expect(")", f"the ')' of '{token.text}(' is missing")
        return [_numbered(token, number) for number in numbers]

    def range(self) -> list[int]:
        start, example = self.token.start, "numbers of features are written as in spacers(4-7, 23-24)"
        first = last = self.whole(example)
        if self.accept("-"):
            last = self.whole(example)
        if last < first:
            raise self.fail(f"the range {first}-{last} runs backwards; write {last}-{first}", start)
        return [*range(first, last + 1)]

    def comparison(self) -> list[Inequality]:
        begin, sums, signs = self.token.start, [self.sum()], []
        while sign := self.accept(*COMPARISONS):
            signs.append(sign)
            sums.append(self.sum())
        if not signs:
            raise self.fail("a comparison is missing here, such as bmi >= 30")
        directions = {sign.text[0] for sign in signs}
        if len(signs) > 2 or (len(signs) == 2 and directions not in ({"<"}, {">"})):
            raise self.fail(
                "a chain is 'low <= sum <= high'; join other comparisons with 'and'", signs[1].start
            )
        found = []
        for left, sign, right in zip(sums[:-1], signs, sums[1:], strict=True):
            difference = _add(left, right, -1.0)
            if _is_constant(difference):
                reason = "this compares constants only and says nothing about an example; name a feature"
                raise self.fail(reason, begin)
            if sign.text[0] != ">":
                found.append(Inequality(difference, sign.text == "<", sign.start))
            if sign.text[0] != "<":
                found.append(Inequality(_add({}, difference, -1.0), sign.text == ">", sign.start))
        return found

    def sum(self) -> Sum:
        total: Sum = {} if self.next_is("-") else self.product()
        while sign := self.accept("+", "-"):
            total = _add(total, self.product(), 1.0 if sign.text == "+" else -1.0)
        return total

    def product(self) -> Sum:
        start, product = self.token.start, self.factor()
        while self.accept("*"):
            other = self.factor()
            if _is_constant(product):
                product, other = other, product
            if not _is_constant(other):
                reason = "a product of features is not linear; add it to the data as another feature"
                raise self.fail(reason, start)
            product = _add({}, product, other.get(None, 0.0))
        return product

    def factor(self) -> Sum:
        token = self.token
        if token.kind == "number":
            self.take()
            if self.token.kind == "name":
                raise self.fail(f"write {token.text}*{self.token.text} for a multiple", token.start)
            return {None: float(token.text)}
        if token.kind == "name":
            features = self.feature()
            if len(features) > 1:
                raise self.fail(
                    f"'{token.text}(...)' names {len(features)} features; say 'present' or 'absent' of them, "
                    "or write the sum out",
                    token.start,
                )
            return {features[0]: 1.0}
        self.expect("(", f"'{token.text}' is not a number or a feature")
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail(f"more than {DEEPEST} parentheses are nested here", token.start)
        inner = self.sum()
        self.expect(")", "the ')' is missing", token.start)
        self.depth -= 1
        return inner


def _numbered(token: Token, number: int) -> Feature:
    stems = dict.fromkeys([token.text.removesuffix("s") or token.text, token.text])
    return Feature(tuple(f"{stem}{joint}{number}" for stem in stems for joint in ("", "_")), token.start)
