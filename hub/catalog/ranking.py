"""How well a tool's own name answers a query: what BM25 over long descriptions cannot tell.

Pure. The weights were chosen on the queries of ``bench/search_queries.tsv`` that are not marked as
later.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

OF_QUERY = 0.4
"""What it counts how much of the query the names of tool and server hold."""
OF_NAME = 0.1
"""What it counts how much of the tool's name the query holds."""
NAMED_SERVER = 0.2
"""What is added to the tools of a server that the query names."""
OTHER_ACT = 0.15
"""What is taken off a tool that does another kind of thing than the query speaks of."""
SAME_ACT = 1.2
"""Weight of a verb that is another word for one in the name."""

_WORD = re.compile(r"[A-Z]{2,}s(?![A-Za-z])|[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|[0-9]+")
_ACTS = (
    "list get show read view fetch retrieve display see describe find search look query what who",
    "create add new make write insert",
    "delete remove drop erase forget clear",
    "update edit change modify set patch rename replace",
    "run execute start trigger launch",
    "send post publish",
    "stop cancel end abort",
    "move transfer transition",
)
SHORT_FORMS = {
    "pr": ("pull", "request"),
    "prs": ("pull", "request"),
    "mr": ("merge", "request"),
    "mrs": ("merge", "request"),
    "repo": ("repository",),
    "repos": ("repository",),
    "docx": ("word", "document"),
    "k8s": ("kubernetes",),
    "mail": ("email",),
    "mails": ("email",),
    "dir": ("directory",),
    "folder": ("directory",),
    "db": ("database",),
    "ticket": ("issue",),
    "docs": ("documentation",),
    "js": ("javascript",),
}
"""Words for which a query is also searched in their long form."""


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words; names in snake and camel case fall into theirs."""
    return [word.lower() for word in _WORD.findall(text)]


def stem(word: str) -> str:
    """Return a word without the endings of plurals and verbs."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "hes")):
        return word[:-2]
    if len(word) > 5 and word.endswith("ing"):
        word = word[:-3]
    elif len(word) > 4 and word.endswith("ed"):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


_ACT_OF = {stem(word): act for act, words in enumerate(_ACTS) for word in words.split()}


def acts_of(stems: Iterable[str]) -> frozenset[int]:
    """Return the kinds of doing that words speak of."""
    return frozenset(_ACT_OF[word] for word in stems if word in _ACT_OF)


class Name(Struct, frozen=True):
    """The words by which a tool goes, as stems."""

    own: frozenset[str]
    server: frozenset[str]
    acts: frozenset[int]


def name_of(tool: str, server: str) -> Name:
    """Return the words of a tool's name, those of its server left out, and of the server's."""
    of_server = frozenset(map(stem, words_of(server)))
    own = frozenset(map(stem, words_of(tool))) - of_server
    return Name(own, of_server, acts_of(own))


def rarity(names: Iterable[Name]) -> dict[str, float]:
    """Return how much each word of the names tells: much when few have it."""
    counted = list(names)
    holders = Counter(word for name in counted for word in name.own | name.server)
    return {word: math.log(1 + len(counted) / count) for word, count in holders.items()}


class Query(Struct, frozen=True):
    """The words of a query, as stems, and the kinds of doing that it speaks of."""

    stems: tuple[str, ...]
    acts: frozenset[int]


def merit(name: Name, query: Query, rare: Mapping[str, float]) -> float:
    """Return what is added to a tool's rank, which is at most 1, for its name."""
    possible = sum(rare.get(word, 2.0 if word in _ACT_OF else 0.0) for word in query.stems)
    in_own = in_server = 0.0
    for word in query.stems:
        if word in name.own:
            in_own += rare[word]
        elif word in name.server:
            in_server += rare[word]
        elif _ACT_OF.get(word, -1) in name.acts:
            in_own += SAME_ACT
    whole = sum(rare[word] for word in name.own)
    other = name.acts and query.acts and not name.acts & query.acts
    return (
        OF_QUERY * (in_own + in_server) / (possible or 1.0)
        + OF_NAME * min(in_own / (whole or 1.0), 1.0)
        + (NAMED_SERVER if name.server and name.server <= set(query.stems) else 0.0)
        - (OTHER_ACT if other else 0.0)
    )
