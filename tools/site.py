"""Hooks of the documentation site: pages that come from the code, and tutorials that are run while it is built."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "build" / "tutorials"
SCHEMAS = ROOT / "src" / "fairalm" / "schemas"
COMMANDS = "reference/command-line.md"
FOLDERS = "src|reproduction|benchmarks|tests|tools|examples"
OUTSIDE = re.compile(rf"\[([^\]]+)\]\((?:\.\./)+((?:{FOLDERS})/[^)#]*)\)")
SHOWN = re.compile(r"<!-- page: (\S+) \| (.*?) -->")
SCHEMA = re.compile(r"<!-- schema: (\w+) -->")
EXAMPLE = re.compile(r"^((?: {2,}.*\n)+)", re.MULTILINE)


def on_files(files, config):
    """Add the page of the command line, and what the tutorials write."""
    files.append(File.generated(config, COMMANDS, content=command_line()))
    tutorials = sorted(Path(config.docs_dir, "tutorials").glob("*.md"))
    with ThreadPoolExecutor(2) as pool:
        for page in pool.map(run_tutorial, [page for page in tutorials if page.stem != "index"]):
            for name, _ in SHOWN.findall(page.read_text(encoding="utf-8")):
                path = RUNS / page.stem / name
                if path.exists():
                    files.append(File.generated(config, f"tutorials/{page.stem}/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Put in what is made: outputs, schemas, and paths where a page links to a file outside of the site."""
    path = Path(page.file.src_uri)
    if path.parent.name == "tutorials" and path.stem != "index":
        markdown = (RUNS / path.stem / "page.md").read_text(encoding="utf-8")
        markdown = SHOWN.sub(lambda found: link_to(path.stem, *found.groups()), markdown)
    markdown = SCHEMA.sub(lambda found: schema(found[1]), markdown)
    return OUTSIDE.sub(r"`\2`", markdown)


def run_tutorial(page):
    """Run a tutorial in a process of its own, unless its text has been run since `make docs` began."""
    done = RUNS / page.stem / "source.md"
    if not done.exists() or done.read_bytes() != page.read_bytes():
        command = [sys.executable, "-m", "tools.tutorials", str(page), str(RUNS / page.stem)]
        environment = {"OMP_NUM_THREADS": "1", **os.environ}
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise PluginError(f"{page} cannot be run:\n{ended.stderr}")
        done.write_bytes(page.read_bytes())
    return page


def link_to(tutorial, name, words):
    """A button that opens what a tutorial wrote; nothing where it was not run."""
    path = RUNS / tutorial / name
    return f"[{words}]({tutorial}/{path.name}){{ .md-button target=_blank }}" if path.exists() else ""


def command_line():
    """The help of every command, as typer writes it in Markdown, with its examples as blocks of code."""
    import typer
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from fairalm.cli import app

    command = get_command(app)
    context = typer.Context(command)
    text = get_docs_for_click(obj=command, ctx=context, name="fairalm")
    for name in command.list_commands(context):
        about = command.get_command(context, name).get_short_help_str
        text = text.replace(f"`{name}`: {about()}", f"`{name}`: {about(limit=1000)}")  # typer cuts it off
    text = text.replace("\b", "").replace("# `fairalm`\n", "# Command line\n", 1).replace("```console\n$ ", "```text\n")
    return EXAMPLE.sub(r"\n```text\n\1```\n", text)


def schema(name):
    """A schema of the package: its fields as a table, and the whole, folded."""
    text = (SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    content = json.loads(text)
    rows = [f"| `{field}` | {described(entry, content)} |" for field, entry in content["properties"].items()]
    folded = "\n".join(f"    {line}".rstrip() for line in ["```json", *text.splitlines(), "```"])
    head = f"{content['title']}. {content['description']}"
    return "\n".join(
        [head, "", "| field | content |", "|---|---|", *rows, "", f'??? note "{name}.schema.json"', "", folded]
    )


def described(entry, content):
    """What a field of a schema holds, in its own words or by its type."""
    entry = {**content["$defs"].get(entry.get("$ref", "").rpartition("/")[2], {}), **entry}
    words = entry.get("description") or ", ".join(f"`{name}`" for name in entry.get("properties", {}))
    return words or (f"always {entry['const']}" if "const" in entry else entry.get("type", ""))
