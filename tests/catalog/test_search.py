"""Finding tools in a catalog that is too large to be sent."""

from collections.abc import Iterable
from typing import Any

import pytest

from hub.catalog.catalog import Catalog
from hub.catalog.index import ToolIndex, fts5_works
from hub.catalog.ranking import stem, words_of
from hub.catalog.search import SearchTool
from hub.core.messages import ToolOutcome
from hub.core.ports import Quarantine, RemoteTool, ServerListing
from hub.core.servers import ServerSpec, ToolRule
from tests.catalog.test_catalog import CONTEXT, Untouchable

TOOLS = {
    "forge": {
        "list_pull_requests": "List and filter the pull requests of a repository.",
        "create_pull_request": "Create a new pull request.",
        "merge_pull_request": "Merge a pull request.",
        "list_issues": "List issues of a repository.",
        "create_issue": "Open a new issue.",
        "delete_branch": "Delete a branch.",
    },
    "mail": {
        "sendMessage": "Send an email message to recipients.",
        "listMessages": "List the messages of the mailbox.",
        "trashMessage": "Move a message to the trash.",
        "create_filter": "Create a filter for incoming mail.",
    },
    "data": {
        "query": "Run a SQL statement and return rows.",
        "describe": "Describe the columns of a table.",
        "list_tables": "List the tables of the database.",
    },
}


def remote(name: str, description: str, **arguments: str) -> RemoteTool:
    properties = {key: {"type": "string", "description": text} for key, text in arguments.items()}
    return RemoteTool(name, description, {"type": "object", "properties": properties})


def stocked(**more: Iterable[RemoteTool]) -> Catalog:
    """A catalog of these servers and some more."""
    catalog = Catalog()
    servers = {
        server: [remote(name, text) for name, text in tools.items()]
        for server, tools in TOOLS.items()
    }
    for server, tools in {**servers, **more}.items():
        spec = ServerSpec(server, "stdio", command="none")
        catalog.add(spec, ServerListing(server, "", tuple(tools)), Untouchable())
    return catalog


def found(query: str, **more: Iterable[RemoteTool]) -> list[str]:
    return ToolIndex(stocked(**more).tools).search(query)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("open pull requests of the repository", "forge__list_pull_requests"),
        ("show the PRs of a repo", "forge__list_pull_requests"),
        ("send an email", "mail__sendMessage"),
        ("emails in the mailbox", "mail__listMessages"),
        ("which columns does a table have", "data__describe"),
        ("run SQL", "data__query"),
        ("remove a branch", "forge__delete_branch"),
        ("filters for mails", "mail__create_filter"),
    ],
)
def test_a_tool_is_found_by_what_it_does(query: str, first: str):
    """Stems, split names, long forms of short words, other words for the same act."""
    assert found(query)[0] == first


def test_the_names_and_texts_of_arguments_count():
    """Where nothing else says it."""
    tools = [remote("apply", "Applies it.", cron_expression="when the backup is to happen")]
    assert found("cron backup", jobs=tools)[0] == "jobs__apply"


def test_the_name_of_a_server_counts():
    """The same tool of two servers is told apart."""
    tools = [remote("list_issues", "List issues of a repository.")]
    assert found("issues in acme", acme=tools)[0] == "acme__list_issues"
    assert found("issues in forge", acme=tools)[0] == "forge__list_issues"


def test_a_tool_that_does_the_opposite_comes_later():
    """Deleting is not among the first answers to a question."""
    tools = [remote("delete_release", "Delete release."), remote("get_release", "Get release.")]
    names = found("look up a release", forge2=tools)
    assert names.index("forge2__get_release") < names.index("forge2__delete_release")


@pytest.mark.parametrize(
    "query", ["", "   ", "?!", '"', "'; DROP TABLE tools; --", "a OR b NEAR(c", "*"]
)
def test_any_text_is_a_query(query: str):
    """Nothing of it is taken for the search language of SQLite."""
    assert isinstance(found(query), list)


def test_a_query_of_nothing_but_small_words_still_searches():
    """They may be all that a tool's name holds."""
    assert found("get it", odd=[remote("get_it", "Gets it.")])[0] == "odd__get_it"


def test_words_and_stems():
    """Camel and snake case, digits, plurals and forms of verbs."""
    assert words_of("getHTTPResponse_v2") == ["get", "http", "response", "v", "2"]
    assert words_of("URLs of PRs") == ["urls", "of", "prs"]
    assert {stem(word) for word in ("list", "lists", "listing", "listed")} == {"list"}
    assert stem("queries") == stem("query")
    assert stem("boxes") == "box"
    assert stem("class") == "class"


def test_fts5_is_here():
    """The Python of the tests can search."""
    assert fts5_works()


def searcher(
    catalog: Catalog, *, only: Iterable[str] | None = None, ailing: dict[str, str] | None = None
) -> tuple[SearchTool, list[str]]:
    """The search tool of one agent, and what it loads."""
    loaded: list[str] = []

    def load(names: Iterable[str]) -> list[str]:
        new = [name for name in names if name not in loaded]
        loaded.extend(new)
        return new

    tools = {name: catalog.tools[name] for name in (only or catalog.tools)}
    index = ToolIndex(catalog.tools)
    health = (ailing or {}).get
    search = SearchTool(tools, index=index, load=load, health=lambda name: health(name, ""))
    return search, loaded


async def asked(search: SearchTool, query: str, **more: Any) -> ToolOutcome:
    return await search.call({"query": query, **more}, CONTEXT)


async def test_what_is_found_is_loaded_and_described():
    """In the order of its rank."""
    search, loaded = searcher(stocked())
    outcome = await asked(search, "pull requests", limit=2)
    lines = outcome.text.splitlines()[1:]
    assert len(loaded) == 2
    assert [line.split(":")[0].removeprefix("- ") for line in lines] == loaded
    assert all("pull request" in line for line in lines)


async def test_five_are_loaded_unless_it_says_otherwise():
    """The default keeps the list short."""
    search, loaded = searcher(stocked())
    await asked(search, "list create message issue table")
    assert len(loaded) == 5


async def test_what_the_grant_does_not_admit_is_never_found():
    """Another role's tools are not even named."""
    search, loaded = searcher(stocked(), only=["forge__list_issues", "mail__listMessages"])
    outcome = await asked(search, "create a pull request or an issue", limit=20)
    assert loaded == ["forge__list_issues"]
    assert "create_pull_request" not in outcome.text
    assert "data" not in search.spec.description


async def test_what_is_quarantined_is_never_found():
    """It is not in the catalog."""
    catalog = Catalog()
    spec = ServerSpec("forge", "stdio", command="none")
    tools = tuple(remote(name, text) for name, text in TOOLS["forge"].items())
    held = Quarantine(tools={"create_issue": "its description has changed"})
    catalog.add(spec, ServerListing("forge", "", tools), Untouchable(), held)
    search, loaded = searcher(catalog)
    await asked(search, "create issue", limit=20)
    assert "forge__create_issue" not in loaded
    assert "forge__list_issues" in loaded


async def test_tools_of_a_server_that_does_not_work_come_last_and_are_marked():
    """They are still there, since it may come back."""
    twin = [remote("list_issues", "List issues of a repository.")]
    search, _ = searcher(stocked(acme=twin), ailing={"forge": "it crashed"})
    outcome = await asked(search, "list issues of a repository", limit=20)
    lines = outcome.text.splitlines()[1:]
    assert lines[0].startswith("- acme__list_issues")
    sick = [line for line in lines if line.startswith("- forge__")]
    assert lines[-len(sick) :] == sick
    assert all("does not work: it crashed" in line for line in sick)


async def test_a_server_can_be_named():
    """One that does not exist is refused with those that do."""
    search, loaded = searcher(stocked())
    await asked(search, "list", server="mail", limit=20)
    assert loaded
    assert all(name.startswith("mail__") for name in loaded)
    outcome = await asked(search, "list", server="nowhere")
    assert outcome.is_error
    assert "data, forge, mail" in outcome.text


async def test_nothing_found_says_what_there_is():
    """No error, and nothing is loaded."""
    search, loaded = searcher(stocked())
    outcome = await asked(search, "zeppelin")
    assert not outcome.is_error
    assert "Say in other words" in outcome.text
    assert loaded == []


async def test_a_tool_that_was_renamed_is_found_by_both_names():
    """What the server calls it, and what it is called here; the own description counts."""
    catalog = Catalog()
    rule = ToolRule(rename="invoices", description="Bills of last year.")
    spec = ServerSpec("erp", "stdio", command="none", tools={"fn_17": rule})
    catalog.add(spec, ServerListing("erp", "", (remote("fn_17", "Function."),)), Untouchable())
    for query in ("invoice", "fn 17", "bills"):
        assert ToolIndex(catalog.tools).search(query) == ["erp__invoices"]


def test_the_offer_names_the_servers_and_stays_short():
    """However many there are."""
    many = {f"server{number}": [remote("x", "y")] for number in range(200)}
    search, _ = searcher(stocked(**many))
    assert "forge (6)" in search.spec.description
    assert "and 163 more" in search.spec.description
    assert len(search.spec.description) < 1000
