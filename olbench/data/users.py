"""Users' files: the format that a name stands for, and which options it takes."""

from pathlib import Path

from olbench.data.formats import find_suffixes
from olbench.data.spec import Reading
from olbench.errors import UserError

TABLE_KEYS = ("label", "time", "arrival", "columns", "delimiter", "missing", "categorical")
_ARRAY = "pass (X, y) to load_dataset in Python, or write a CSV file"
_FRAME = "read it with pandas, and pass the frame to load_dataset or write it with to_csv"
FOREIGN = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm"), ("an Excel workbook", "save the sheet as CSV")),
    ".ods": ("a spreadsheet", "save the sheet as CSV"),
    ".npy": ("a NumPy array", _ARRAY),
    ".npz": ("an archive of NumPy arrays", _ARRAY),
    ".arff": ("an ARFF file", "open it with scipy.io.arff.loadarff, and write a CSV file"),
    ".mat": ("a MATLAB file", f"open it with scipy.io.loadmat and {_ARRAY}"),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), ("a pickle, which can run code", "write a CSV file")),
    **dict.fromkeys((".feather", ".arrow"), ("an Arrow file", _FRAME)),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), ("a JSON file", _FRAME)),
    **dict.fromkeys((".h5", ".hdf5"), ("an HDF5 file", _FRAME)),
}


def format_of(name: str) -> str:
    """Files of another kind are refused; the end that says how it is compressed does not count."""
    suffix = Path(name).suffix.lower()
    if suffix in FOREIGN and suffix not in find_suffixes():
        what, remedy = FOREIGN[suffix]
        raise UserError(f"{name} is {what}, and is not read; {remedy}")
    return find_suffixes().get(suffix, "libsvm")


def plain_name(name: str) -> str:
    return Path(name).stem if Path(name).suffix.lower() in find_suffixes() else name


def refuse_reading(reading: Reading, format: str, where: str) -> None:
    columns = ("time", "arrival", "columns")
    given = [key for key in TABLE_KEYS if getattr(reading, key) not in ("", ())]
    if given and format == "libsvm":
        key = given[0]
        why = f"and {key} names a column of a table" if key in columns else f"where --{key} does not apply"
        raise UserError(
            f"{where} is read as a LIBSVM file, {why}; a table's name ends in "
            f"{', '.join(find_suffixes())}: rename the file if it is one"
        )
    if format != "csv" and reading.delimiter:
        raise UserError(f"{where} is not a file of separated values, so leave out --delimiter")
