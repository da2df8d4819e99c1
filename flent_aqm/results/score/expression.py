# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the conditions of `flent-aqm assert`, which compare a run's numbers.

    condition  := conjunction ('or' conjunction)*
    conjunction := negation ('and' negation)*
    negation   := ['not'] comparison
    comparison := sum (('<' | '<=' | '>' | '>=' | '==' | '!=') sum)*    a < b < c is both
    sum        := product (('+' | '-') product)*
    product    := factor (('*' | '/') factor)*
    factor     := '-' factor | number [unit] | name | name '(' argument ')' | '(' condition ')'

Nothing in a condition is executed. Each number has a kind: a time, a rate, a share, or a mere
number. Kinds are checked before any file is read, so that 20 and 20ms can't be mixed up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.results.score.leaves import Leaf, NumberKind, function_leaf, metric_leaf

LONGEST = 1000
DEEPEST = 40

_UNITS: dict[str, tuple[float, NumberKind]] = {
    "us": (1e-3, NumberKind.TIME), "ms": (1.0, NumberKind.TIME), "s": (1e3, NumberKind.TIME),
    "kbit/s": (1e-3, NumberKind.RATE), "Mbit/s": (1.0, NumberKind.RATE),
    "Gbit/s": (1e3, NumberKind.RATE), "%": (1.0, NumberKind.SHARE),
}
_TOKEN = re.compile(r"""\s*(?:
    (?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?) \s*
        (?P<unit>(?:[kMG]bit/s|us|ms|s)(?![\w/])|%)?
  | (?P<name>[A-Za-z_]\w*(?:\.\d+)?)
  | (?P<sign><=|>=|==|!=|[-+*/<>()]) )""", re.VERBOSE)
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b}

# Signs of other languages -> what to write here. A sign that begins another one follows it.
_OTHER_SIGNS = {"=>": ">=", "=<": "<=", "=": "==", "&": "and", "|": "or", "!": "not", "≤": "<=",
                "≥": ">=", "≠": "!=", "×": "*", "µs": "us", "μs": "us"}
# Word behind a number, which can only be a unit, unless it is an operator.
_UNIT_WORD = re.compile(r"\s*(?!(?:and|or|not)\b)([A-Za-z]\w*(?:/s)?)(?!\w)")
# Words for rates in lower case -> the unit, "" for rates that have none here. The nearest of the
# units would be another one.
_RATE_WORDS = {f"{prefix.lower()}{word}": f"{prefix}bit/s" if prefix else ""
               for prefix in ("", "k", "M", "G")
               for word in ("b/s", "bit", "bps", "bits", "bit/s", "bits/s")}
# Words for rates and sizes in bytes, whose numbers are others in each of the units.
_BYTES = re.compile(r"[kKMmGg]?i?(?:B|[Bb]ytes?)(?:ps|/s)?")
# A comma in the place of a decimal point, or between thousands.
_COMMA = re.compile(r"\d,\d")
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")
# Point of a number, not of a name.
_POINT = re.compile(r"\.(?![A-Za-z_])")


class Truth(Enum):
    """Kind of a condition, which is true or false: its only member is TRUTH. Numbers have a
    NumberKind instead."""

    TRUTH = "a condition"


@dataclass(frozen=True)
class Constant:
    """A number that is written in the condition, or the factor -1 of a minus sign.

    Attributes:
        value: in ms, Mbit/s or %, also if it is written in another unit, or without a unit.
        kind: kind of the number.
    """

    value: float
    kind: NumberKind


@dataclass(frozen=True)
class Arithmetic:
    """An operation on two numbers.

    Attributes:
        sign: "+", "-", "*" or "/".
        left: first number.
        right: second number.
        kind: kind of the result.
        scale: divisor of a product: 100 if one factor is in percent and the other has a unit or is
            in percent, too, else 1.
    """

    sign: str
    left: Node
    right: Node
    kind: NumberKind
    scale: float = 1.0


@dataclass(frozen=True)
class Comparison:
    """A comparison of two numbers.

    Attributes:
        sign: "<", "<=", ">", ">=", "==" or "!=".
        left: first number.
        right: second number.
        kind: always Truth.TRUTH.
    """

    sign: str
    left: Node
    right: Node
    kind: Truth = Truth.TRUTH


@dataclass(frozen=True)
class Logic:
    """Conditions combined by "and" or "or", or a single one negated by "not".

    Attributes:
        word: "and", "or" or "not".
        parts: the conditions.
        kind: always Truth.TRUTH.
    """

    word: str
    parts: tuple[Node, ...]
    kind: Truth = Truth.TRUTH


Node = Constant | Leaf | Arithmetic | Comparison | Logic


@dataclass(frozen=True)
class _Token:
    """A number, name or sign of the text. The words "and", "or" and "not" are names.

    Attributes:
        text: its characters, without the unit.
        kind: "number", "name" or "sign".
        unit: unit of a number as written, "" if it has none, and for names and signs.
        at: index of its first character in the text, from 0.
    """

    text: str
    kind: str
    unit: str
    at: int


def parse(text: str) -> Node:
    """Parse a condition. Raises ConfigError if the text is not a condition, has an unknown metric
    or function, compares numbers of different kinds or computes with kinds that don't fit, or is
    too long or too deeply nested."""
    if len(text) > LONGEST:
        raise ConfigError(f"the expression has {len(text)} characters; expected {LONGEST} at most")
    parser = _Parser(text, list(_tokens(text)))
    node = parser.condition()
    if parser.token is not None:
        raise parser.mistake("expected an operator or the end")
    if node.kind is not Truth.TRUTH:
        raise ConfigError(f"{text!r} is {node.kind.value}, not a condition; "
                          "compare it with something, as in: p99(latency_loaded) < 20ms")
    return node


def conjuncts(text: str) -> list[tuple[str, Node]]:
    """Return the conditions that a text joins by "and", each with its own text: all must hold. A
    text without "and" outside of brackets, or with "or" beside it, is one condition. Raises
    ConfigError if the text is not a valid condition, see parse()."""
    whole = parse(text)
    depth, begin, parts = 0, 0, []
    for token in _tokens(text):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.kind == "name" and token.text == "or":
            return [(text.strip(), whole)]
        if depth == 0 and token.kind == "name" and token.text == "and":
            parts.append(text[begin:token.at].strip())
            begin = token.at + len(token.text)
    parts.append(text[begin:].strip())
    return [(part, parse(part)) for part in parts]


def leaves(node: Node) -> list[Leaf]:
    """Return the metrics and functions that a condition uses, each once, in the order in which they
    occur first."""
    return list(dict.fromkeys(_leaves(node)))


def compare(sign: str, left: float, right: float) -> bool:
    """Return whether a comparison of two numbers holds. sign: "<", "<=", ">", ">=", "==" or "!=",
    which stands between left and right."""
    return _COMPARISONS[sign](left, right)


def _leaves(node: Node) -> Iterator[Leaf]:
    """Yield the metrics and functions that an expression uses, as often and in the order as they
    occur."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, Logic):
        for part in node.parts:
            yield from _leaves(part)
    elif isinstance(node, (Arithmetic, Comparison)):
        yield from _leaves(node.left)
        yield from _leaves(node.right)


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the tokens of a text in their order. Raises ConfigError at the first unexpected
    character. White space is passed over."""
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:end].lstrip()
            before = end - len(rest) - 1
            hint = ("write digits on both sides of the point, as in 0.5" if _POINT.match(rest) else
                    "write thousands without a comma, as in 1000, and decimals with a point, as in "
                    "0.5" if _THOUSANDS.match(text, before) else
                    "write a decimal point, as in 0.5" if _COMMA.match(text, before) else
                    # Behind a sign, as in ===, it would not be mended by another one.
                    next((f"write {ours!r}" for theirs, ours in _OTHER_SIGNS.items()
                          if rest.startswith(theirs) and text[:at][-1:] not in tuple("<>=!")),
                         "expected a number, a name or one of ( ) + - * / < <= > >= == !="))
            raise ConfigError(f"{text!r}: unexpected {rest[:12]!r} "
                              f"(character {end - len(rest) + 1}); {hint}")
        kind = next(name for name in ("number", "name", "sign") if match[name])
        if kind == "number" and not match["unit"]:
            _refuse_unknown_unit(text, match.end())
        yield _Token(match[kind], kind, match["unit"] or "", match.start(kind))
        at = match.end()


def _refuse_unknown_unit(text: str, at: int) -> None:
    """Raise ConfigError if a word that is no operator stands behind a number without a known unit.
    The message has the unit that is most like the word. For a rate in bytes it asks for bits, and
    for a number of bytes, which has no unit here, for the number alone.

    Args:
        text: the whole condition.
        at: index behind the number.
    """
    word = _UNIT_WORD.match(text, at)
    if word is None:
        return
    if _BYTES.fullmatch(word[1]):
        if not word[1].endswith(("ps", "/s")):
            raise ConfigError(f"{text!r}: {word[1]!r} (character {word.start(1) + 1}): metrics in "
                              "bytes take the number of bytes without a unit, as in "
                              "queue_standing_download_max_bytes < 15000")
        rates = ", ".join(unit for unit in _UNITS if unit.endswith("bit/s"))
        raise ConfigError(f"{text!r}: {word[1]!r} (character {word.start(1) + 1}) counts bytes; "
                          f"write the number of bits, 8 times as many, with one of {rates}")
    rate = _RATE_WORDS.get(word[1].lower())
    near = (did_you_mean(word[1], _UNITS) if rate is None else
            f"; did you mean {rate!r}?" if rate else "")
    raise ConfigError(f"{text!r}: unknown unit {word[1][:12]!r} (character {word.start(1) + 1})"
                      f"{near or ';'} {'K' if near else 'k'}nown: {', '.join(_UNITS)}")


def _unit_hint(bare: Node, other: Node) -> str:
    """Return what to do about an expression without a unit that stands beside one of another kind:
    give it a unit if it is only written numbers, else take away the other's if that one is. "" if
    `bare` has a unit, if one of the two is a condition, or if both have metrics."""
    if bare.kind is not NumberKind.NUMBER or not isinstance(other.kind, NumberKind):
        return ""
    if not leaves(bare):
        return "; give the number a unit, as in 20ms, 5Mbit/s or 1%"
    return "" if leaves(other) else "; write the other number without a unit"


def _condition_hint(one: Node, other: Node) -> str:
    """Return that a condition can't be an operand, "" if neither of the two is one."""
    if Truth.TRUTH not in (one.kind, other.kind):
        return ""
    return "; a condition has no number: join conditions by 'and' or 'or'"


class _Parser:
    """Recursive-descent parser. Each method with the name of a rule of the grammar parses the rule
    at the next token, passes over its tokens, and returns the result. It raises ConfigError if the
    text doesn't follow the rule. condition() parses the whole text, if `token` is None afterwards.

    Args:
        text: the whole text, for messages.
        tokens: its tokens.
    """

    def __init__(self, text: str, tokens: Sequence[_Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.place = 0
        self.depth = 0

    @property
    def token(self) -> _Token | None:
        """The next token, None at the end."""
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def mistake(self, why: str) -> ConfigError:
        """Return the error for the next token, to be raised: `why`, and then what was found in
        place of it, or that the text ends. why: a clause, such as "expected a number or a name"."""
        token = self.token
        seen = f"found {token.text!r} (character {token.at + 1})" if token else "it ends"
        return ConfigError(f"{self.text!r}: {why}, but {seen}")

    def accept(self, *texts: str) -> str | None:
        """Skip the next token if it is one of `texts`, and return its text. Return None, and skip
        nothing, otherwise."""
        token = self.token
        if token is None or token.kind == "number" or token.text not in texts:
            return None
        self.place += 1
        return token.text

    def deepen(self) -> None:
        """Count a further level of brackets or signs. Raises ConfigError at too many."""
        self.depth += 1
        if self.depth > DEEPEST + 1:  # the text outside of brackets is the first level
            raise ConfigError(f"{self.text!r}: brackets and signs are nested more than {DEEPEST} "
                              "deep")

    def condition(self) -> Node:
        """Parse a condition: conjunctions joined by "or". A number alone is accepted, too, and
        returned as it is. Raises ConfigError also if brackets and signs are nested deeper than
        DEEPEST."""
        self.deepen()
        node = self.logic("or", self.conjunction)
        self.depth -= 1
        return node

    def conjunction(self) -> Node:
        """Parse negations joined by "and". A single negation, or a number alone, is returned as it
        is."""
        return self.logic("and", self.negation)

    def logic(self, word: str, part: Callable[[], Node]) -> Node:
        """Parse parts that are joined by a word, and return them as Logic. Return a single part
        unchanged. Raises ConfigError if one of several parts is a number.

        Args:
            word: "or" or "and".
            part: parses a single part.
        """
        parts = [part()]
        while self.accept(word):
            parts.append(part())
        return self.truths(word, parts) if len(parts) > 1 else parts[0]

    def negation(self) -> Node:
        """Parse a comparison, with or without "not" before it. A number alone is returned as it is.
        Raises ConfigError if "not" occurs twice in a row, or before a number."""
        odd = self.accept("not") is not None
        if odd and self.token is not None and self.token.text == "not":
            raise self.mistake("expected one 'not', as two have no effect")
        node = self.comparison()
        return self.truths("not", [node]) if odd else node

    def truths(self, word: str, parts: list[Node]) -> Logic:
        """Return conditions joined by a word. Raises ConfigError if one is a number.

        Args:
            word: "and", "or" or "not".
            parts: the conditions.
        """
        for part in parts:
            if part.kind is not Truth.TRUTH:
                raise ConfigError(f"{self.text!r}: {word!r} needs conditions, but beside it is "
                                  f"{part.kind.value}; compare it with something")
        return Logic(word, tuple(parts))

    def comparison(self) -> Node:
        """Parse sums with signs of comparison between them. A single sum is returned as it is, and
        of several comparisons, as in a < b < c, all must hold. Raises ConfigError if compared sums
        are of different kinds, or one is a condition."""
        left = self.sum()
        comparisons: list[Node] = []
        while sign := self.accept(*_COMPARISONS):
            right = self.sum()
            self.same_kind(sign, left, right)
            comparisons.append(Comparison(sign, left, right))
            left = right
        if not comparisons:
            return left
        return comparisons[0] if len(comparisons) == 1 else Logic("and", tuple(comparisons))

    def same_kind(self, sign: str, left: Node, right: Node) -> NumberKind:
        """Return the kind that two numbers have. Raises ConfigError if they have different kinds,
        or if one is a condition. sign: the sign between them, for the message."""
        if not isinstance(left.kind, NumberKind) or left.kind is not right.kind:
            hint = (_unit_hint(left, right) or _unit_hint(right, left)
                    or _condition_hint(left, right) or "; both have to be of one kind")
            verb = "compared" if sign in _COMPARISONS else "computed"
            raise ConfigError(f"{self.text!r}: {left.kind.value} {sign} {right.kind.value} can't "
                              f"be {verb}{hint}")
        return left.kind

    def sum(self) -> Node:
        """Parse products joined by "+" or "-", from left to right. A single product is returned as
        it is. Raises ConfigError if several are of different kinds, or one is a condition."""
        node = self.product()
        while sign := self.accept("+", "-"):
            right = self.product()
            node = Arithmetic(sign, node, right, self.same_kind(sign, node, right))
        return node

    def product(self) -> Node:
        """Parse factors joined by "*" or "/", from left to right. A single factor is returned as it
        is. Raises ConfigError if their kinds don't fit, see product_of()."""
        node = self.factor()
        while sign := self.accept("*", "/"):
            node = self.product_of(sign, node, self.factor())
        return node

    def product_of(self, sign: str, left: Node, right: Node) -> Arithmetic:
        """Return a product or quotient. A factor or divisor without a unit leaves the kind of the
        other number; a quotient of two numbers of one kind has no unit; a factor in percent leaves
        the kind of another number that has a unit. Raises ConfigError for all other kinds.

        Args:
            sign: "*" or "/".
            left: first number.
            right: second number.
        """
        one, other = left.kind, right.kind
        if isinstance(one, NumberKind) and isinstance(other, NumberKind):
            if other is NumberKind.NUMBER:
                return Arithmetic(sign, left, right, one)
            if sign == "/" and one is other:
                return Arithmetic(sign, left, right, NumberKind.NUMBER)
            if sign == "*" and one is NumberKind.NUMBER:
                return Arithmetic(sign, left, right, other)
            # 90% * 50Mbit/s, or 50Mbit/s * 90%
            if sign == "*" and NumberKind.SHARE in (one, other):
                return Arithmetic(sign, left, right,
                                  other if one is NumberKind.SHARE else one, 100.0)
        hint = _condition_hint(left, right) or (
            "; one factor has to be without a unit or in %" if sign == "*" else
            "; the divisor has to be without a unit, or of the same kind")
        raise ConfigError(f"{self.text!r}: {one.value} {sign} {other.value} can't be computed"
                          f"{hint}")

    def factor(self) -> Node:
        """Parse a number, a metric, a function, or a condition or expression in brackets. Any
        number of "-" may stand before it, but not before a condition (ConfigError)."""
        token = self.token
        if token is None:
            raise self.mistake("expected a number or a name")
        if self.accept("("):
            node = self.condition()
            if not self.accept(")"):
                raise self.mistake("expected ')'")
            return node
        if self.accept("-"):
            self.deepen()
            node = self.factor()
            self.depth -= 1
            if node.kind is Truth.TRUTH:
                raise ConfigError(f"{self.text!r}: '-' stands before a condition; expected a "
                                  "number behind it, or 'not' in its place")
            return self.product_of("*", Constant(-1.0, NumberKind.NUMBER), node)
        if token.kind == "number":
            self.place += 1
            return self.constant(token)
        if token.kind == "name" and token.text not in ("and", "or", "not"):
            self.place += 1
            return self.called(token) if self.accept("(") else metric_leaf(token.text)
        raise self.mistake("expected a number or a name")

    def constant(self, token: _Token) -> Constant:
        """Return the number of a token, in ms, Mbit/s or % if it has a unit. Raises ConfigError if
        it is too large."""
        factor, kind = _UNITS[token.unit] if token.unit else (1.0, NumberKind.NUMBER)
        value = float(token.text) * factor
        if math.isinf(value):
            raise ConfigError(f"{self.text!r}: the number at character {token.at + 1} is too "
                              "large; expected less than 1.8e308")
        return Constant(value, kind)

    def called(self, token: _Token) -> Leaf:
        """Parse the argument of a function and the closing bracket, and return the function's leaf.
        Raises ConfigError if they are missing, if the function or the argument is unknown, or if
        they don't fit.

        Args:
            token: the function's name, which was read already, as was the opening bracket.
        """
        argument = self.token
        if argument is None or argument.kind == "sign":
            raise self.mistake(f"expected the argument of {token.text}")
        self.place += 1
        threshold = self.constant(argument) if argument.unit else None
        if not self.accept(")"):
            raise self.mistake("expected ')'")
        return function_leaf(token.text, argument.text + argument.unit,
                             threshold.value if threshold else None,
                             threshold.kind if threshold else NumberKind.NUMBER)
