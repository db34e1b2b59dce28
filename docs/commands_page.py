"""The page of the command line, written from the commands themselves."""

from __future__ import annotations

import re
from typing import Any

HEAD = """\
# Command line

`linkwise COMMAND --help` shows the same in the terminal. Every command takes `--json` where it \
prints results. Exit codes: 0 done, 1 a contradiction was found, 2 wrong usage or a file that \
cannot be read, 70 a fault in linkwise.

"""


def page_of(app: Any) -> str:
    """The page, in Markdown."""
    import typer

    group = typer.main.get_command(app)
    parts = [HEAD]
    for name, command in group.commands.items():
        if not command.hidden:
            parts.append(_command(name, command))
    return "\n".join(parts)


def _command(name: str, command: Any) -> str:
    text, _, examples = (command.help or "").partition("Examples:")
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    usage = " ".join([p.name.upper() if p.required else f"[{p.name.upper()}]" for p in arguments])
    lines = [f"## linkwise {name}", "", _prose(text), ""]
    lines += ["```text", f"linkwise {name} {usage} [OPTIONS]".replace("  ", " "), "```", ""]
    if examples.strip():
        lines += ["```text", *_examples(examples), "```", ""]
    if options or arguments:
        lines += ["| option | meaning |", "|---|---|"]
        lines += [f"| {_cell(p.name.upper())} | {_meaning(p)} |" for p in arguments]
        lines += [f"| {', '.join(_cell(o) for o in p.opts)} | {_meaning(p)} |" for p in options]
    return "\n".join(lines) + "\n"


def _prose(text: str) -> str:
    text = text.replace("\f", "").replace("\b", "").strip()
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _examples(text: str) -> list[str]:
    text = re.sub(r"\s*\\\n\s*", " ", text.replace("\b", "").replace("\f", ""))
    return [line.strip() for line in text.splitlines() if line.strip().startswith("linkwise")]


def _meaning(parameter: Any) -> str:
    told = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    told = re.sub(r"(?<![\w`])(--?[a-z][\w-]*)", r"`\1`", told)
    default = parameter.default
    if isinstance(default, (int, float, str)) and not isinstance(default, bool) and default != "":
        told += f" Default: `{default}`."
    return told


def _cell(text: str) -> str:
    return f"`{text}`"
