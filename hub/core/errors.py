"""Everything that hub raises on purpose.

HubError                      a fault with a message, a place and a remedy
├─ UsageError                 the user must change what was typed or configured (exit 2)
│  ├─ ConfigError             a settings or server file is wrong
│  ├─ RoleError               a role file or the role graph is wrong
│  ├─ ScriptFileError         a script file cannot be read
│  └─ SessionBusyError        another process is at work on the session
├─ ModelError                 the model did not answer as needed
│  └─ ContextOverflowError    the request is longer than the model's window
├─ ServerError                an MCP server did not start or did not answer
└─ StoreError                 the session store cannot be used
"""

from typing import Literal

ModelErrorKind = Literal[
    "auth",
    "not_found",
    "rate_limit",
    "bad_request",
    "context_overflow",
    "server",
    "transport",
    "timeout",
    "incomplete",
    "script",
]


class HubError(Exception):
    """A fault that a user can act on: what happened, where, and what to do.

    Attributes:
        code: stable name of the kind of error, such as ``config_error``.
        where: file, line and key, as ``path:line (key)``; empty when there is no place.
        remedy: one sentence that says what to do; empty when nothing helps.
    """

    code = "hub_error"
    exit_code = 1

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  {self.remedy}" if self.remedy else text


class UsageError(HubError):
    """The command line or a file that it names is wrong; nothing was started."""

    code = "usage_error"
    exit_code = 2


class ConfigError(UsageError):
    """A settings file, an environment variable or a server entry is wrong."""

    code = "config_error"


class RoleError(UsageError):
    """A role file or the graph of roles is wrong."""

    code = "role_error"


class ScriptFileError(UsageError):
    """A script file cannot be read or does not follow the script format."""

    code = "script_file_error"


class SessionBusyError(UsageError):
    """Another process, or another hub of this one, is at work on the session."""

    code = "session_busy"


class ModelError(HubError):
    """The model did not give a usable answer.

    Attributes:
        kind: what went wrong, from a closed list.
        status: the HTTP status, when there was one.
        retryable: whether the same request may succeed later.
    """

    code = "model_error"
    exit_code = 5

    def __init__(
        self,
        message: str,
        *,
        kind: ModelErrorKind,
        status: int | None = None,
        retryable: bool = False,
        where: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.kind: ModelErrorKind = kind
        self.status = status
        self.retryable = retryable


class ContextOverflowError(ModelError):
    """The model says that the request is longer than its window."""

    code = "context_overflow"
    exit_code = 57

    def __init__(self, message: str, *, status: int | None = None, remedy: str = "") -> None:
        super().__init__(message, kind="context_overflow", status=status, remedy=remedy)


class ServerError(HubError):
    """An MCP server did not start, closed its connection or did not answer in time.

    Attributes:
        server: the server's name in the settings.
        ran: whether the call that met the error surely did not run, may have run, or ran.
    """

    code = "server_error"

    def __init__(
        self,
        message: str,
        *,
        server: str,
        ran: Literal["no", "maybe", "yes"] = "no",
        where: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.server = server
        self.ran: Literal["no", "maybe", "yes"] = ran


class StoreError(HubError):
    """The session store is missing, broken, full or of a newer version."""

    code = "store_error"
