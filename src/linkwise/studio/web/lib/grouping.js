// Groups of the records of a card. A record is in one group; joining moves it.
export class Grouping {
  constructor() {
    this.groups = [];
  }

  // Records that belong together; groups that share one with them stay, without it.
  join(rows) {
    const left = this.groups.map((group) => group.filter((row) => !rows.includes(row)));
    this.groups = [...left.filter((group) => group.length > 0), [...rows]];
    return this.groups.map((group) => [...group]);
  }

  // The groups; records in none are groups by themselves (alone), or left out.
  result(rows, alone) {
    const grouped = new Set(this.groups.flat());
    const others = alone ? rows.filter((row) => !grouped.has(row)).map((row) => [row]) : [];
    return [...this.groups.map((group) => [...group]), ...others];
  }
}
