"""Put pages and documentation into one static folder that any host can serve (``make site``).

The pages of ``<results>/reproduced`` become the root of the site, the documentation ``docs/``; the menu has both, while
the committed pages leave the documentation out. A link that works in the folder of the results works in the site.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def assemble(pages: Path, docs: Path | None, target: Path) -> int:
    """Copy pages (and documentation, if it was built) into a new folder; return the number of files."""
    if not (pages / "index.html").is_file():
        sys.exit(f"error: {pages} has no index.html; write the pages first: make report, or make reproduce")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(pages, target, ignore=shutil.ignore_patterns(".derived"))
    link = ""
    if docs is not None and docs.is_dir():
        shutil.copytree(docs, target / "docs", ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
        link = '<a href="docs/index.html">Documentation</a>'
    for page in target.glob("*.html"):  # pages of the repository link to nothing that is not in it
        text = page.read_text("utf-8").replace("<!-- the whole site -->", link)
        page.write_text(re.sub(r'"\.\./\.\./docs/(\w+)\.md"', r'"docs/\1.html"' if link else '"#main"', text), "utf-8")
    # hosts that run sites through a generator leave out folders that begin with an underscore
    (target / ".nojekyll").touch()
    return sum(path.is_file() for path in target.rglob("*"))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--docs", type=Path, default=ROOT / "build" / "docs")
    parser.add_argument("--target", type=Path, default=ROOT / "build" / "site")
    given = parser.parse_args()
    count = assemble(given.results / "reproduced", given.docs, given.target)
    print(f"{count} files: {given.target / 'index.html'}")


if __name__ == "__main__":
    main()
