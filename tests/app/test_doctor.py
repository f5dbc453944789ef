"""The doctor's findings, piece by piece."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import anyio
import pytest

from hub.app import doctor
from hub.app.findings import Finding, broken
from hub.app.setup import find_sources, load_setup
from hub.config.schema import BUNDLED
from hub.core.errors import RoleError, UsageError
from hub.testing.faulty.launch import faulty_command

KEY = "sk-right-key"


@pytest.fixture
def endpoint() -> Iterator[str]:
    """An endpoint that lists two models to whoever has the key; /none keeps no list."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            right = self.headers["authorization"] == f"Bearer {KEY}"
            status = 404 if "/none" in self.path else 200 if right else 401
            if "/odd" in self.path:
                body = b"<html>hello</html>"
            elif status == 200:
                body = json.dumps({"data": [{"id": "small-1"}, {"id": "large-1"}]}).encode()
            else:
                body = json.dumps({"error": {"message": f"no {self.headers}"}}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment with folders of its own and nothing else."""
    return {
        "HUB_STATE_DIR": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PATH": "/usr/bin:/bin",
    }


Look = Callable[..., list[Finding]]


@pytest.fixture
def look(tmp_path: Path, environ: dict[str, str]) -> Look:
    """Examine a project without servers, and return the findings about one thing."""
    project = tmp_path / "project"
    (project / ".hub").mkdir(parents=True)
    off = "servers:\n" + "".join(f"  {n}: {{enabled: false}}\n" for n in BUNDLED)
    (tmp_path / "config" / "hub").mkdir(parents=True)
    (tmp_path / "config" / "hub" / "config.yaml").write_text(off, encoding="utf-8")

    def run(
        check: str, model: str | None = None, team: Path | None = None, **more: str
    ) -> list[Finding]:
        found: list[Finding] = []

        async def examine() -> None:
            with anyio.fail_after(30):
                await doctor.examine(
                    project, model=model, team=team, environ={**environ, **more}, tell=found.append
                )

        anyio.run(examine)
        return [finding for finding in found if finding.check == check]

    return run


def test_an_interpreter_that_is_too_old_is_an_error() -> None:
    """3.11 is the oldest."""
    assert doctor.python_version((3, 10, 9)).state == "error"
    found = doctor.python_version((3, 11, 0))
    assert found == Finding("python", "ok", f"3.11.0 ({sys.executable})")


def test_the_packages_of_this_installation_are_in_order() -> None:
    """Every requirement of the distribution is met here, and named with its version."""
    found = doctor.packages()
    assert found.state == "ok", found
    assert "pydantic 2." in found.message


def test_a_package_that_is_missing_or_too_old_is_named_with_the_line_to_run() -> None:
    """The remedy is a command."""
    found = doctor.packages(["no-such-package>=1", "anyio>=99,<100", "rich; extra == 'x'"])
    assert found.state == "error"
    assert found.message.startswith("no-such-package is missing; anyio is 4.")
    assert found.message.endswith("needed is >=99,<100")
    assert found.remedy == f"Run: {sys.executable} -m pip install --upgrade dispatch-hub"


@pytest.mark.parametrize(
    ("version", "bounds", "fits"),
    [
        ("4.9.0", ">=4.9,<5", True),
        ("4.16", ">=4.9,<5", True),
        ("5.0.0rc1", ">=4.9,<5", False),
        ("4.8.9", ">=4.9,<5", False),
        ("1.0", "", True),
        ("2.0.1", "==2.0.1", True),
    ],
)
def test_versions_are_compared_by_number(version: str, bounds: str, fits: bool) -> None:
    """4.16 is later than 4.9."""
    assert doctor.fits(version, bounds) is fits


def test_a_state_folder_is_looked_at_and_not_made(tmp_path: Path) -> None:
    """A file in the way is an error; a folder that is still missing is fine."""
    folder = tmp_path / "a" / "b"
    assert doctor.state_folder(folder) == Finding("state", "ok", f"{folder} (will be created)")
    assert not (tmp_path / "a").exists()
    (tmp_path / "a").write_text("")
    found = doctor.state_folder(folder)
    assert found.state == "error"
    assert "HUB_STATE_DIR" in found.remedy


def test_settings_that_are_found_are_named(look: Look, tmp_path: Path) -> None:
    """Files are listed by path; broken ones by file and line, and the rest is still looked at."""
    user = tmp_path / "config" / "hub" / "config.yaml"
    assert [f.message for f in look("settings")] == [str(user)]
    path = tmp_path / "project" / ".hub" / "config.yaml"
    path.write_text("modle: x\n", encoding="utf-8")
    (found,) = look("settings")
    assert found.state == "error"
    assert f"{path}:1" in found.message
    assert "Did you mean 'model'?" in found.remedy
    assert look("packages")


def test_what_is_withheld_is_a_warning_with_the_command_to_run(look: Look, tmp_path: Path) -> None:
    """H52: a server that is not approved is named, with its launch, and not started."""
    path = tmp_path / "project" / ".mcp.json"
    path.write_text('{"mcpServers": {"own": {"command": "/no/such"}}}', encoding="utf-8")
    (found,) = look("server own")
    assert found.state == "warning"
    assert "not approved, so it was not started" in found.message
    assert f'{path}:1 asks for ["/no/such"]' in found.message
    assert found.remedy.endswith("hub mcp approve own")
    assert look("trust") == []


def test_what_is_withheld_beside_servers_needs_trust(look: Look, tmp_path: Path) -> None:
    """Wider permissions of a project are agreed to with the workspace."""
    (tmp_path / "project" / ".hub").mkdir(exist_ok=True)
    path = tmp_path / "project" / ".hub" / "config.yaml"
    path.write_text('permissions: {allow: ["shell__*"]}\n', encoding="utf-8")
    (found,) = look("trust")
    assert (found.state, found.remedy) == ("warning", "Look at it with: hub trust")


def test_a_server_that_fails_is_told_with_the_commands_that_look_closer(
    look: Look, tmp_path: Path
) -> None:
    """The doctor names the specialist."""
    command, arguments = faulty_command("exit_on_start")
    folder = tmp_path / "config" / "hub"
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"servers": {"mine": {"command": command, "args": arguments}}}
    (folder / "config.yaml").write_text(json.dumps(entry), encoding="utf-8")
    (found,) = look("server mine")
    assert found.state == "error"
    assert "hub mcp test mine" in found.remedy


def test_what_is_held_back_of_a_server_is_a_warning(look: Look, tmp_path: Path) -> None:
    """H50: the doctor says what a run would not offer, and where to see why."""
    command, arguments = faulty_command(f"starts={tmp_path / 'starts'}", "change@2-=description")
    folder = tmp_path / "config" / "hub"
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"servers": {"mine": {"command": command, "args": arguments}}}
    (folder / "config.yaml").write_text(json.dumps(entry), encoding="utf-8")
    assert [one.state for one in look("server mine")] == ["ok"]
    states = [one.state for one in look("server mine")]
    assert states == ["ok", "warning"]


def test_without_a_model_the_ways_to_name_one_are_told(look: Look) -> None:
    """The remedy names the variable, the setting and the flag."""
    (found,) = look("model")
    assert found.state == "error"
    for words in ("HUB_MODEL", "model: NAME", "--model"):
        assert words in found.remedy


def test_a_model_that_is_listed_is_fine(look: Look, endpoint: str) -> None:
    """The endpoint was asked with the key."""
    env = {"OPENAI_BASE_URL": f"{endpoint}/v1", "OPENAI_API_KEY": KEY}
    (found,) = look("model", model="small-1", **env)
    assert found.state == "ok", found
    assert found.message.startswith(f"small-1 at {endpoint}/v1")


@pytest.mark.parametrize(
    ("path", "key", "state", "words"),
    [
        ("/v1", KEY, "warning", "does not list 'small-2'"),
        ("/none", KEY, "warning", "has no list of models"),
        ("/odd", KEY, "warning", "has no list of models"),
        ("/v1", "sk-wrong-key", "error", "refused the API key"),
    ],
)
def test_what_is_wrong_with_a_model_is_told_with_a_remedy(
    look: Look, endpoint: str, path: str, key: str, state: str, words: str
) -> None:
    """An unknown name, an address without a list, a wrong key; the key itself is never shown."""
    env = {"OPENAI_BASE_URL": f"{endpoint}{path}", "OPENAI_API_KEY": key}
    (found,) = look("model", model="small-2", **env)
    assert (found.state, words in found.message) == (state, True), found
    assert found.remedy
    assert key not in found.message + found.remedy


def test_an_address_where_nobody_answers_is_an_error(look: Look) -> None:
    """The address and the variable to set are named."""
    (found,) = look("model", model="x", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert found.state == "error"
    assert "127.0.0.1:9" in found.message
    assert "OPENAI_BASE_URL" in found.remedy


def test_a_script_needs_no_endpoint(look: Look, tmp_path: Path) -> None:
    """A script model is fine when its file is there and can be read as a script."""
    script = tmp_path / "team.yaml"
    (missing,) = look("model", model=f"script:{script}")
    assert missing.state == "error"
    script.write_text("script: 1\nturns: [{txet: hi}]\n", encoding="utf-8")
    (broken,) = look("model", model=f"script:{script}")
    assert (broken.state, f"{script}:2" in broken.message) == ("error", True)
    script.write_text("script: 1\nturns: [{text: hi}]\n", encoding="utf-8")
    (found,) = look("model", model=f"script:{script}")
    assert found.state == "ok"


def test_a_workspace_that_does_not_exist_is_a_usage_error(environ: dict[str, str]) -> None:
    """There is nothing to look at."""
    with pytest.raises(UsageError):
        find_sources(Path("/no/such/folder"), environ=environ)


def test_a_setup_is_loaded_without_touching_the_disk(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """Looking creates neither state nor configuration."""
    folder = tmp_path / "empty"
    folder.mkdir()
    setup = load_setup(folder, find_sources(folder, environ=environ))
    assert set(setup.book.roles) >= {"lead", "explorer"}
    assert not (tmp_path / "state").exists()


def test_servers_are_started_and_timed_and_broken_ones_named(look: Look, tmp_path: Path) -> None:
    """Tools and protocol of those that answer; what the others wrote to stderr."""
    script = "import sys; print('no module mcp_server_git', file=sys.stderr); sys.exit(3)"
    servers = {
        "files": {"enabled": True},
        "bad": {"command": sys.executable, "args": ["-c", script]},
        "none": {"command": "/no/such/program"},
    }
    text = json.dumps({"servers": {**{n: {"enabled": False} for n in BUNDLED}, **servers}})
    (tmp_path / "config" / "hub" / "config.yaml").write_text(text, encoding="utf-8")
    (good,) = look("server files")
    assert (good.state, "6 tools in" in good.message) == ("ok", True), good
    (bad,) = look("server bad")
    assert bad.state == "error"
    assert "no module mcp_server_git" in bad.message
    (none,) = look("server none")
    assert (none.state, "/no/such/program" in none.message) == ("error", True)


def test_a_role_whose_tools_are_all_missing_is_an_error_with_its_place(
    look: Look, tmp_path: Path
) -> None:
    """The roles are checked over the tools that the servers really have (A55)."""
    folder = tmp_path / "project" / ".hub" / "roles"
    folder.mkdir(parents=True)
    (folder / "bad.md").write_text("---\ntools: [filse__read]\n---\nx\n", encoding="utf-8")
    text = json.dumps({"servers": {n: {"enabled": n == "files"} for n in BUNDLED}})
    (tmp_path / "config" / "hub" / "config.yaml").write_text(text, encoding="utf-8")
    found = [finding for finding in look("roles") if finding.message.startswith("bad:")]
    assert found[0].state == "error"
    assert "bad.md:2" in found[0].remedy


def test_the_models_of_the_role_that_a_run_starts_with_and_of_its_reach_are_looked_at(
    look: Look, endpoint: str, tmp_path: Path
) -> None:
    """What ``role:`` names counts, not what no role uses; each model is told once."""
    roles = tmp_path / "team" / "roles"
    roles.mkdir(parents=True)
    front = {
        "boss": "user_facing: true\nmodel: small-1\ndispatch: [hand, tool]",
        "hand": "model: small-2\ndispatch: [tool]",
        "tool": "model: script:none.yaml",
        "other": "model: script:elsewhere.yaml",
    }
    for name, text in front.items():
        (roles / f"{name}.md").write_text(f"---\n{text}\n---\nx\n", encoding="utf-8")
    settings = tmp_path / "team" / "config.yaml"
    settings.write_text("role: boss\n", encoding="utf-8")
    env = {"OPENAI_BASE_URL": f"{endpoint}/v1", "OPENAI_API_KEY": KEY}
    found = look("model", team=tmp_path / "team", **env)
    told = {f.message.partition("(for ")[2]: (f.state, f.message) for f in found}
    assert set(told) == {"boss)", "hand)", "tool)"}
    assert [told[key][0] for key in ("boss)", "hand)", "tool)")] == ["ok", "warning", "error"]
    assert str(roles / "none.yaml") in told["tool)"][1]
    assert str(settings) in look("settings", team=tmp_path / "team")[0].message


def test_a_model_named_by_a_flag_is_looked_at_although_the_roles_have_their_own(
    look: Look, tmp_path: Path
) -> None:
    """Whoever names it wants to know of it."""
    roles = tmp_path / "team" / "roles"
    roles.mkdir(parents=True)
    (roles / "s.yaml.script").write_text("script: 1\nturns: [{text: hi}]\n", encoding="utf-8")
    text = "---\nuser_facing: true\nmodel: script:s.yaml.script\n---\nx\n"
    (roles / "lead.md").write_text(text, encoding="utf-8")
    found = look("model", team=tmp_path / "team", model="script:/no/such.yaml")
    assert sorted(f.state for f in found) == ["error", "ok"]


def test_a_role_to_start_with_that_does_not_exist_is_an_error(look: Look) -> None:
    """With the place of the setting and the nearest name."""
    found = look("roles", HUB_ROLE="laed")[0]
    assert (found.state, found.message) == ("error", "HUB_ROLE (role): there is no role 'laed'")
    assert "Did you mean 'lead'?" in found.remedy


def test_a_place_that_the_message_names_is_not_told_twice() -> None:
    """One path is enough for one line."""
    error = RoleError("a.md:3 is odd", where="a.md:3 (name)")
    assert broken("roles", error).message == "a.md:3 is odd"
    assert broken("roles", RoleError("odd", where="a.md:3")).message == "a.md:3: odd"
