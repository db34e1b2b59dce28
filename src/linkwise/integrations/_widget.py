"""Questions of a session in a notebook: Jupyter, VS Code, Colab (by way of anywidget)."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from linkwise._optional import optional

if TYPE_CHECKING:
    from linkwise.active import Session

Record = Callable[[int], "Mapping[str, object] | str"]
_ANSWERS = ("same", "different", "unsure")

# The page only shows `state` and sends what was pressed; what it means is decided in Python. Text
# is set as textContent, so that cells are never markup.
_PAGE = """
function cell(parent, tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  parent.appendChild(made);
  return made;
}
function render({ model, el }) {
  el.tabIndex = 0;
  el.style.outline = "none";
  const press = (what) => model.send({ press: what, number: model.get("state").number });
  const keys = { s: "same", d: "different", u: "unsure", z: "undo" };
  el.addEventListener("keydown", (event) => {
    if (keys[event.key]) { press(keys[event.key]); event.stopPropagation(); }
  });
  const draw = () => {
    const state = model.get("state");
    el.replaceChildren();
    const sides = cell(el, "div", "");
    sides.style.cssText = "display:flex;gap:1em;flex-wrap:wrap";
    for (const side of state.sides) {
      const box = cell(sides, "table", "");
      box.style.cssText = "flex:1;min-width:14em;border:1px solid #8888;border-radius:6px";
      for (const [name, value] of side) {
        const row = cell(box, "tr", "");
        cell(row, "th", name).style.textAlign = "left";
        cell(row, "td", value).style.textAlign = "left";
      }
    }
    const line = cell(el, "div", "");
    line.style.margin = "0.5em 0";
    for (const [what, words] of state.buttons) {
      const button = cell(line, "button", words);
      button.style.marginRight = "0.5em";
      button.addEventListener("click", () => { press(what); el.focus(); });
    }
    cell(el, "div", state.note).setAttribute("aria-live", "polite");
  };
  model.on("change:state", draw);
  draw();
}
export default { render };
"""
_BUTTONS = [["same", "same (s)"], ["different", "different (d)"], ["unsure", "unsure (u)"],
            ["undo", "undo (z)"]]  # fmt: skip


class LabelWidget:
    """Answer the questions of a session in a notebook cell; answers are in the session at once.

    Parameters
    ----------
    session : Session
    record : callable or sequence, default=None
        What is shown of a row: a function of the row number, or one entry per row (a text, a dict
        of columns, or a DataFrame of the rows). The row numbers if not given.

    Examples
    --------
    >>> from linkwise import Session
    >>> from linkwise.datasets import load
    >>> from linkwise.integrations import LabelWidget
    >>> session = Session(load("iris").data, n_clusters=3, random_state=0)
    >>> widget = LabelWidget(session)
    >>> widget.press("same")
    >>> session.constraints
    Constraints(must_link=1)
    >>> session.close()
    """

    def __init__(self, session: Session, record: Record | Any = None):
        self.session = session
        self._record = _as_function(record, session)
        self._question: Any = None
        self._number = 0
        self._note = ""
        self._widget: Any = None
        self._advance()

    @property
    def state(self) -> dict[str, Any]:
        """What the page shows."""
        question = self._question
        sides = [] if question is None else [self._side(question.i), self._side(question.j)]
        counts = f"{len(self.session.answers):,} answers"
        note = self._note or ("no more questions" if question is None else "")
        return {
            "number": self._number,
            "sides": sides,
            "buttons": _BUTTONS if question is not None else _BUTTONS[-1:],
            "note": f"{counts}. {note}".strip(),
        }

    def press(self, what: str) -> None:
        """Do what a button says: same, different, unsure or undo.

        Parameters
        ----------
        what : {'same', 'different', 'unsure', 'undo'}
            The button.
        """
        if what not in (*_ANSWERS, "undo"):
            raise ValueError(f"{what!r}: expected same, different, unsure or undo")
        self._note = ""
        if what == "undo":
            if not self.session.undo():
                self._note = "there is nothing to undo"
        elif self._question is not None:
            dispute = self.session.tell(what)
            if dispute is not None:
                self._note = f"this contradicts earlier answers and does not count: {dispute}"
        self._advance()

    def _advance(self) -> None:
        self._question = self.session.ask()
        self._number += 1
        if self._widget is not None:
            self._widget.state = self.state

    def _side(self, row: int) -> list[list[str]]:
        shown = self._record(row)
        cells = shown if isinstance(shown, Mapping) else {str(self.session.name(row)): shown}
        return [[str(name), str(value)] for name, value in cells.items()]

    @property
    def widget(self) -> Any:
        """The widget of anywidget."""
        if self._widget is None:
            self._widget = self._made()
        return self._widget

    def _made(self) -> Any:
        anywidget = optional("anywidget", extra="studio", need="The labelling widget")
        traitlets = optional("traitlets", extra="studio", need="The labelling widget")
        own = type(
            "LinkwiseQuestions",
            (anywidget.AnyWidget,),
            {"_esm": _PAGE, "state": traitlets.Dict().tag(sync=True)},
        )
        widget = own(state=self.state)
        widget.on_msg(self._pressed)
        return widget

    def _pressed(self, widget: Any, content: Any, buffers: Any = None) -> None:
        """Do what a button says, unless its question is gone (a double click)."""
        if isinstance(content, Mapping) and content.get("number") == self._number:
            self.press(str(content.get("press")))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    def __repr__(self) -> str:
        return f"LabelWidget({html.escape(self.state['note'])})"


def _as_function(record: Any, session: Session) -> Record:
    if record is None:
        return lambda row: str(session.name(row))
    if callable(record):
        return record
    if hasattr(record, "iloc"):  # a frame or a series
        return lambda row: _cells(record.iloc[row])
    return lambda row: record[row]


def _cells(row: Any) -> Any:
    return {str(name): value for name, value in row.items()} if hasattr(row, "items") else row
