"""A slow reader of CSV files, row by row and cell by cell: what the fast one has to agree with."""

import csv
import io
import math
import re

NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
GAPS = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")


def read_reference(path, separator):
    """Return (mistakes, names, lines, rows) of a file in UTF-8; a cell is a number, a text or None."""
    text = path.read_bytes().decode("utf-8-sig")
    if text.count("\r") > text.count("\r\n"):  # lines end as on old computers
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    records = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    names, lines, rows, begin, mistakes, first = None, [], [], 1, [], []
    try:
        for record in records:
            begin = records.line_num + 1
            fields = [field.strip() for field in record]
            if not record or (len(record) == 1 and record[0] and not record[0].strip(" \t")):
                continue
            if names is None:
                has_heading = not any(map(NUMBER.fullmatch, fields))
                names = fields if has_heading else [str(k + 1) for k in range(len(fields))]
                first = [] if has_heading else fields
                if has_heading:
                    continue
            place = f"{path}:{records.line_num}"
            if len(fields) != len(names):
                mistakes.append(
                    f"{place}: {len(fields)} field{'s' * (len(fields) > 1)}, but the first line has "
                    f"{len(names)}; correct the line, or give the separator with --delimiter"
                )
            mistakes += [
                f"{place}: {mistake}" for k, field in enumerate(fields, 1) for mistake in _find(k, field)
            ]
            rows.append([_read_cell(field) for field in fields])
            lines.append(records.line_num)
    except csv.Error as error:
        mistake = f"{path}:{records.line_num}: not a CSV file ({error}); correct the line"
        if "unexpected end" in str(error):
            mistake = f"{path}:{begin}: a quote is opened here or later, and never closed; correct it"
        mistakes.append(mistake)
    if not rows and not mistakes:
        mistakes.append(f"{path} contains no examples; is it the right file?")
    if _is_numbered_heading(first, rows[1:]):
        return (
            [each for each in mistakes if not each.startswith(f"{path}:{lines[0]}: field")],
            first,
            lines[1:],
            rows[1:],
        )
    return mistakes, names, lines, rows


def _is_numbered_heading(first, rows):
    """Return whether a line has 0, 1, ... and words, each above numbers or texts that recur and differ."""
    numbers = [field for field in first if NUMBER.fullmatch(field)]
    words = [k for k, field in enumerate(first) if field not in (*numbers, *GAPS)]
    if not words or not rows or numbers != list(map(str, range(len(numbers)))):
        return False
    for k in words:
        cells = [row[k] for row in rows if len(row) > k and row[k] is not None]
        texts = [_show(cell) for cell in cells]
        if any(isinstance(cell, str) for cell in cells) and (
            first[k] in texts or len(set(texts)) == len(texts)
        ):
            return False
    return True


def _show(cell):
    return cell if isinstance(cell, str) else repr(cell)


def _find(number, text):
    if "\0" in text:
        yield f"field {number} has a NUL character; save the file as UTF-8 text"
    elif NUMBER.fullmatch(text) and math.isinf(float(text)):
        shown = text if len(text) <= 60 else f"{text[:60]}... ({len(text):,} characters)"
        yield f"field {number}, '{shown}', is not a finite number; correct it"


def _read_cell(text):
    if NUMBER.fullmatch(text):
        return float(text)
    return None if text in GAPS else text
