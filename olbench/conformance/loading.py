"""Subjects that a command line names: MODULE:OBJECT, parameters and what the subject calls them."""

import importlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from olbench.algorithms import get_definition
from olbench.algorithms.definition import Definition, Value
from olbench.conformance.objects import ObjectSubject, RuleSubject, list_arguments, make_subject
from olbench.conformance.verdict import COMPARED, Conformance, judge
from olbench.errors import UserError, describe_error, show_name, suggest
from olbench.plugins import make_module


def load_subject(
    spec: str,
    params: Mapping[str, Value],
    given: Iterable[str],
    renamed: Mapping[str, str],
    exposed: Mapping[str, str],
) -> ObjectSubject:
    """Return the subject of MODULE:OBJECT; `renamed` has what it calls parameters, 1/name for an inverse."""
    found = load_object(spec)
    theirs: dict[str, tuple[str, Value]] = {}
    for name, value in params.items():
        called = renamed.get(name, name)
        theirs[name] = called, value
        if called.startswith("1/"):
            theirs[name] = called[2:], 1.0 / float(value)
    arguments = list_arguments(found)
    known = [each.name for each in arguments or ()]
    takes_all = arguments is None or any(each.kind is each.VAR_KEYWORD for each in arguments)
    for name in given:
        argument = theirs[name][0]
        if not takes_all and argument not in known:
            raise UserError(
                f"{spec} has no argument {show_name(argument)}{suggest(argument, known)}; its arguments are "
                f"{', '.join(known) or 'none'}: say which it is with --map {name}=..."
            )
    return make_subject(found, dict(theirs.values()), spec.rpartition(":")[2], exposed)


def load_object(spec: str) -> Any:
    module, colon, path = spec.partition(":") if not spec.endswith(".py") else (spec, "", "")
    if not colon or not path:
        raise UserError(f"{show_name(spec)} is not of the form MODULE:OBJECT, such as my_learners:AROW")
    try:
        found = _import(module)
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UserError(f"cannot import {show_name(module)}: {describe_error(error)}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            hint = suggest(name, [each for each in dir(found) if not each.startswith("_")])
            raise UserError(f"{module} has no {show_name(name)}{hint}")
        found = getattr(found, name)
    return found


def _import(module: str) -> Any:
    if not module.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(module)
        finally:
            sys.path.pop(0)
    file = Path(module)
    if not file.is_file():
        raise UserError(f"there is no file {module}")
    loader, loaded = make_module(file.stem, file)
    loader.exec_module(loaded)
    return loaded


def judge_rule(definition: Definition, id: str) -> Conformance:
    """Judge an algorithm of one's own, with the parameters that both have at the values of the other."""
    target = get_definition(id)
    own, params = definition.resolve({}), target.resolve({})
    params |= {name: own[name] for name in own if name in params}
    if definition.rule is not None and definition.order in COMPARED:
        return judge(RuleSubject(definition, own), target, params)
    if definition.order == "object" and definition.factory is not None:
        factory: Any = definition.factory
        return judge(make_subject(lambda: factory(**own), {}, definition.id), target, params)
    raise UserError(f"{definition.id} is no rule of first or second order and no online learner")
