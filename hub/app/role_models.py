"""The model of each role: opened once, with what its servers accept as schemas of tools."""

from hub.app.setup import Setup
from hub.catalog.explain import Profile
from hub.catalog.profiles import profile_of
from hub.config.models import model_spec
from hub.core.errors import ConfigError
from hub.core.modelspec import ModelSpec
from hub.core.ports import Model
from hub.core.team import Role
from hub.models.registry import Models


class RoleModels:
    """Finds the model of a role in the settings."""

    def __init__(self, setup: Setup, models: Models) -> None:
        self._setup = setup
        self._models = models

    def model(self, role: Role) -> Model:
        """Return the model of a role; the same one each time.

        Raises:
            ConfigError: it is not described, or a variable is not set.
            ScriptFileError: its script cannot be read.
        """
        return self._models.open(self._spec(role))

    def profile(self, role: Role) -> Profile:
        """Return what the servers of a role's model accept as schemas of tools.

        Raises:
            ConfigError: the model is not described, or a variable is not set.
        """
        spec = self._spec(role)
        if isinstance(spec, str):
            return "generic"
        return spec.tool_schemas or profile_of(spec.model, spec.base_url)

    def _spec(self, role: Role) -> ModelSpec | str:
        loaded = self._setup.loaded
        try:
            if role.model:
                return model_spec(loaded, role.model, origin=role.origin)
            return model_spec(loaded)
        except ConfigError as error:
            raise _of_role(error, role, withheld=bool(self._setup.withheld)) from None


def _of_role(error: ConfigError, role: Role, *, withheld: bool) -> ConfigError:
    """Say whose model it is, and that the workspace's own choice may be withheld."""
    trust = "This workspace is not trusted, and what it asks for is withheld: see hub trust. "
    return ConfigError(
        f"{error.message} (role {role.name!r})",
        where=error.where,
        remedy=(trust if withheld else "") + error.remedy,
    )
