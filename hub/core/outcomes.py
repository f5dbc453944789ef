"""How a turn, job or run can end: the closed list of outcomes, stop reasons and exit codes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

Outcome = Literal[
    "done",
    "partial",
    "failed",
    "denied",
    "blocked",
    "limit",
    "budget",
    "loop",
    "invalid_report",
    "context_overflow",
    "model_error",
    "deferred",
    "cancelled",
    "lost",
]

StopReason = Literal[
    "completed",
    "reported",
    "hook_stopped",
    "max_turns",
    "max_tool_calls",
    "deadline",
    "max_tokens",
    "max_budget_usd",
    "max_depth",
    "prompt_too_long",
    "max_output_tokens",
    "image_error",
    "model_error",
    "aborted_streaming",
    "aborted_tools",
    "loop_detected",
    "no_report",
    "invalid_report",
    "approval_timeout",
    "approval_denied",
    "parent_cancelled",
    "interrupted",
]

EXIT_USAGE: Final = 2
"""Wrong usage or configuration; no run was started."""
EXIT_RETRYABLE: Final = 75
"""The model failed in a way that may pass (rate limit, outage, lost connection)."""
EXIT_SIGTERM: Final = 143
"""The run was stopped by SIGTERM."""

EXIT_CODES: Final[Mapping[Outcome, int]] = MappingProxyType({
    "done": 0,
    "partial": 0,
    "failed": 1,
    "denied": 3,
    "blocked": 4,
    "model_error": 5,
    "limit": 53,
    "budget": 54,
    "loop": 55,
    "invalid_report": 56,
    "context_overflow": 57,
    "deferred": 76,
    "cancelled": 130,
    "lost": 1,
})

OUTCOME_MEANING: Final[Mapping[Outcome, str]] = MappingProxyType({
    "done": "the turn completed, or the child reported success",
    "partial": "a report says that part is done",
    "failed": "a report says failed, or a tool or server that was needed failed",
    "denied": "a call that the task needed was denied, or nobody could be asked",
    "blocked": "a report says it cannot go on without something, or a hook stopped it",
    "limit": "steps, tool calls, depth or time reached",
    "budget": "tokens or money used up",
    "loop": "the same work again and again, after one nudge",
    "invalid_report": "no valid report after the bounded tries",
    "context_overflow": "still too long after compaction",
    "model_error": "the model failed, fallbacks included; retryable failures exit 75",
    "deferred": "a hook or an approval paused the run; it can be resumed",
    "cancelled": "the user or the parent stopped it; on SIGTERM the exit code is 143",
    "lost": "the process died; settled on the next open",
})


def exit_code(outcome: Outcome, *, retryable: bool = False, sigterm: bool = False) -> int:
    """Return the process exit code for an outcome."""
    if outcome == "model_error" and retryable:
        return EXIT_RETRYABLE
    if outcome == "cancelled" and sigterm:
        return EXIT_SIGTERM
    return EXIT_CODES[outcome]
