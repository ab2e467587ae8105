"""What a terminal shows: lines that end between words, and one line per message in a log."""

import io

import pytest

from olbench.engine.display import wrap

SENTENCE = "olbench: `olbench run` has no option '--algorithm' (did you mean it?); see `olbench run --help`"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def test_a_log_keeps_one_line_per_message():
    assert wrap(SENTENCE, io.StringIO()) == SENTENCE


def test_lines_on_a_terminal_end_between_words_and_not_within_commands():
    first, second = wrap(SENTENCE, Terminal()).split("\n")
    assert first.endswith("; see")
    assert second == "`olbench run --help`"


def test_what_fits_stays_as_it_is_and_what_has_no_spaces_too():
    for text in ("", "short", "two\nlines\n\nand  more", "x" * 200):
        assert wrap(text, Terminal()) == text


def test_lines_after_the_first_are_indented():
    lines = wrap("licence      " + "word " * 40, Terminal(), indent=13).split("\n")
    assert max(map(len, lines)) <= 80
    assert {line[:13] for line in lines[1:]} == {" " * 13}
