"""A workspace whose command is that of this engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pulumi import automation as upstream
from pulumi.automation._stack_settings import StackSettingsSecureConfigValue

from .._stackwright import replace_project, replace_settings, settings_document
from ._command import Command, default_command

__all__ = ["LocalWorkspace"]

_TYPED: Final = frozenset({"secretsprovider", "encryptedkey", "encryptionsalt", "config"})
"""The entries of a settings file that :class:`pulumi.automation.StackSettings` has."""

_REST: Final = "_stackwright_rest"
"""The attribute of settings with the other entries of their file."""


def _config_value(value: Any) -> Any:
    """Returns a value of the configuration as :class:`pulumi.automation.StackSettings` has it."""
    is_secret = isinstance(value, dict) and value.keys() == {"secure"} and isinstance(value["secure"], str)
    return StackSettingsSecureConfigValue(value["secure"]) if is_secret else value


class LocalWorkspace(upstream.LocalWorkspace):
    """:class:`pulumi.automation.LocalWorkspace`, with a command of this engine where none is given."""

    def __init__(
        self,
        work_dir: str | None = None,
        pulumi_home: str | None = None,
        program: upstream.PulumiFn | None = None,
        env_vars: Mapping[str, str] | None = None,
        secrets_provider: str | None = None,
        project_settings: upstream.ProjectSettings | None = None,
        stack_settings: Mapping[str, upstream.StackSettings] | None = None,
        pulumi_command: upstream.PulumiCommand | None = None,
    ) -> None:
        super().__init__(
            work_dir=work_dir,
            pulumi_home=pulumi_home,
            program=program,
            env_vars=env_vars,
            secrets_provider=secrets_provider,
            project_settings=project_settings,
            stack_settings=stack_settings,
            pulumi_command=default_command() if pulumi_command is None else pulumi_command,
        )

    def save_project_settings(self, settings: upstream.ProjectSettings) -> None:
        """Writes the settings of the project, as a whole or not at all, so that other workspaces of the folder can read them meanwhile. Entries
        of the file that the type does not have, such as ``packages``, stay; so do comments."""
        replace_project(self.work_dir, json.dumps(settings.to_dict()))

    def stack_settings(self, stack_name: str) -> upstream.StackSettings:
        """Returns the settings of a stack, with every value of its configuration. :meth:`save_stack_settings` writes them, beside the entries
        that the type does not have."""
        document = settings_document(self.work_dir, stack_name)
        if document is None:
            raise FileNotFoundError(f"failed to find stack settings file in workdir: {self.work_dir}")
        entries: dict[str, Any] = json.loads(document)
        settings = upstream.StackSettings(
            entries.get("secretsprovider"), entries.get("encryptedkey"), entries.get("encryptionsalt")
        )
        config: dict[str, Any] | None = entries.get("config")
        settings.config = None if config is None else {key: _config_value(value) for key, value in config.items()}
        rest = {name: value for name, value in entries.items() if name not in _TYPED}
        setattr(settings, _REST, rest)
        return settings

    def save_stack_settings(self, stack_name: str, settings: upstream.StackSettings) -> None:
        """Writes the settings of a stack, as a whole or not at all. Entries of the file that the type does not have, such as ``environment``,
        stay as they are in it; so do comments. A new file gets those of the file that the settings are from."""
        document: dict[str, Any] = settings._serialize()  # type: ignore[no-untyped-call]
        if settings_document(self.work_dir, stack_name) is None:
            document = {**getattr(settings, _REST, {}), **document}
        replace_settings(self.work_dir, stack_name, json.dumps(document))

    def stack_outputs(self, stack_name: str) -> upstream.OutputMap:
        """Returns the outputs of a stack. One is secret when anything inside it is."""
        masked, plain = (
            json.loads(self._run_pulumi_cmd_sync(["stack", "output", "--json", *flags, "--stack", stack_name]).stdout)
            for flags in ([], ["--show-secrets"])
        )
        return {name: upstream.OutputValue(value, masked.get(name) != value) for name, value in plain.items()}

    def import_stack(self, stack_name: str, state: upstream.Deployment) -> None:
        """Replaces the state of a stack. The document, whose secrets are in plaintext, is in no file meanwhile."""
        if not isinstance(self.pulumi_command, Command):
            super().import_stack(stack_name, state)
            return
        home = {} if self.pulumi_home is None else {"PULUMI_HOME": self.pulumi_home}
        document = json.dumps(vars(state)).encode()
        arguments = ["stack", "import", "--stack", stack_name]
        self.pulumi_command.run(arguments, self.work_dir, {**home, **self.env_vars}, stdin=document)
