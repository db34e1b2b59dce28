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
        lines += [
            f"| {', '.join(map(_cell, p.opts))}{_value(p)} | {_meaning(p)} |" for p in options
        ]
    return "\n".join(lines) + "\n"


def _prose(text: str) -> str:
    text = text.replace("\f", "").replace("\b", "").strip()
    return _code(re.sub(r"(?<!\n)\n(?!\n)", " ", text))


def _code(text: str) -> str:
    """Options as code: in prose, two hyphens would become a dash."""
    return re.sub(r"(?<![\w`-])(--?[a-zA-Z][\w-]*(?: \w+=\w+)?)", r"`\1`", text)


def _examples(text: str) -> list[str]:
    """One line per example; the docstrings wrap long ones."""
    paragraphs = re.split(r"\n\s*\n", re.sub(r"[\x08\f\\]", "", text))
    lines = (" ".join(paragraph.split()) for paragraph in paragraphs)
    return [line for line in lines if line.startswith("linkwise")]


def _meaning(parameter: Any) -> str:
    text = _code(" ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|"))
    default = getattr(parameter.default, "value", parameter.default)
    if isinstance(default, (int, float, str)) and not isinstance(default, bool) and default != "":
        text += f" Default: `{default}`."
    return text


def _value(parameter: Any) -> str:
    """The form of the value, where the option names one."""
    form = (getattr(parameter, "metavar", None) or "").replace("|", "\\|")
    return f" `{form}`" if form else ""


def _cell(text: str) -> str:
    return f"`{text}`"
