"""Draw docs/architecture.svg from import-linter's contracts: ``python scripts/write_architecture.py``.

The picture is 360 units wide, so that a phone shows its text at full size.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
WIDTH, ROW, GAP, SIZE = 360, 30, 4, 13
#: Fill of a room, and of one that may not import configuration, tracking, data frames or files.
PLAIN, LIBRARY = "#eef2f7", "#d5ecd9"
LEGEND = ("Imports go down, never up.", "Green: without configuration, data frames or files.")


def contracts(kind: str) -> list[dict]:
    """Return import-linter's contracts of a type, in the order of pyproject.toml."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [contract for contract in stated["tool"]["importlinter"]["contracts"] if contract["type"] == kind]


def layers() -> list[list[str]]:
    """Return the rooms of each layer, from the top down."""
    (contract,) = contracts("layers")
    return [re.split(r" [|:] ", layer) for layer in contract["layers"]]


def picture() -> str:
    """Return the layers as SVG, one row of boxes a layer."""
    library = {name.rpartition(".")[2] for name in contracts("forbidden")[0]["source_modules"]}
    drawn = []
    for number, rooms in enumerate(layers()):
        width, top = (WIDTH - GAP) / len(rooms), GAP + number * (ROW + GAP)
        for place, room in enumerate(rooms):
            left = GAP + place * width
            fill = LIBRARY if room in library else PLAIN
            box = f'x="{left:g}" y="{top}" width="{width - GAP:g}" height="{ROW}" rx="4"'
            middle = f'x="{left + (width - GAP) / 2:g}" y="{top + 20}" text-anchor="middle"'
            drawn.append(f'<rect {box} fill="{fill}" stroke="#5b6b7f"/><text {middle}>{room}</text>')
    height = GAP + len(layers()) * (ROW + GAP)
    for number, line in enumerate(LEGEND):
        drawn.append(f'<text x="{GAP}" y="{height + 16 + 18 * number}">{line}</text>')
    size = f'viewBox="0 0 {WIDTH} {height + 18 * len(LEGEND) + 8}" width="{WIDTH}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="{SIZE}" role="img">'
    ground = '<title>Layers of the package lpbench</title><rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([head, ground, *drawn, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
