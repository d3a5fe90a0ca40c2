"""Reading a formulation: its symbols from the model's `doc=`, its equations from a docstring.

That is the module's; where a module states a second problem, that of the function which builds its model.

`doc=` of sets and params: `symbol | meaning | unit` (a set has no unit); of decision variables and expressions the same
after `(tag) `; more lines of the kind explain symbols that are no part of the model by themselves. `doc=` of objective
and constraints: `(tag) meaning`. What symbols mean in a model, so that a statement can be held to it, is in `meaning`.
A line of the docstring: `formula   for all ...   (tag)   part_name`, with columns at least two spaces apart, and the
formula after `max`, `min` or `s.t.` where one of these is due; `formula` has the grammar.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.base.errors import InputError
from workbench.base.labels import listed
from workbench.base.rounding import short_number
from workbench.scheduling.modelling import pyo

if TYPE_CHECKING:
    import pandas as pd


class Equation(NamedTuple):
    """One line of a formulation: formula and index range as plain text, tag without brackets, name of the model's part.

    sense: max or min of an objective, empty for the rest.
    """

    formula: str
    forall: str
    tag: str
    part: str
    sense: str = ""


class Size(NamedTuple):
    """Size of a model; `nonzeros` counts the coefficients of its active constraints."""

    variables: int
    integers: int
    constraints: int
    nonzeros: int

    def __str__(self) -> str:
        whole = f" ({self.integers:,} whole)" if self.integers else ""
        rows, entries = f"{self.constraints:,} constraints", f"{self.nonzeros:,} nonzeros"
        return f"{self.variables:,} variables{whole}, {rows}, {entries}"


FOLD = "More on the letters, and on what differs from the paper"
_LINE = re.compile(
    r"^(?P<head>max|min|s\.t\.)?\s*(?P<formula>\S.*?)(?:\s{2,}for all (?P<forall>\S.*?))?"
    r"\s{2,}\((?P<tag>[^()]+)\)\s+(?P<part>[a-z][a-z0-9_]*)$"
)
_TAG = re.compile(r"^\((?P<tag>[^()]+)\)\s*(?P<rest>.*)$", re.DOTALL)
_KINDS = (("set", pyo.Set), ("param", pyo.Param), ("expression", pyo.Expression), ("var", pyo.Var))


def symbols(model: pyo.ConcreteModel) -> pd.DataFrame:
    """The table symbol, meaning, unit, part, kind (set, param, expression, var), size: the documented parts, in order.

    A row per line of `doc=`; from the second on it has no part, kind or size of its own ("", "" and 0).
    """
    import pandas as pd

    rows = []
    for kind, part in _parts(model):
        for number, fields in enumerate(symbol_lines(part)):
            symbol, meaning, unit = (*fields, "", "", "")[:3]
            own = ("", "", 0) if number else (part.local_name, kind, len(part))
            rows.append((symbol, meaning, unit, *own))
    return pd.DataFrame(rows, columns=["symbol", "meaning", "unit", "part", "kind", "size"])


def symbol_lines(part: Any) -> list[list[str]]:
    """The fields of each line of a part's `doc=`, without the tag; none of objectives and constraints."""
    if not any(isinstance(part, type_) for _, type_ in _KINDS) or not part.doc:
        return []
    return [[field.strip() for field in line.split("|")] for line in _TAG.sub(r"\g<rest>", part.doc).splitlines()]


NOT_KEPT = "# the text of this cell is not kept"
MOST_VALUES = 30


def values(model: pyo.ConcreteModel, solved: Iterable[tuple[Any, float]] = ()) -> dict[str, str]:
    """What each documented part of a model is, as text: the members of a set, numbers by index, the first MOST_VALUES.

    solved: variables, one by one, with their values; of others, and of expressions, it is said how many there are.
    """
    decided: dict[str, list[str]] = {}
    for variable, value in solved:
        text = f"{_index(variable.index())}: {_number(value)}" if variable.index() is not None else _number(value)
        decided.setdefault(variable.parent_component().local_name, []).append(text)
    found = {}
    for kind, part in _parts(model):
        if kind == "set":
            texts = [_index(member) for member in part]
        elif kind == "param":
            numbers = [(index, _number(pyo.value(part[index]))) for index in part]
            texts = [f"{_index(index)}: {number}" if part.is_indexed() else number for index, number in numbers]
        else:
            rest = f"{len(part):,} {'to be decided' if kind == 'var' else 'worked out from the others'}"
            texts = decided.get(part.local_name, [rest])
        more = f"; and {len(texts) - MOST_VALUES:,} more" if len(texts) > MOST_VALUES else ""
        found[part.local_name] = "; ".join(texts[:MOST_VALUES]) + more
    return found


def numbered(model: pyo.ConcreteModel) -> dict[str, str]:
    """What stands behind each variable whose last index is a mere number, by name: what the parameters say that have
    one index more, as `choose[a, 2]` is configuration 2 of a, whose GPUs a parameter has for each server."""
    mine = {
        part[index].name: index for part in model.component_objects(pyo.Var, descend_into=False)
        for index in part if isinstance(index, tuple) and isinstance(index[-1], int)
    }  # fmt: skip
    known: dict[Any, dict[str, list[str]]] = {index: {} for index in mine.values()}
    for param in model.component_objects(pyo.Param, descend_into=False) if mine else ():
        for index in param:
            if isinstance(index, tuple) and index[:-1] in known:
                of = known[index[:-1]].setdefault(meaning(param) or param.local_name, [])
                of.append(f"{_number(pyo.value(param[index]))} of {index[-1]}")
    texts = {index: "; ".join(f"{said}: {listed(each)}" for said, each in of.items()) for index, of in known.items()}
    return {name: texts[index] for name, index in mine.items() if texts[index]}


def _index(index: Any) -> str:
    return ", ".join(map(str, index)) if isinstance(index, tuple) else str(index)


def _number(value: Any) -> str:
    return short_number(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _parts(model: pyo.ConcreteModel) -> Iterator[tuple[str, Any]]:
    for kind, type_ in _KINDS:
        for part in model.component_objects(type_, descend_into=False):
            if part.doc:
                yield kind, part


def tags(model: pyo.ConcreteModel) -> dict[str, str]:
    """`{part: tag}` of objective, constraints, variables and expressions; the tag is empty if `doc=` has none."""
    found = {}
    stated = (pyo.Objective, pyo.Constraint, pyo.Var, pyo.Expression)
    for part in model.component_objects(stated, descend_into=False):
        match = _TAG.match(part.doc or "")
        found[part.local_name] = match["tag"] if match else ""
    return found


def meaning(part: Any) -> str:
    """What `doc=` says of a part in words: after the tag, of a variable or an expression between symbol and unit, of an
    objective before its unit."""
    said = _TAG.sub(r"\g<rest>", (part.doc or "").split("\n")[0]).split("|")
    return said[len(said) > (1 if symbol_lines(part) else 2)].strip()


def equations(source: Any) -> list[Equation]:
    """The equations that a docstring states; source: a formulation, its class or module (the module's docstring), a
    function that builds the model of a second problem (its own), or the docstring itself."""
    found = []
    for line in _docstring(source).splitlines():
        match = _LINE.match(line.strip())
        if match:
            head = match["head"] or ""
            sense = head if head in ("max", "min") else ""
            found.append(Equation(match["formula"], match["forall"] or "", match["tag"], match["part"], sense))
    return found


def source(formulation: Any) -> str:
    """The Python text that builds the model of a formulation (itself, its class, a module, or the function that builds
    it): the docstring that states it, `build`, and the functions of its room with which that adds parts to the model.

    A heuristic (ours): functions that `build` reaches by global names and whose text has `pyo.`. A method, a function
    kept in a table, one that never writes `pyo.` are not shown. `NOT_KEPT` stands for what Python has no text of, as
    what came by standard input.
    """
    module = _module(formulation)
    owner = module if isinstance(formulation, ModuleType) else formulation
    alone = inspect.isfunction(formulation)  # its docstring stands in its text
    parts = {module.__name__: [] if alone else [f'"""{module.__doc__}"""']}
    path = module.__name__.split(".")
    room = path[:3] if path[0] == "workbench" else path[:1]
    for found in callees(formulation if alone else owner.build, ".".join(room)):
        try:
            text = textwrap.dedent(inspect.getsource(found)).strip()
        except OSError:
            text = NOT_KEPT
        if "pyo." in text or text == NOT_KEPT:
            parts.setdefault(found.__module__, [f"# {found.__module__.replace('.', '/')}.py"]).append(text)
    return "\n\n".join("\n\n".join(each) for each in parts.values())


def callees(function: Any, room: str) -> list[Any]:
    """A function and those it calls in the room, directly or not, each once, callers first; not those that state a
    problem of their own, which build another model."""
    found: list[Any] = []
    left = [inspect.unwrap(getattr(function, "__func__", function))]
    while left:
        here = left.pop(0)
        if here in found:
            continue
        found.append(here)
        names = _names(here.__code__)
        known = [here.__globals__[name] for name in names if name in here.__globals__]
        inside = [vars(module).get(name) for module in known if isinstance(module, ModuleType) for name in names]
        inside = [each for each in (*known, *inside) if inspect.isfunction(each) and not equations(each)]
        left += [each for each in inside if f"{each.__module__}.".startswith(f"{room}.")]
    return found


def _names(code: CodeType) -> list[str]:
    """The names that a function's code refers to, those of functions inside it too."""
    inner = (name for const in code.co_consts if isinstance(const, CodeType) for name in _names(const))
    return list(dict.fromkeys((*code.co_names, *inner)))


def model_size(model: pyo.ConcreteModel) -> Size:
    """Counts of a model's active parts. Fixed variables count as numbers."""
    from pyomo.repn import generate_standard_repn

    free = [v for v in model.component_data_objects(pyo.Var, active=True) if not v.fixed]
    rows = list(model.component_data_objects(pyo.Constraint, active=True))
    entries = sum(len(generate_standard_repn(row.body, compute_values=False).linear_vars) for row in rows)
    return Size(len(free), sum(not v.is_continuous() for v in free), len(rows), entries)


def side_by_side(formulation: Any, code: str) -> list[dict[str, str]]:
    """Each equation beside the lines that build its part: tag, part, tex (the formula as plain text where `to_tex`
    cannot read it: then it is empty, and `text` has it), code.

    code: Python text, as `source` gives it; empty lines for a part that is not built by its own name.
    """
    written = _code_by_part(code)
    found = []
    for equation in equations(formulation):
        formula, forall = to_tex(equation.formula), to_tex(equation.forall)
        readable = formula is not None and forall is not None
        head = rf"\{equation.sense}\quad " if equation.sense else ""
        tail = rf"\quad \forall\, {forall}" if forall else ""
        found.append(
            {
                "tag": equation.tag,
                "part": equation.part,
                "tex": f"{head}{formula}{tail}" if readable else "",
                "text": _text_row(equation),
                "code": written.get(equation.part, ""),
            }
        )
    return found


def _code_by_part(code: str) -> dict[str, str]:
    """By name the whole lines of a decorated function, or of an assignment to an attribute, that builds a part; or of
    one that hands it on by its name: `m = lay_out(..., level=pyo.Var())`."""
    lines = code.splitlines()
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            names, first = [node.name], node.decorator_list[0].lineno
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            names, first = [node.targets[0].attr], node.lineno
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = ((each.arg, ast.unparse(each.value)) for each in node.value.keywords)
            names, first = [name for name, text in made if name and text.startswith("pyo.")], node.lineno
        else:
            continue
        for name in names:
            found.setdefault(name, textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno])))
    return found


def render(formulation: Any, *, folded: bool = False, parts: Collection[str] = ()) -> str:
    """The equations as Markdown with TeX maths, then the docstring's remaining text.

    Symbols and formulas within that text are TeX too (`with_tex`). What `to_tex` cannot read stands there as code.
    folded: the remaining text is read by who opens it, as on the pages of lessons. parts: only the equations of these
    parts of the model, without the remaining text. Raises InputError for a part that no equation states.
    """
    text = _docstring(formulation).strip().splitlines()
    title = text[0] if text else ""
    stated = equations(formulation)
    if unknown := sorted(set(parts) - {equation.part for equation in stated}):
        raise InputError("render, parts", unknown, f"parts of {', '.join(equation.part for equation in stated)}")
    notes = "\n".join(line for line in text[1:] if not _LINE.match(line.strip())).strip()
    if parts:
        stated, notes = [equation for equation in stated if equation.part in parts], ""
    senses = ["objective", *(equation.sense for equation in stated)]
    rows = [_tex_row(equation, first=bool(senses[n])) for n, equation in enumerate(stated)]
    if rows and all(row is not None for row in rows):
        body = "\n".join(["$$", r"\begin{aligned}", " \\\\\n".join(r for r in rows if r), r"\end{aligned}", "$$"])
    else:
        body = "\n".join(["```text", *(_text_row(equation) for equation in stated), "```"])
    notes = with_tex(notes)
    if folded and notes:
        notes = f"<details><summary>{FOLD}</summary>\n\n{notes}\n\n</details>"
    parts = (f"**{with_tex(title)}**" if title else "", body if stated else "", notes)
    return "\n\n".join(part for part in parts if part)


def _tex_row(equation: Equation, first: bool) -> str | None:
    formula, forall = to_tex(equation.formula), to_tex(equation.forall)
    if formula is None or forall is None:
        return None
    head = rf"\{equation.sense}\quad" if equation.sense else r"\text{s.t.}\quad" if first else ""
    name = equation.part.replace("_", r"\_")
    all_of = rf"\forall\, {forall}" if forall else ""
    return rf"{head} & {formula} & & {all_of} & & \text{{({equation.tag}) {name}}}"


def _text_row(equation: Equation) -> str:
    forall = f"for all {equation.forall}" if equation.forall else ""
    return f"{equation.sense:4}{equation.formula:60} {forall:24} ({equation.tag}) {equation.part}".rstrip()


def _module(source: Any) -> ModuleType:
    if isinstance(source, ModuleType):
        return source
    owner = source if isinstance(source, type) or inspect.isfunction(source) else type(source)
    return sys.modules[owner.__module__]


def _docstring(source: Any) -> str:
    if isinstance(source, str):
        return source
    return inspect.getdoc(source if inspect.isfunction(source) else _module(source)) or ""


# --- plain text to TeX -----------------------------------------------------------------------------------------------
#
# formula  = words, numbers and symbols side by side; juxtaposition is multiplication.
# call     = a symbol with "(" right behind it, one operand: throughput(m, X) / P_m. After a space it is a product:
#            z_m (a + b); only max, min and the like take a "(" after a space as well.
# symbol   = letters, then ' or ^name, then _name or _{...}: X_mj, T^c_mj, rho_m, t'. Greek letters by their names.
# sum_x, max_x, min_x, prod_x and the like put x below; a / b is a fraction of the two things beside it (a sum there
# needs parentheses); x^y a power.
# <= >= != -> * ... are operators; (), [], {} and || group.
# index    = one letter for each index: z_jkb is z of j, k and b. Four letters or more with a vowel are a word and set
#            upright (X_equal), and so are iso, job, max and min.
# word     = three or more lower-case letters without index that are no Greek letter and no operator (where, binary,
#            cannot run), and if, or, of, no, to, is, on, at.

_GREEK_TEXT = """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi
omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"""
_GREEK = frozenset(_GREEK_TEXT.split())
_BIG = {"sum": r"\sum", "prod": r"\prod", "max": r"\max", "min": r"\min", "log": r"\log", "exp": r"\exp"}
_BIG |= {"union": r"\bigcup", "ceil": r"\operatorname{ceil}", "floor": r"\operatorname{floor}"}
_RELATION = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne", "->": r"\to", "*": r"\cdot", "...": r"\dots"}
_RELATION |= {"in": r"\in", "inf": r"\infty", "<": "<", ">": ">", "=": "=", "+": "+", "-": "-", ",": ",", ":": ":"}
_RELATION |= {";": ";", "|": r"\mid", "'": "'", "notin": r"\notin"}
_WORD = re.compile(r"[a-z]{3,}|if|or|of|no|to|is|on|at")
_INDEX_WORD = re.compile(r"iso|job|max|min|(?=.*[AEIOUaeiou])[A-Za-z0-9]{4,}")
_NAME = r"[A-Za-z]+'?(?:\^[A-Za-z]+|\^\{[^{}]*\})?(?:_[A-Za-z0-9]+|_\{[^{}]*\})?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>{_NAME}\(?)|(?P<other><=|>=|!=|->|\.\.\.|[^\sA-Za-z0-9]))"
)
_OPEN = {"(": ")", "[": "]", "{": "}"}


class _Group(NamedTuple):
    opening: str
    inside: list[Any]


class _Call(NamedTuple):
    name: Any
    inside: _Group


class _Power(NamedTuple):
    base: Any
    exponent: Any


class Unreadable(Exception):
    """A formula that cannot be read; its text says why, where somebody is told."""


def to_tex(text: str) -> str | None:
    """A plain formula as TeX (the grammar stands above in this file); None for what it cannot read."""
    try:
        return _write(_parse(tokens(text), "")[0])
    except Unreadable:
        return None


def tokens(text: str) -> list[str]:
    """Numbers, symbols (with a "(" right behind), operators of a plain formula; raises Unreadable."""
    found, at, text = [], 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise Unreadable(f"{text[at:]!r}: no formula")
        found.append(match[0].strip())
        at = match.end()
    return found


def _parse(tokens: list[str], closing: str) -> tuple[list[Any], list[str]]:
    """Atoms and groups up to `closing`, and the tokens after it."""
    found: list[Any] = []
    while tokens:
        token, tokens = tokens[0], tokens[1:]
        if token == closing:
            return found, tokens
        if token in _OPEN:
            inside, tokens = _parse(tokens, _OPEN[token])
            found.append(_Group(token, inside))
        elif token in _OPEN.values():
            raise Unreadable
        elif token.endswith("("):
            inside, tokens = _parse(tokens, ")")
            found.append(_Call(token[:-1], _Group("(", inside)))
        else:
            found.append(token)
    if closing:
        raise Unreadable
    return found, []


def _write(tree: list[Any]) -> str:
    items = _powers(tree)
    out: list[str] = []
    at = 0
    while at < len(items):
        item = items[at]
        if item == "/":
            if not out or at + 1 == len(items) or _is_big(items[at - 1]) or _is_big(items[at + 1]):
                raise Unreadable
            below = _bare(items[at + 1])
            above = _bare(items[at - 1])
            out[-1] = rf"\frac{{{above}}}{{{below}}}"
            at += 2
            continue
        out.append(_atom(item))
        at += 1
    return " ".join(out).replace(r" } \text{ ", " ")


def _powers(tree: list[Any]) -> list[Any]:
    """Join `x ^ y` and `max (...)` into one item, so that a fraction takes them whole."""
    joined: list[Any] = []
    for item in tree:
        if len(joined) > 1 and joined[-1] == "^":
            joined.pop()
            joined.append(_Power(joined.pop(), item))
        elif isinstance(item, _Group) and joined and isinstance(joined[-1], str) and joined[-1].split("_")[0] in _BIG:
            joined.append(_Call(joined.pop(), item))
        else:
            joined.append(item)
    return joined


def _is_big(item: Any) -> bool:
    """Whether it is a sum or the like, whose end is not known: in a fraction it needs parentheses."""
    return isinstance(item, str) and item.partition("_")[0] in _BIG


def _bare(item: Any) -> str:
    """An operand of a fraction: a group loses its parentheses."""
    return _write(item.inside) if isinstance(item, _Group) and item.opening == "(" else _atom(item)


def _atom(item: Any) -> str:
    if isinstance(item, _Group):
        left, right = (r"\{", r"\}") if item.opening == "{" else (item.opening, _OPEN[item.opening])
        return rf"\left{left} {_write(item.inside)} \right{right}"
    if isinstance(item, _Power):
        return rf"{{{_atom(item.base)}}}^{{{_bare(item.exponent)}}}"
    if isinstance(item, _Call):
        return f"{_symbol(item.name, called=True)}{_atom(item.inside)}"
    if item in _RELATION:
        return _RELATION[item]
    if item[0].isdigit():
        return str(item)
    if not item[0].isalpha():
        raise Unreadable
    return _symbol(item)


def _symbol(token: str, called: bool = False) -> str:
    base, _, below = token.partition("_")
    base, _, above = base.partition("^")
    prime = "'" if base.endswith("'") else ""
    base = base.rstrip("'")
    name = _BIG.get(base) or _letters(base, "mathrm" if called else "mathit")
    if not called and name.startswith(r"\mathit") and _WORD.fullmatch(token):
        return rf"\text{{ {token} }}"
    return name + prime + (rf"^{{{_script(above)}}}" if above else "") + (rf"_{{{_script(below)}}}" if below else "")


def _letters(base: str, font: str) -> str:
    if base in _GREEK:
        return "\\" + base
    return base if len(base) == 1 else rf"\{font}{{{base}}}"


def _script(text: str) -> str:
    """An index: `mj` and `jkb` stay, a word (`_INDEX_WORD`) is set upright, `{m in S}` is a formula of its own."""
    if text.startswith("{"):
        inner = to_tex(text[1:-1])
        if inner is None:
            raise Unreadable
        return inner
    if len(text) > 2 and text in _GREEK:
        return "\\" + text
    return rf"\mathrm{{{text}}}" if _INDEX_WORD.fullmatch(text) else text


# --- formulas within a text ------------------------------------------------------------------------------------------

_INDEXED = r"[A-Za-z]+'?(?:\^[A-Za-z]+)?(?:_[A-Za-z0-9]+|_\{[^{}]*\})|[A-Za-z]\^[A-Za-z]+"
_CALLED = rf"(?:{_INDEXED}|[a-z]+)\((?:[^()\s]|,\s|(?<=[\w)])\s(?=[+*/-]\s)|(?<=[+*/-])\s)*\)"
_LONE = r"(?<![\w.'-])(?:[b-zB-HJ-Z]|\d+(?:\.\d+)?)(?![\w'-])"
_OPERAND = rf"(?:{_CALLED}|{_INDEXED}|{_LONE})"
_SIGN = r"\s(?:<=|>=|!=|[=+*/<>-])\s"
_RUN = re.compile(rf"(?<![\w`.^])(?:{_OPERAND})(?:(?:{_SIGN}|\s)(?:{_OPERAND}))*(?![\w(^])")
_SYMBOL = re.compile(rf"\b(?:[A-Za-z]{{1,2}}|{'|'.join(sorted(_GREEK))})'?(?:\^[A-Za-z]+)?_[A-Za-z0-9]+\b")
_FORMULA = re.compile(rf"{_INDEXED}|{_CALLED}|{_SIGN}")


def inline(text: str) -> str:
    """A formula within a line, `$TeX$`; as code where `to_tex` cannot read it."""
    tex = to_tex(text)
    return f"`{text}`" if tex is None else f"${tex}$"


def with_tex(text: str) -> str:
    """A text whose symbols (`T^m_kj`) and formulas (`n_m / throughput(m, X)`) are TeX.

    Its code stays as it is, but for code that holds an indexed symbol, `z_jtb`: that is a formula.
    """
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(_code(part) if part.startswith("`") else _RUN.sub(_as_tex, part) for part in parts)


def _code(part: str) -> str:
    return inline(" ".join(part[1:-1].split())) if _SYMBOL.search(part) else part


def _as_tex(found: re.Match[str]) -> str:
    return inline(" ".join(found[0].split())) if _FORMULA.search(found[0]) else found[0]
