"""Forms in which a person answers in a model's place: made from the schema or the tools that the model gets.

What they come to is the JSON that a model would write. A schema that agents know is checked in full here, so
that a mistake stands beside the field; anything else is checked by whoever asked, as a model's answer is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from pydantic import BaseModel, ValidationError

from agents.modelled.forms import Attacks, Estimates, FailureAnswer, Proposal, RubricAnswer
from agents.providers.base import Json
from agents.rubrics import Rubric

KNOWN: Mapping[str, type[BaseModel]] = {
    "proposal": Proposal,
    "plan_review": RubricAnswer,
    "environment_review": RubricAnswer,
    "failure_verdict": FailureAnswer,
    "estimates": Estimates,
    "attacks": Attacks,
}
VERDICTS = [("pass", "pass"), ("fail", "fail"), ("not_applicable", "not applicable")]
ROWS = 4
_WHOLE_FILE = ("text", "script")
_ONE_LINE = "key after scenario skill tool target path name kind seconds".split()


@dataclass(frozen=True, slots=True)
class Part:
    """One property of the schema: a field, or `rows` of fields, of which those left blank do not count."""

    name: str
    title: str
    rows: tuple[tuple[str, ...], ...]
    repeated: bool = False


class Text(forms.CharField):
    """Text as it was typed, with the line ends of files rather than of forms."""

    def __init__(self, *, rows: int = 2, **kwargs: Any) -> None:
        attributes = {"rows": rows, "class": "typed"} if rows > 1 else {}
        widget = forms.Textarea(attrs=attributes) if rows > 1 else forms.TextInput()
        super().__init__(**{"required": False, "strip": False, "widget": widget, **kwargs})

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


class Lines(Text):
    """A list of texts, one on each line; blank ones are none."""

    def clean(self, value: Any) -> Any:
        return [line.strip() for line in super().clean(value).split("\n") if line.strip()]


class AnswerForm(forms.Form):
    """`value()` is the answer as JSON, once the form is valid."""

    def value(self) -> Mapping[str, Json]:
        raise NotImplementedError

    def place(self, path: Sequence[str | int]) -> str | None:
        """The field in which that part of the answer was typed."""
        return None

    def complain(self, path: Sequence[str | int], message: str) -> None:
        """Beside its field where there is one, else above all of them."""
        field = self.place(path)
        where = ".".join(map(str, path))
        self.add_error(field if field in self.fields else None, message if field else f"{where}: {message}")


class RubricForm(AnswerForm):
    """A row for each criterion of the rubric."""

    def __init__(self, rubric: Rubric, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rubric = rubric
        for key in rubric.keys:
            self.fields[f"verdict-{key}"] = forms.ChoiceField(
                label="Verdict", choices=VERDICTS, widget=forms.RadioSelect
            )
            self.fields[f"explanation-{key}"] = Text(
                label="Why", required=True, error_messages={"required": "Say why, in a sentence."}
            )
            self.fields[f"quote-{key}"] = Text(label="Quote, word for word")

    def lines(self) -> Iterator[tuple[Any, list[Any]]]:
        """Each criterion with its fields, bound."""
        for criterion in self.rubric.criteria:
            yield criterion, [self[f"{name}-{criterion.key}"] for name in ("verdict", "explanation", "quote")]

    def value(self) -> Mapping[str, Json]:
        given = self.cleaned_data
        return {
            "verdicts": [
                {
                    "criterion": key,
                    "verdict": given[f"verdict-{key}"],
                    "explanation": given[f"explanation-{key}"],
                    "quote": given[f"quote-{key}"],
                }
                for key in self.rubric.keys
            ]
        }


class SchemaForm(AnswerForm):
    """A field for each property of an object; a list of flat objects is rows of fields."""

    def __init__(self, schema: Mapping[str, Json], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.schema = schema
        self.required = set(schema.get("required", ()))
        self.parts = [self._part(name, self._whole(spec)) for name, spec in self._properties(schema).items()]

    def groups(self) -> Iterator[tuple[Part, list[list[Any]]]]:
        """Each part with its rows of bound fields."""
        for part in self.parts:
            yield part, [[self[name] for name in row] for row in part.rows]

    def value(self) -> Mapping[str, Json]:
        found: dict[str, Json] = {}
        for part in self.parts:
            if part.repeated:
                found[part.name] = [self._row(row) for row in self._filled(part)]
            elif part.name in self.required or not _blank(self.cleaned_data.get(part.name)):
                found[part.name] = self.cleaned_data.get(part.name)
        return found

    def place(self, path: Sequence[str | int]) -> str | None:
        name, *rest = (*path, "")
        part = next((each for each in self.parts if each.name == name), None)
        if part is None or not part.repeated:
            return part.name if part else None
        filled = self._filled(part)
        at = rest[0]
        if isinstance(at, int) and at < len(filled):
            return next((each for each in filled[at] if each.endswith(f"-{rest[1]}")), filled[at][0])
        return part.rows[0][0]

    def _part(self, name: str, spec: Mapping[str, Json]) -> Part:
        title = name.replace("_", " ")
        inner = self._properties(self._whole(spec.get("items", {})))
        if spec.get("type") != "array" or not inner:
            self.fields[name] = _field(name, spec, needed=name in self.required)
            return Part(name, title, ((name,),))
        rows = []
        for at in range(self._rows(name)):
            for key, cell in inner.items():
                self.fields[f"{name}-{at}-{key}"] = _field(key, self._whole(cell), needed=False)
            rows.append(tuple(f"{name}-{at}-{key}" for key in inner))
        return Part(name, title, tuple(rows), repeated=True)

    def _rows(self, name: str) -> int:
        """As many as were sent, or those of the answer before with some to spare, or some to begin with."""
        return max(ROWS, _rows_in(self.data, self.add_prefix(name)), _rows_in(self.initial, name, spare=2))

    def _filled(self, part: Part) -> list[tuple[str, ...]]:
        return [row for row in part.rows if not all(_blank(self.cleaned_data.get(name)) for name in row)]

    def _row(self, names: Sequence[str]) -> Mapping[str, Json]:
        cells = {name.split("-", 2)[2]: self.cleaned_data.get(name) for name in names}
        return {key: cell for key, cell in cells.items() if cell is not None}

    def _properties(self, schema: Mapping[str, Json]) -> Mapping[str, Json]:
        """In the order of what is required, since a stored schema has its properties by the alphabet."""
        found: Mapping[str, Json] = schema.get("properties", {})
        first = [name for name in schema.get("required", ()) if name in found]
        return {name: found[name] for name in dict.fromkeys([*first, *found])}

    def _whole(self, spec: Mapping[str, Json]) -> Mapping[str, Json]:
        """With what it refers to in its place."""
        named = str(spec.get("$ref", "")).removeprefix("#/$defs/")
        return {**self.schema.get("$defs", {}).get(named, {}), **spec} if named else spec


class JsonForm(AnswerForm):
    """The answer as a model would write it."""

    answer = Text(label="Answer, as JSON", rows=18, required=True)

    def clean_answer(self) -> Mapping[str, Json]:
        try:
            found = json.loads(self.cleaned_data["answer"])
        except (ValueError, RecursionError) as problem:
            raise forms.ValidationError(f"This is no JSON that can be read: {problem}.") from problem
        if not isinstance(found, dict):
            raise forms.ValidationError("This is JSON, but no object: begin it with {.")
        return found

    def value(self) -> Mapping[str, Json]:
        found: Mapping[str, Json] = self.cleaned_data["answer"]
        return found

    def complain(self, path: Sequence[str | int], message: str) -> None:
        where = ".".join(map(str, path))
        self.add_error("answer", f"{where}: {message}" if where else message)


class WordsForm(forms.Form):
    """An answer that is just said."""

    words = Text(label="Answer", rows=6, required=True, error_messages={"required": "Write what you answer."})


def checked(form: AnswerForm, name: str) -> str:
    """The answer as text, or nothing where the form says what is wrong. `name` is the schema's."""
    if not form.is_valid():
        return ""
    value = form.value()
    written = json.dumps(value, ensure_ascii=False)
    known = KNOWN.get(name)
    if known is None:
        return written
    try:
        known.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as problem:
        for error in problem.errors():
            form.complain(error["loc"], error["msg"])
        return ""
    return written


def _field(name: str, spec: Mapping[str, Json], *, needed: bool) -> forms.Field:
    said = {"label": name.replace("_", " ").capitalize(), "help_text": spec.get("description", "")}
    kind, choices = spec.get("type"), spec.get("enum")
    if choices:
        return forms.ChoiceField(
            choices=[("", "–"), *((each, each) for each in choices)], required=needed, **said
        )
    if kind in ("integer", "number"):
        field = forms.IntegerField if kind == "integer" else forms.FloatField
        return field(required=needed, initial=spec.get("default"), **said)
    if kind == "boolean":
        return forms.BooleanField(required=False, **said)
    if kind == "array" and spec.get("items", {}).get("type") == "string":
        return Lines(**{**said, "help_text": f"{said['help_text']} (one on each line)".strip()})
    if kind == "string":
        rows = 16 if name in _WHOLE_FILE else 1 if name in _ONE_LINE else 3
        return Text(rows=rows, **said)
    return forms.JSONField(required=needed, **said)


def _rows_in(names: Iterable[str], part: str, *, spare: int = 0) -> int:
    """How many rows of that part the names of fields are of; more than a form may have are not believed."""
    start = f"{part}-"
    found = {name.removeprefix(start).split("-")[0] for name in names if name.startswith(start)}
    return max((int(at) + 1 + spare for at in found if at.isdecimal() and len(at) < 3), default=0)


def _blank(value: object) -> bool:
    return value is None or value == "" or value == []
