"""These tests run the real command on small experiments in folders of their own."""

import pytest

collect_ignore = ["nursery.py"]


@pytest.fixture(autouse=True)
def work_in_own_folder(own_folder):
    pass
