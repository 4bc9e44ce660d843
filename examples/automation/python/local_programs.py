"""Deploys the program of a folder, which has a virtual environment of its own."""

import sys
import tempfile
from pathlib import Path

from pulumi import automation as auto

folder = tempfile.TemporaryDirectory()
project = Path(folder.name)
environment = project / "venv"
# As `python -m venv` makes it, with the packages of the environment that runs this script.
(environment / "bin").mkdir(parents=True)
(environment / "bin" / "python").symlink_to(sys.executable)
(environment / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix, 'bin')}\n")
packages = environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
packages.mkdir(parents=True)
(packages / "packages.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
(project / "Pulumi.yaml").write_text("name: shop\nruntime:\n  name: python\n  options:\n    virtualenv: venv\n")
(project / "__main__.py").write_text(
    "import sys\n"
    "import pulumi\n"
    "print('greetings from the program')\n"
    "pulumi.export('environment', sys.prefix)\n"
    "pulumi.export('size', pulumi.Config().require_int('size'))\n"
)
stack = auto.create_or_select_stack("dev", work_dir=str(project))
stack.set_config("size", auto.ConfigValue("3"))
lines: list[str] = []
up = stack.up(on_output=lines.append)
assert up.outputs["size"].value == 3 and up.outputs["environment"].value == str(environment), up.outputs
assert any("greetings from the program" in line for line in lines)
assert (project / "Pulumi.dev.yaml").exists()
(project / "__main__.py").write_text("raise ValueError('it is wrong')\n")
try:
    stack.up()
except auto.RuntimeError as error:
    assert "ValueError: it is wrong" in str(error)
else:
    raise AssertionError("the program is wrong")
stack.destroy()
folder.cleanup()
