"""Build step that puts the project's own files beside the package's code (everything else stands in pyproject.toml).

A checkout keeps configuration, manifests and published numbers in folders of its own. The wheel carries the same files,
at the same relative paths, below ``lpbench/_project``; ``lpbench/paths.py`` finds them in either place.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CARRIED = (
    "conf/**/*.yaml",
    "datasets/*.yaml",
    "docs/methods_notes.md",
    "requirements.lock",
    "results/published/*",
    "results/reproduced/*.json",
    "results/reproduced/**/*.csv",
    "results/reproduced/*.csv.gz",
    "results/reproduced/leaderboard.js",
    "results/reproduced/scores/*",
)


class BuildWithProjectFiles(build_py):
    """Copies the carried files into a wheel; an editable installation reads them from the checkout."""

    def _carried(self) -> dict[str, str]:
        """Target below the build folder -> source in the checkout."""
        target = Path(self.build_lib) / "lpbench" / "_project"
        sources = sorted(path for pattern in CARRIED for path in Path().glob(pattern) if path.is_file())
        return {str(target / source): str(source) for source in sources}

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for target, source in self._carried().items():
                self.mkpath(str(Path(target).parent))
                self.copy_file(source, target, preserve_mode=False)

    def get_output_mapping(self) -> dict[str, str]:
        return super().get_output_mapping() | ({} if self.editable_mode else self._carried())

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return super().get_outputs(include_bytecode) + ([] if self.editable_mode else list(self._carried()))

    def get_source_files(self) -> list[str]:
        return super().get_source_files() + list(self._carried().values())


# An editable installation is a path, not a finder: a folder named lpbench beside the user's script does not hide it.
setup(cmdclass={"build_py": BuildWithProjectFiles}, options={"editable_wheel": {"mode": "compat"}})
