"""IDX and CSV files, and the steps that change values."""

import gzip
import struct

import numpy as np
import scipy.sparse as sp

from olbench import load_dataset
from olbench.data.readers import read_idx, read_images
from olbench.data.scale import STEPS, normgrey, pixel_products, unit_range
from tests.refusals import find_wrong, refusal


def idx(array, kind=0x08):
    return bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def test_an_idx_file_gives_its_array(libsvm_file):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert (read_idx(libsvm_file(idx(images))) == images).all()
    assert (read_idx(libsvm_file(gzip.compress(idx(images)))) == images).all()
    doubles = np.array([1.5, -2.0], dtype=">f8")
    assert (read_idx(libsvm_file(idx(doubles, 0x0E))) == doubles).all()


def test_broken_idx_files_are_refused(libsvm_file):
    cases = [
        (b"", "is truncated: 4 of 4 bytes missing"),
        (b"+1 1:2 3:4\n", "is not an IDX file"),
        (b"\0\0\x08\x01\0\0\0\x05abc", "is truncated: 2 of 5 bytes missing"),
        (b"\0\0\x08\x01\0\0\0\x02abc", "continues after the 2 bytes that its header announces"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "is truncated: 79,228,162,458,924,105,385,300,197,375 of"),
        (b"\0\0\x08\x09" + b"\0" * 40, "is not an IDX file"),
    ]
    assert find_wrong(cases, lambda content: read_idx(libsvm_file(content))) == []
    images = libsvm_file(idx(np.zeros((3, 2, 2), dtype=np.uint8)), "images")
    labels = libsvm_file(idx(np.zeros(2, dtype=np.uint8)), "labels")
    assert "does not match" in refusal(read_images, images, labels)


GAP_REMEDY = "choose --missing drop, zero or mean, or let `olbench init` choose"
TEXT = "where a number is expected"
COMMA = "; numbers need a decimal point: convert the file, as pandas.read_csv(FILE, sep=';', decimal=',')"
TEXT_REMEDY = "; choose --categorical onehot (indicators) or drop (the columns), or let `olbench init` choose"
CSV = "6,148,1\n1,85,0\n8,183,1\n"


def test_a_csv_file_has_its_label_last(libsvm_file):
    for text in (CSV, "a,b,label\n" + CSV, CSV.replace("\n", "\r\n"), "\n" + CSV + "\n", "\ufeff" + CSV):
        data = load_dataset(libsvm_file(text, "data.csv"))
        assert data.X.tolist() == [[6, 148], [1, 85], [8, 183]]
        assert (data.y.tolist(), data.name) == ([1, -1, 1], "data")


BROKEN = [
    ("", " contains no examples; is it the right file?"),
    ("1,2\n3\n", ":2: 1 field, but the first line has 2; correct the line, or give the separator"),
    (f"1,{'9' * 50}\n3\n", ":2: 1 field, but the first line has 2; correct the line, or give the separator"),
    ("1,2\n3,x\n", ": the labels mix numbers and text ('2', 'x'); choose the positive ones, as in --"),
    ("1,2\n,1\n", f":2: column 1 has no value; {GAP_REMEDY}"),
    ("1,nan\n", ": column 2 has no values; name another column with --label"),
    ("x;y\n1,5;1\n", f":2: column 'x' has the text '1,5', {TEXT}{COMMA}"),
    ("٣,1\n", f":1: column 1 has the text '٣', {TEXT}{TEXT_REMEDY}"),
    ('1,2,1\n"a\nb",2,1\n', r":3: column 1 has numbers and the text 'a\nb'; "),
    ("1e999,1\n", ":1: field 1, '1e999', is not a finite number; correct it"),
    ("1,2\n3,0.5\n", ":2: label '0.5' is not a whole number, and a label names a class; cut a"),
    ("1\n2\n", ": there is only one column, and a label and a feature are needed; if another"),
    ("1,2\n3,2\n", ": every example has the label 2; two distinct labels are needed; if another column"),
]


def test_a_broken_csv_file_is_refused(libsvm_file):
    path = libsvm_file("", "data.csv")
    cases = [(text, f"{path}{words}") for text, words in BROKEN]
    assert find_wrong(cases, lambda text: load_dataset(libsvm_file(text, "data.csv"))) == []


def test_a_csv_file_that_is_not_text_is_refused(libsvm_file):
    path = libsvm_file(b"1,2\n\xff\xfe,3\n", "data.csv")
    assert "data.csv:2: not UTF-8 text; save the file as UTF-8" in refusal(load_dataset, path)
    latin = "größe,klasse\n".encode() + b"1,1\n" * 40_000 + "3,1 é\n".encode("latin-1")
    assert "latin.csv:40002: not UTF-8 text" in refusal(load_dataset, libsvm_file(latin, "latin.csv"))


def test_scaling():
    X = np.array([[0.0, 255.0, 7.0], [51.0, 0.0, 7.0]])
    assert STEPS["divide-by-255"](X).tolist() == [[0, 1, 7 / 255], [0.2, 0, 7 / 255]]
    assert unit_range(X).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_products_of_all_pairs_of_different_pixels_are_appended():
    X = np.random.default_rng(0).normal(size=(7, 5))
    extended = pixel_products(X)
    assert extended.shape == (7, 5 + 10)
    assert (extended[:, :5] == X).all()
    pairs = [X[:, i] * X[:, j] for i in range(5) for j in range(i + 1, 5)]
    assert (pairs == extended[:, 5:].T).all()
    assert (pixel_products(sp.csr_matrix(X)) == extended).all()
    assert pixel_products(X[:, :1]).tolist() == X[:, :1].tolist()


def test_normgrey_does_not_see_light_contrast_or_brightness():
    random = np.random.default_rng(1)
    image = random.permutation(361).reshape(1, 361).astype(float)
    down, across = np.divmod(np.arange(361), 19)
    seen = normgrey(image)
    assert (seen.min(), seen.max()) == (0, 1)
    assert np.allclose(seen, normgrey(3 * image + 20 + 2 * down - 5 * across))
