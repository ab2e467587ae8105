"""From words to columns: bags of words and of neighbouring words as sparse matrices."""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.learn.examples import Ints


class Bags:
    """Bags of terms, one per document, that become the rows of a matrix.

    Columns are in the byte order of their terms, so the matrix does not depend on the order in which the
    documents were read.
    """

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.terms = array("q")
        self.lengths = array("q")

    def add(self, terms: Sequence[bytes]) -> None:
        """Append a document."""
        numbers = self.numbers
        self.terms.extend([numbers.setdefault(term, len(numbers)) for term in terms])
        self.lengths.append(len(terms))

    def matrix(self, counts: Any = None) -> Any:
        """Return the documents as rows with the counts of their terms, by default one per occurrence."""
        rows, columns = self._locate()
        return self._assemble(rows, columns, np.ones(columns.size) if counts is None else counts, 0)

    def matrix_with_pairs(self) -> Any:
        """Return the counts of terms, followed by the counts of pairs of neighbouring terms."""
        rows, columns = self._locate()
        width = len(self.numbers)
        inside = rows[1:] == rows[:-1]
        pairs, places = np.unique(columns[:-1][inside] * width + columns[1:][inside], return_inverse=True)
        rows = np.concatenate([rows, rows[1:][inside]])
        columns = np.concatenate([columns, width + places])
        return self._assemble(rows, columns, np.ones(columns.size), pairs.size)

    def _locate(self) -> tuple[Ints, Ints]:
        """Return the row and the column of each term, in the order of the text."""
        ranks = np.empty(len(self.numbers), dtype=np.int64)
        ranks[[self.numbers[term] for term in sorted(self.numbers)]] = np.arange(ranks.size)
        rows = np.repeat(np.arange(len(self.lengths)), self.lengths)
        return rows, ranks[np.frombuffer(self.terms, dtype=np.int64)]

    def _assemble(self, rows: Ints, columns: Ints, values: Any, pairs: int) -> Any:
        # A matrix has at least one column, even if no document has a term.
        shape = (len(self.lengths), max(1, len(self.numbers) + pairs))
        return sp.csr_matrix((values, (rows, columns)), shape=shape)
