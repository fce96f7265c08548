"""task.toml: what is understood, and what is refused where."""

import pytest

from sandboxes.config import TaskConfig, parse_config
from sandboxes.errors import TaskRefused


def parse(text: str | bytes) -> TaskConfig:
    return parse_config(text if isinstance(text, bytes) else text.encode(), "task.toml")


def refused(text: str | bytes) -> TaskRefused:
    with pytest.raises(TaskRefused) as caught:
        parse(text)
    assert caught.value.path == "task.toml"
    return caught.value


def test_an_empty_file_gives_harbors_defaults() -> None:
    config = parse("")
    assert config.schema_version == "1.4"
    assert config.task_name == ""
    assert config.agent.timeout_sec is None
    assert config.verifier.timeout_sec == 600
    assert config.environment.build_timeout_sec == 600
    assert config.environment.network_mode == "public"
    assert config.artifacts == ()
    assert not config.verifier.separate


def test_every_field_we_use_is_read() -> None:
    config = parse(
        """
        artifacts = ["/app/out.txt", { source = "/app/d", destination = "d", exclude = ["*.tmp"] }]
        [task]
        name = "org/name"
        description = "d"
        keywords = ["a", "b"]
        [metadata]
        category = "data-processing"
        difficulty = "easy"
        tags = ["no", "on", "1.10"]
        [agent]
        timeout_sec = 30
        user = "dev"
        [verifier]
        timeout_sec = 31.5
        env = { KEY = "${KEY}" }
        user = 1000
        environment_mode = "separate"
        [environment]
        build_timeout_sec = 5
        cpus = 2
        memory_mb = 512
        storage_mb = 1024
        workdir = "/srv"
        network_mode = "no-network"
        env = { A = "1" }
        [solution]
        env = { S = "${S:-x}" }
        """
    )
    assert config.schema_version == "1.4"
    assert [(a.source, a.destination, a.exclude) for a in config.artifacts] == [
        ("/app/out.txt", None, ()),
        ("/app/d", "d", ("*.tmp",)),
    ]
    assert (config.task.name, config.task.description, config.task.keywords) == ("org/name", "d", ("a", "b"))
    assert (config.category, config.difficulty) == ("data-processing", "easy")
    assert (config.agent.timeout_sec, config.agent.user) == (30, "dev")
    assert (config.verifier.timeout_sec, config.verifier.user) == (31.5, 1000)
    assert config.verifier.env == {"KEY": "${KEY}"}
    assert config.verifier.separate
    assert config.environment.cpus == 2
    assert (config.environment.memory_mb, config.environment.storage_mb) == (512, 1024)
    assert (config.environment.workdir, config.environment.network_mode) == ("/srv", "no-network")
    assert config.solution.env == {"S": "${S:-x}"}


def test_the_legacy_version_is_the_schema_version() -> None:
    assert parse('version = "1.0"').schema_version == "1.0"


def test_unknown_keys_and_tables_are_no_error() -> None:
    config = parse(
        """
        [metadata]
        nested = { a = [1, 2], when = 2026-01-02T03:04:05Z }
        [verifier]
        brand_new_key = true
        [[totally_new_table]]
        x = 1
        """
    )
    assert config.verifier.timeout_sec == 600


def test_odd_metadata_is_read_as_nothing() -> None:
    config = parse("[metadata]\ncategory = true\ndifficulty = 3\ntags = 'x'\n")
    assert (config.category, config.difficulty) == ("", "3")


def test_a_byte_order_mark_is_tolerated() -> None:
    assert parse(b'\xef\xbb\xbfversion = "1.0"\n').schema_version == "1.0"


def test_a_verifier_environment_alone_means_separate() -> None:
    assert parse("[verifier.environment]\ncpus = 1\n").verifier.separate


@pytest.mark.parametrize(("size", "mebibytes"), [("2G", 2048), ("512M", 512), ("1.5g", 1536), ("2048K", 2)])
def test_deprecated_sizes_are_read(size: str, mebibytes: int) -> None:
    config = parse(f'[environment]\nmemory = "{size}"\nstorage = "{size}"\n')
    assert (config.environment.memory_mb, config.environment.storage_mb) == (mebibytes, mebibytes)


@pytest.mark.parametrize(
    ("keys", "mode"),
    [
        ("allow_internet = false", "no-network"),
        ("allow_internet = true", "public"),
        ('allow_internet = true\nnetwork_mode = "no-network"', "no-network"),
    ],
)
def test_allow_internet_counts_where_no_mode_is_named(keys: str, mode: str) -> None:
    assert parse(f"[environment]\n{keys}\n").environment.network_mode == mode


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('version = "1.0"\n[metadata]\nnote = "match /\\s+log/i please"\n', 3, 18),
        ("a = 1\na = 2\nb = 3\n", 2, 6),
        ("a = [1,\n2\n", 2, 2),
        ("[t]\n[t]\n", 2, 3),
    ],
)
def test_bad_toml_is_refused_with_line_and_column(text: str, line: int, column: int) -> None:
    refusal = refused(text)
    assert "not valid TOML" in refusal.reason
    assert (refusal.line, refusal.column) == (line, column)
    assert "(at" not in refusal.reason


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ('x = 1\n[verifier]\nuser = "a"\ntimeout_sec = "fast"\n', "verifier.timeout_sec", 4),
        ("[agent]\ntimeout_sec = true\n", "agent.timeout_sec", 2),
        ("[agent]\ntimeout_sec = -1\n", "agent.timeout_sec", 2),
        ("[agent]\ntimeout_sec = inf\n", "agent.timeout_sec", 2),
        ("[environment]\ncpus = nan\n", "environment.cpus", 2),
        ("verifier = { timeout_sec = 'x' }\n", "verifier.timeout_sec", 1),
        ("verifier.timeout_sec = 'x'\n", "verifier.timeout_sec", 1),
        ("[verifier]\nenv = { A = 1 }\n", "verifier.env.A", 2),
        ("[verifier]\nenvironment_mode = 'seperate'\n", "verifier.environment_mode", 2),
        ("artifacts = ['/app/../etc']\n", "artifacts.0.source", 1),
        ("environment = 3\n", "environment", 1),
        ("[task]\nname = 'no-slash'\n", "task.name", 2),
        ("[task]\ndescription = 'x'\n", "task.name", 1),
        ("[environment]\nmemory = 2\n", "memory", 1),
        ("[environment]\nmemory = '2G'\nmemory_mb = 1\n", "memory", 1),
        ("[environment]\nos = 'windows'\n", "environment.os", 2),
        ("[environment]\ngpus = 1\n", "environment.gpus", 2),
        ("[[verifier.collect]]\ncommand = 'x'\n", "verifier.collect", 1),
        ("[verifier]\nenvironment_mode = 'shared'\n[verifier.environment]\n", "verifier", 1),
    ],
)
def test_a_wrong_value_is_refused_by_its_key_and_line(text: str, key: str, line: int) -> None:
    refusal = refused(text)
    assert key in refusal.reason
    assert refusal.line == line


def test_the_line_of_a_refusal_is_found_behind_a_line_of_blanks_in_no_time() -> None:
    blanks = " " * 40_000
    refusal = refused(f'[metadata]\nnote = """\n{blanks}x\n[{blanks}\n"""\n[verifier]\ntimeout_sec = "x"\n')
    assert refusal.line == 7


def test_steps_are_refused_with_the_word_multi_step() -> None:
    refusal = refused('[task]\nname = "a/b"\n[[steps]]\nname = "one"\n')
    assert "multi-step" in refusal.reason
    assert refusal.line == 3


def test_text_that_is_not_utf8_is_refused_with_its_line() -> None:
    refusal = refused(b'a = 1\nb = "\xff"\n')
    assert "not UTF-8" in refusal.reason
    assert refusal.line == 2


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = 1" + "0" * 6000, "a = 2026-13-45", "\x00"])
def test_hostile_toml_is_refused_and_never_raises_anything_else(text: str) -> None:
    refused(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[agent]\ntimeout_sec = 1e300\n", "less than or equal to 604800"),
        ("[verifier]\ntimeout_sec = 700000\n", "less than or equal to 604800"),
        ("[environment]\nbuild_timeout_sec = 700000\n", "less than or equal to 604800"),
        ('[environment.env]\n"" = "x"\n', "'' is no name of a variable"),
        ('[verifier.env]\n"A=B" = "x"\n', "'A=B' is no name of a variable"),
        ('[solution.env]\n"A\\u0000" = "x"\n', "is no name of a variable"),
        ('[environment.env]\nA = "x\\u0000"\n', "the value of A has a NUL in it"),
        (f'[environment]\nmemory = "{"9" * 400}G"\n', "^[^9]*9{20,60}… is not a size"),
        (f"a = 1\nb = {'9' * 5000}\n", "^task.toml:2: not valid TOML: a number of more than 4,300 digits$"),
        ('artifacts = ["/a\\u0000b"]\n', "has no NUL in it"),
        ('[environment]\nworkdir = ""\n', "no absolute path"),
        ('[environment]\nworkdir = "app"\n', "no absolute path"),
        ('[environment]\nworkdir = "/a\\u0000"\n', "no absolute path"),
    ],
)
def test_what_no_command_can_be_given_is_refused(text: str, said: str) -> None:
    with pytest.raises(TaskRefused, match=said):
        parse(text)
