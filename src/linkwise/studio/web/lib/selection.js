// Which rows are selected: a click turns one on or off, with Shift all up to the last one.
export class Selection {
  constructor() {
    this.set([]);
  }

  set(rows) {
    this.rows = new Set(rows);
    this.anchor = null;
  }

  // Rows as they stand in the list, the place that was clicked; gives the new selection.
  click(rows, place, extend = false, from = null) {
    const anchor = this.anchor ?? from;
    if (extend && anchor !== null && anchor >= 0) {
      const [low, high] = [Math.min(anchor, place), Math.max(anchor, place)];
      rows.slice(low, high + 1).forEach((row) => this.rows.add(row));
      this.anchor = anchor;
    } else {
      const row = rows[place];
      if (!this.rows.delete(row)) this.rows.add(row);
      this.anchor = place;
    }
    return new Set(this.rows);
  }
}
