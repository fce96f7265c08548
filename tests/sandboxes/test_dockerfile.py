"""What a Dockerfile says, read as BuildKit reads it; and what we do not build."""

import pytest

from sandboxes.dockerfile import (
    PolicyViolation,
    check_policy,
    copies,
    env,
    expand,
    instructions,
    runs,
    workdir,
)
from sandboxes.files import TaskFile


def context(*paths: str, **more: TaskFile) -> dict[str, TaskFile]:
    return {**{path: TaskFile(path.encode()) for path in paths}, **more}


def copied(text: str, files: dict[str, TaskFile]) -> dict[str, str]:
    found = copies("FROM debian\n" + text, files)
    assert found.notes == ()
    return dict(found.files)


# Instructions


def test_instructions_come_with_their_lines_and_flags() -> None:
    found = instructions("# c\n\nfrom debian:12 AS a\nCOPY --chmod=755 --link x /y\n  RUN\techo hi\n")
    assert [(i.name, i.value, i.line, i.flags) for i in found] == [
        ("FROM", "debian:12 AS a", 3, ()),
        ("COPY", "x /y", 4, ("--chmod=755", "--link")),
        ("RUN", "echo hi", 5, ()),
    ]
    assert (found[1].flag("chmod"), found[1].flag("link"), found[1].flag("from")) == ("755", "", None)


def test_a_line_goes_on_over_comments_and_blank_lines() -> None:
    found = instructions("FROM a\r\nRUN one && \\\r\n  # why\r\n\r\n  two\r\nUSER x\r\n")
    assert [i.name for i in found] == ["FROM", "RUN", "USER"]
    assert found[1].value.split() == ["one", "&&", "two"]


def test_two_backslashes_do_not_make_a_line_go_on() -> None:
    assert [i.name for i in instructions("FROM a\nRUN echo \\\\\nUSER x\n")] == ["FROM", "RUN", "USER"]


def test_an_instruction_that_ends_in_a_backslash_at_the_end_is_not_lost() -> None:
    assert [i.name for i in instructions("FROM a \\\n")] == ["FROM"]
    assert instructions("FROM a \\")[0].value == "a"


def test_bodies_of_heredocs_are_no_instructions() -> None:
    text = "FROM a\nRUN cat <<EOF >/x && cat <<-'TWO' >/y\nUSER evil\nEOF\n\tb\n\tTWO\nUSER good\n"
    found = instructions(text)
    assert [i.name for i in found] == ["FROM", "RUN", "USER"]
    assert found[1].heredocs == ("USER evil", "\tb")
    assert found[2].value == "good"


def test_a_heredoc_that_is_never_closed_is_none() -> None:
    assert [i.name for i in instructions("FROM a\nRUN x <<EOF\nUSER y\n")] == ["FROM", "RUN", "USER"]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment", "\ufeffFROM a", "garbage", "RUN", "FROM"])
def test_odd_files_never_raise(text: str) -> None:
    instructions(text)
    assert workdir(text) == "/"
    assert copies(text, {}).files == {}


# Stages, variables, folders


def test_the_last_stage_starts_with_what_its_parent_did() -> None:
    text = """
ARG TAG=12
FROM debian:${TAG} AS base
ENV A=1 "B"="two words"
WORKDIR /srv
RUN one
FROM scratch AS other
RUN never
FROM BASE
ENV C=$A-x OLD style value
WORKDIR sub
RUN ["two", "a b"]
"""
    assert workdir(text) == "/srv/sub"
    assert runs(text) == ("one", "two 'a b'")
    assert env(text)["A"] == "1"
    assert env(text)["B"] == "two words"


def test_env_has_an_old_form_and_expands_what_was_set_before() -> None:
    assert env("FROM a\nENV X one two\nENV Y=$X Z=${Q:-none} W='$X'\n") == {
        "X": "one two",
        "Y": "one two",
        "Z": "none",
        "W": "$X",
    }


def test_arg_gives_variables_to_its_stage_only_and_env_wins() -> None:
    text = "ARG D=/g\nFROM a\nARG D\nARG E=/e\nENV E=/env\nWORKDIR $D$E\nFROM b\nWORKDIR /x$D\n"
    assert workdir(text.partition("FROM b")[0]) == "/g/env"
    assert workdir(text) == "/x"


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("$A", "1"),
        ("${A}b", "1b"),
        ("${N:-d}", "d"),
        ("${E:-d}", "d"),
        ("${E-d}", ""),
        ("${A:+set}", "set"),
        ("${N:+set}", ""),
        ("'$A'", "$A"),
        ('"$A b"', "1 b"),
        ("\\$A", "$A"),
        ("$N", ""),
    ],
)
def test_variables_are_filled_in_as_the_builder_does(word: str, filled: str) -> None:
    assert expand(word, {"A": "1", "E": ""}) == filled


# Copies


@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("COPY in.csv /data.csv", {"/data.csv": "in.csv"}),
        ("COPY in.csv /new/", {"/new/in.csv": "in.csv"}),
        ("COPY in.csv /tmp", {"/tmp/in.csv": "in.csv"}),
        ("COPY ./in.csv /new", {"/new": "in.csv"}),
        ("WORKDIR /app\nCOPY in.csv .", {"/app/in.csv": "in.csv"}),
        ("WORKDIR /app\nCOPY in.csv x/y", {"/app/x/y": "in.csv"}),
        ("WORKDIR /app\nCOPY in.csv ./", {"/app/in.csv": "in.csv"}),
        ("WORKDIR /app\nCOPY in.csv /app", {"/app/in.csv": "in.csv"}),
        ("RUN mkdir -p /d/e && true\nCOPY in.csv /d", {"/d/in.csv": "in.csv"}),
        ("COPY d /x", {"/x/one": "d/one", "/x/sub/two": "d/sub/two"}),
        ("COPY d/ /x/", {"/x/one": "d/one", "/x/sub/two": "d/sub/two"}),
        ("COPY d/sub /", {"/two": "d/sub/two"}),
        ("COPY in.csv d /x/", {"/x/in.csv": "in.csv", "/x/one": "d/one", "/x/sub/two": "d/sub/two"}),
        ("COPY *.csv /x", {"/x": "in.csv"}),
        ("COPY *.log /x", {"/x/a.log": "a.log", "/x/b.log": "b.log"}),
        ("COPY ?.log /x/", {"/x/a.log": "a.log", "/x/b.log": "b.log"}),
        ("COPY [a].log /x/", {"/x/a.log": "a.log"}),
        ("COPY [^a].log /x/", {"/x/b.log": "b.log"}),
        ("COPY d/* /x/", {"/x/one": "d/one", "/x/two": "d/sub/two"}),
        ('COPY ["a b.txt", "/x/"]', {"/x/a b.txt": "a b.txt"}),
        ('COPY "a b.txt" /x/', {"/x/a b.txt": "a b.txt"}),
        ("COPY /in.csv /x", {"/x": "in.csv"}),
        ("COPY ../in.csv /x", {"/x": "in.csv"}),
        ("ENV D=/srv\nCOPY in.csv $D/", {"/srv/in.csv": "in.csv"}),
        ("ADD in.csv /x", {"/x": "in.csv"}),
        ("COPY in.csv /x\nCOPY a.log /x", {"/x": "a.log"}),
    ],
)
def test_a_copy_lands_where_the_builder_puts_it(text: str, placed: dict[str, str]) -> None:
    assert copied(text, context("in.csv", "a.log", "b.log", "a b.txt", "d/one", "d/sub/two")) == placed


def test_the_whole_context_is_copied_by_a_dot() -> None:
    files = context("in.csv", "d/one", "Dockerfile")
    assert copied("WORKDIR /app\nCOPY . .", files) == {f"/app/{path}": path for path in files}


def test_chmod_is_kept_where_a_later_copy_does_not_undo_it() -> None:
    text = "FROM a\nCOPY --chmod=0755 x y /b/\nCOPY y /b/y\n"
    assert copies(text, context("x", "y")).modes == {"/b/x": 0o755}


def test_a_link_that_is_named_is_followed_and_one_in_a_folder_stays() -> None:
    files = context("real", "d/one", link=TaskFile(link="real"), up=TaskFile(link="d"))
    files["d/link"] = TaskFile(link="../real")
    assert copied("COPY link /x\nCOPY d /d\nCOPY up /up", files) == {
        "/x": "real",
        "/d/one": "d/one",
        "/d/link": "d/link",
        "/up/one": "d/one",
        "/up/link": "d/link",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("COPY --from=build /x /y", "another stage"),
        ("ADD https://example.com/x /y", "URL"),
        ("ADD arc.tgz /y", "archive"),
        ("COPY <<EOF /y\nbody\nEOF", "here-document"),
        ("COPY --parents a /y", "--parents"),
        ("COPY nothing /y", "names nothing"),
        ("COPY a", "no destination"),
    ],
)
def test_what_cannot_be_placed_is_left_out_and_noted(text: str, why: str) -> None:
    found = copies(f"FROM a\n{text}\n", {**context("a"), "arc.tgz": TaskFile(b"\x1f\x8b\x08rest")})
    assert found.files == {}
    assert len(found.notes) == 1
    assert why in found.notes[0]
    assert found.notes[0].startswith("line 2: ")


def test_copy_does_not_unpack_archives() -> None:
    assert copied("COPY arc.tgz /y", {"arc.tgz": TaskFile(b"\x1f\x8b\x08rest")}) == {"/y": "arc.tgz"}


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ("*.log", {"in.csv", "d/c.log", "d/e"}),
        ("**/*.log", {"in.csv", "d/e"}),
        ("d", {"in.csv", "a.log"}),
        ("/d/", {"in.csv", "a.log"}),
        ("# comment\n\n*\n!d\n", {"d/c.log", "d/e"}),
        ("d\n!d/e\n", {"in.csv", "a.log", "d/e"}),
    ],
)
def test_dockerignore_is_honoured_from_the_root(rules: str, left: set[str]) -> None:
    files = {**context("in.csv", "a.log", "d/c.log", "d/e"), ".dockerignore": TaskFile(rules.encode())}
    found = copies("FROM a\nCOPY . /x/\n", files)
    assert set(found.files.values()) - {".dockerignore"} == left


# Policy


@pytest.mark.parametrize(
    "text",
    [
        "FROM debian:bookworm-slim\nRUN --network=none x\n",
        "# syntax=docker/dockerfile:1\nFROM python:3.11-slim@sha256:" + "a" * 64 + "\n",
        "# syntax=docker/dockerfile:1.7\n# escape=\\\nFROM a AS b\nCOPY --from=b /x /y\n",
        "FROM a\nFROM b\nCOPY --from=0 /x /y\n",
        "FROM debian\nRUN --mount=type=cache,target=/root/.cache x\n",
        "FROM debian\nRUN --mount=type=bind,from=a/b,target=/x y\n",
        "FROM debian\nRUN cat <<EOF > /x\nselect 1\nEOF\n",
        "FROM debian\nENV FROM=envevo/x\nRUN echo --network=host FROM envevo/x\n",
        "FROM my-envevo/x",
    ],
)
def test_ordinary_dockerfiles_pass(text: str) -> None:
    check_policy(text)


@pytest.mark.parametrize(
    "step",
    [
        "ADD https://example.com/x /y",
        "add --chown=1 HTTP://127.0.0.1:80/x /y",
        "ADD local ftp://example.com/x /y",
        'ADD ["http://example.com/x", "/y"]',
        'ADD ["ht\\\\tp:/\\u002fexample.com/x", "/y"]',
        "ADD h't'tp:\\//example.com/x /y",
        "ADD git@github.com:a/b.git /y",
        "ADD someone@host:a/b.git /y",
        "ARG U=http://example.com/x\nADD $U /y",
        "ENV U=http://example.com/x\nADD ${U:-x} /y",
        "ONBUILD ADD http://example.com/x /y",
        "ONBUILD ONBUILD ADD http://example.com/x /y",
    ],
)
def test_what_the_engine_itself_would_fetch_is_refused(step: str) -> None:
    with pytest.raises(PolicyViolation, match=r"line \d: ADD "):
        check_policy(f"FROM a\n{step}\n")
    check_policy(f"FROM a\n{step}\n", build_network=True)


@pytest.mark.parametrize(
    "step",
    [
        "LABEL org.envevo.fork=1",
        "LABEL a=b 'org.envevo.run.token'=x",
        "LABEL org.envevo.instance x",
        "LABEL org.env\\evo.fork=1",
        "LABEL a=b \\\n  ORG.envevo.fork=1",
        "ARG L=org.envevo.fork\nLABEL $L=1",
        "ENV L=envevo\nLABEL org.${L}.fork 1",
        "ONBUILD LABEL org.envevo.fork=1",
    ],
)
def test_our_own_labels_are_refused_however_they_are_written(step: str) -> None:
    with pytest.raises(PolicyViolation, match="labels of this installation"):
        check_policy(f"FROM a\n{step}\n")


@pytest.mark.parametrize("step", ["LABEL maintainer=org.envevo", "LABEL a $X", "LABEL a=$X b='c d'"])
def test_other_labels_pass(step: str) -> None:
    check_policy(f"FROM a\n{step}\n")


@pytest.mark.parametrize(
    "step",
    [
        "RUN cat <<'E\\'\nE\\\nFROM envevo/x:1",
        'RUN cat <<"E F"\nx\nE F\nRUN true',
        "RUN cat <<E'F'\nx\nEF",
        "COPY <<$A /x\nx\n$A",
        "RUN cat <<EOF>/x\nx\nEOF>/x",
        "RUN cat 3<<-!\nx\n!",
    ],
)
def test_a_here_document_with_an_odd_delimiter_is_refused(step: str) -> None:
    with pytest.raises(PolicyViolation, match="this way to write a here-document"):
        check_policy(f"FROM a\n{step}\n")


@pytest.mark.parametrize(
    "step",
    [
        "RUN cat <<EOF\nx\nEOF",
        "RUN cat <<-'E.1' > /x\nx\nE.1",
        "RUN echo $((1<<2)) $(( 1 << 2 ))",
        "RUN cat <<<word",
        'RUN echo "<<x y"',
    ],
)
def test_an_ordinary_here_document_or_shift_passes(step: str) -> None:
    check_policy(f"FROM a\n{step}\n")


OUR_IMAGES = [
    "FROM envevo/x",
    "from  EnvEvo/x:1",
    "FROM docker.io/envevo/x",
    "FROM localhost:5000/envevo/x",
    "FROM envevo/x AS y",
    "FROM --platform=linux/amd64 envevo/x",
    "FROM \\\n  # comment\n\nenvevo/x",
    "FROM envevo/x \\",
    "\ufeffFROM envevo/x",
    "FROM a\nFROM envevo/x",
    "ARG A=envevo\nFROM ${A}/x",
    "ARG A=ok\nARG A=envevo/x\nFROM $A",
    "FROM ${UNSET:-envevo}/x",
    "ARG A=1\nFROM ${A:+envevo/x}",
    'FROM "envevo/x"',
    "FROM a\nCOPY --from=envevo/x /a /b",
    "FROM a\nCOPY --fr\\om=envevo/x /a /b",
    "FROM a\nADD --from=envevo/x /a /b",
    "FROM a\nRUN --mount=type=bind,from=envevo/x,target=/x ls",
    'FROM a\nRUN --mount="type=bind,from=envevo/x",target=/x ls',
    "FROM a\nONBUILD COPY --from=envevo/x /a /b",
    "FROM a\nRUN echo \\\\\nFROM envevo/x",
    'FROM a\nRUN echo "x <<EOF"\nFROM envevo/x\nEOF\n',
    "FROM a\nRUN cat <<EOF\nx\nEOF\nFROM envevo/x",
    'FROM a\nRUN "x <<A"\nRUN "x <<B"\nFROM envevo/x\nB\nA\n',
]


@pytest.mark.parametrize("text", OUR_IMAGES)
def test_our_own_images_are_refused_however_they_are_written(text: str) -> None:
    with pytest.raises(PolicyViolation, match="images of this installation"):
        check_policy(text)


_ENDS = "".join(f"A{n}\n" for n in reversed(range(20)))


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("FROM sha256:" + "0" * 64, "image id", 1),
        ("FROM 1a2b3c4d5e6f", "image id", 1),
        ("FROM a\nCOPY --from=1a2b3c4d5e6f /a /b", "image id", 2),
        ("FROM ${X#y}envevo/x", "variable", 1),
        ("FROM a\nCOPY --from=$X /a /b", "variable", 2),
        ("# syntax=evil/frontend\nFROM a", "syntax", 1),
        ("# syntax = docker/dockerfile:1-labs\nFROM a", "syntax", 1),
        ("#!/usr/bin/env x\n# a comment\n// SYNTAX=evil\nFROM a", "syntax", 3),
        ('{"syntax": "evil"}', "JSON", 1),
        ("# escape=`\nFROM a", "escape", 1),
        ("FROM a\n\nRUN --network=host x", "--network=host", 3),
        ('FROM a\nRUN --network="host" x', "--network=host", 2),
        ("FROM a\nRUN --net\\work=host x", "--network=host", 2),
        ("FROM a\nRUN --network=$X x", "--network", 2),
        ("FROM a\nRUN --mount=type=tmpfs,target=/x --security=insecure x", "--security", 2),
        ("FROM a\nONBUILD RUN --security=insecure x", "--security", 2),
        ("FROM a\nRUN x \\\u2028\nUSER y", "control character", 2),
        ("FROM a\nRUN x \\\x1c\nUSER y", "control character", 2),
        ("FROM a\rUSER y\n", "control character", 1),
        ("FROM a\n" + "".join(f"RUN x <<A{n}\n" for n in range(20)) + _ENDS, "nested", 2),
        ("FROM a\n" + "#\n" * 40_000, "characters", 1),
        ("FROM a\n" + "USER x\n" * 600, "500 instructions", 1),
        ("ARG A=xx\n" + "ARG A=$A$A\n" * 60 + "FROM $A\n", "variable", 62),
    ],
)
def test_the_rest_is_refused_by_name_and_line(text: str, words: str, line: int) -> None:
    with pytest.raises(PolicyViolation) as caught:
        check_policy(text)
    assert words in caught.value.reason
    assert caught.value.line == line
    assert str(caught.value) == f"line {line}: {caught.value.reason}"
