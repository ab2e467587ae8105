"""What a list shows does not depend on what was imported first."""

import subprocess
import sys

import pytest

#: The call that makes a list, and a module that registers some of its members when it is imported.
LISTS = {
    "olbench.protocols.protocols()": "olbench.protocols.advice",
    "olbench.algorithms.definitions()": "olbench.algorithms.scw",
    "olbench.audit.checks()": "olbench.papers.adviceptron2010.audit",
}


def list_ids(call, first):
    code = f"import {first}, {call.rpartition('.')[0]}\nprint([each.id for each in {call}])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("call", LISTS)
def test_a_list_has_one_order_whatever_was_imported_before(call):
    assert list_ids(call, "olbench") == list_ids(call, LISTS[call])
