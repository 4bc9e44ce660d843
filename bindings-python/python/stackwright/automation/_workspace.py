"""A workspace whose command is that of this engine."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pulumi import automation as upstream

from ._command import Command, default_command

__all__ = ["LocalWorkspace"]


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
