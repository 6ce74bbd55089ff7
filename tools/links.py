"""Check every link of the built site: pages, anchors and files exist, and nothing is loaded from elsewhere.

python -m tools.links build/site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script", "img", "iframe", "link", "source"}  # elements whose address the browser fetches by itself


class Page(HTMLParser):
    """The addresses and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Collect what an element links to, and by what it can be linked to."""
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        for name in ("href", "src"):
            if given.get(name) and given.get("rel") != "canonical":
                self.links.append((tag, given[name]))


def broken(site):
    """A sentence for each link of the site that leads nowhere."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for tag, link in page.links:
            wrong = problem(path, tag, link, pages, site.resolve())
            if wrong:
                yield f"{path.relative_to(site.resolve())}: {link} {wrong}"


def problem(path, tag, link, pages, site):
    """What is wrong with a link, or nothing."""
    if link.startswith("data:"):
        return ""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        if tag in LOADED:
            return "is loaded from the network"
        return "" if parts.scheme in {"https", "http"} and "." in parts.netloc else "is no address"
    base = site if parts.path.startswith("/") else path.parent
    target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return "does not exist"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "has no such anchor"
    return ""


if __name__ == "__main__":
    found = sorted(set(broken(Path(sys.argv[1]))))
    print("\n".join(found) or "Every link leads somewhere.")
    sys.exit(bool(found))
