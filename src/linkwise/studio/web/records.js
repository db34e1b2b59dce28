// The records of a cluster, as a table or a gallery; several can be selected and corrected.
import { Closed, send } from "linkwise/lib/request.js";
import { isTaken, letter } from "linkwise/lib/keys.js";
import { breakable, count, isShort } from "linkwise/lib/words.js";
import { Selection } from "linkwise/lib/selection.js";

const ACTIONS = [
  { kind: "new", word: "New cluster", key: "N" },
  { kind: "together", word: "Belong together", key: "T" },
  { kind: "right", word: "These are right", key: "R" },
  { kind: "out", word: "Not in here", key: "X" },
  { kind: "outlier", word: "Outlier", key: "O" },
];
const BY_LETTER = Object.fromEntries(ACTIONS.map(({ kind, key }) => [key.toLowerCase(), kind]));
const FEW = 6; // fields of a row in the table; the others are shown on demand

export default {
  template: `
    <section class="lw-card lw-records" aria-labelledby="lw-records-title">
      <div class="lw-card-head">
        <h2 id="lw-records-title">{{ title }}</h2>
        <span class="lw-soft" role="status">{{ busy ? "Looking…" : count(n, "record") }}</span>
      </div>
      <div class="lw-tools">
        <select v-model="cluster" aria-label="which cluster"><option :value="null">All clusters</option>
          <option v-for="c in clusters" :key="c.number" :value="c.number">{{ c.name }}</option><option v-if="hasOutliers" :value="-1">Outliers</option></select>
        <select v-model="order" aria-label="order"><option value="unusual">Unusual first</option>
          <option value="typical">Typical first</option><option value="file">As in the file</option></select>
        <input ref="search" type="search" v-model="search" placeholder="Search (/)" aria-label="search in all records"
          title="Words that must all occur; field:word looks into one field, field>5 compares numbers">
        <span class="lw-choose" role="group" aria-label="how to show them"><button v-for="shape in ['Table', 'Gallery']" :key="shape" class="lw-plain"
          :aria-pressed="gallery === (shape === 'Gallery')" @click="gallery = shape === 'Gallery'">{{ shape }}</button></span>
        <button v-if="fields.length > few && !gallery" class="lw-plain" @click="wide = !wide">{{ wide ? "Fewer fields" : "All fields" }}</button>
      </div>
      <p v-if="error" class="lw-bad" role="alert">{{ error }}</p>
      <p v-if="like || among" class="lw-filter">{{ like ? "Records like " + like.name + ", nearest first" : count(among.length, "record") + " selected on the map" }}
        <button class="lw-plain" @click="Object.assign(this, { like: null, among: null })">Show others</button></p>
      <p v-if="allChosen && n > chosen.size" class="lw-filter">{{ count(chosen.size, "record") }} shown {{ chosen.size > 1 ? "are" : "is" }} selected.
        <button class="lw-plain" @click="chooseAll">Select all {{ n.toLocaleString("en") }} found</button></p>
      <div class="lw-scroll" ref="list" tabindex="0" role="group" aria-label="The records">
        <table v-if="!gallery" class="lw-rows">
          <thead><tr><th scope="col"><input type="checkbox" :checked="allChosen" aria-label="select all shown" @change="toggleAll"></th>
            <th scope="col">Record</th><th v-if="cluster === null" scope="col">Cluster</th>
            <th v-for="name in columns" :key="name" scope="col">{{ breakable(name) }}</th></tr></thead>
          <tbody>
            <tr v-for="(r, k) in records" :key="r.row" :class="{ chosen: chosen.has(r.row), at: k === at }" :data-row="r.row"
              draggable="true" @dragstart="drag($event, r)" @click="point($event, k)">
              <td><input type="checkbox" :checked="chosen.has(r.row)" :aria-label="'select ' + r.name" @click.stop="toggle($event, k)"></td>
              <th scope="row"><span class="lw-named"><img v-if="r.image" :src="'/view/image/' + r.row" :alt="'image of ' + r.name" loading="lazy">{{ r.name }}</span></th>
              <td v-if="cluster === null">{{ nameOf(r.cluster) }}</td>
              <td v-for="name in columns" :key="name" :class="{ 'lw-short': isShort(r.fields[name]) }"><div class="lw-clamp">{{ r.fields[name] }}</div></td>
            </tr>
          </tbody>
        </table>
        <ul v-else class="lw-gallery" :class="{ 'lw-dense': pictures }">
          <li v-for="(r, k) in records" :key="r.row" :class="{ chosen: chosen.has(r.row), at: k === at }" :data-row="r.row"
            draggable="true" @dragstart="drag($event, r)" @click="point($event, k)">
            <label class="lw-record-head" :title="r.name"><input type="checkbox" :checked="chosen.has(r.row)" @click.stop="toggle($event, k)"> <b>{{ r.name }}</b>
              <span class="lw-soft" v-if="cluster === null">{{ nameOf(r.cluster) }}</span></label>
            <img v-if="r.image" :src="'/view/image/' + r.row" :alt="'image of ' + r.name" loading="lazy" @load="enlarge">
            <dl v-if="!pictures"><template v-for="name in columns" :key="name"><div v-if="r.fields[name]" :class="{ 'lw-short': isShort(r.fields[name]) }"><dt>{{ breakable(name) }}</dt><dd>{{ r.fields[name] }}</dd></div></template></dl>
          </li>
        </ul>
        <p v-if="!records.length && !busy" class="lw-soft">{{ search ? "No record has all of these words." : "There are no records here." }}</p>
        <button v-if="records.length < n" class="lw-plain lw-more" @click="more">Show more ({{ (n - records.length).toLocaleString("en") }} left)</button>
      </div>
      <div class="lw-acts" role="group" aria-label="what to do with the selected records">
        <span role="status"><b>{{ chosen.size }}</b> selected</span>
        <select ref="move" :disabled="!chosen.size" :value="''" aria-label="move to" @change="move"><option value="" disabled>Move to… (M)</option>
          <option v-for="c in clusters" :key="c.number" :value="c.number">{{ c.name }}</option></select>
        <button v-for="a in actions" :key="a.kind" class="lw-plain" :disabled="!chosen.size" :aria-keyshortcuts="a.key"
          @click="act(a.kind)">{{ a.word }} <kbd aria-hidden="true">{{ a.key }}</kbd></button>
        <button class="lw-plain" :disabled="chosen.size !== 1" aria-keyshortcuts="L" @click="findLike">Similar <kbd aria-hidden="true">L</kbd></button>
        <button class="lw-plain" :disabled="!chosen.size" @click="choose([])">Clear</button>
        <button class="lw-plain" @click="takeBack">Undo <kbd aria-hidden="true">Z</kbd></button>
      </div>
      <p class="lw-note" role="status"><template v-if="working"><span class="lw-spin" aria-hidden="true"></span> Working…</template><template v-else>{{ note }}</template></p>
    </section>`,
  props: { clusters: Array, version: Number, wanted: Object, hasOutliers: Boolean, correct: Function, undo: Function },
  data: () => ({
    cluster: null, order: "unusual", search: "", gallery: false, wide: false, records: [], fields: [], n: 0, at: -1,
    chosen: new Set(), busy: false, working: false, error: "", note: "", like: null, among: null, actions: ACTIONS, few: FEW,
  }),
  computed: {
    columns() {
      return this.wide ? this.fields : this.fields.slice(0, FEW);
    },
    // Pictures and their names only, where names are file names: the fields repeat them.
    pictures() {
      return this.records.length > 0 && !this.wide && this.records.every((r) => r.image);
    },
    title() {
      return this.cluster === null ? "All records" : this.nameOf(this.cluster);
    },
    allChosen() {
      return this.records.length > 0 && this.records.every((r) => this.chosen.has(r.row));
    },
  },
  watch: {
    version() {
      this.load();
    },
    wanted: {
      immediate: true, // the list may be made when its records are asked for
      handler(now) {
        if (!now) return;
        Object.assign(this, { cluster: now.cluster, search: "", like: null, among: now.rows ?? null });
        if (now.rows) this.selectNext = true;
      },
    },
    cluster() {
      this.begin();
    },
    order() {
      this.begin();
    },
    like() {
      this.begin();
    },
    among() {
      this.begin();
    },
    search() {
      clearTimeout(this.due);
      this.due = setTimeout(() => this.begin(), 180);
    },
  },
  mounted() {
    this.selection = new Selection();
    this.gallery = window.innerWidth < 640; // a table needs more room
    this.listener = (event) => this.press(event);
    document.addEventListener("keydown", this.listener);
    this.load();
  },
  unmounted() {
    document.removeEventListener("keydown", this.listener);
  },
  methods: {
    breakable, count, isShort,
    nameOf(number) {
      return this.clusters.find((c) => c.number === number)?.name ?? (number < 0 ? "Outliers" : `cluster ${number + 1}`);
    },
    begin() {
      this.choose([]);
      this.at = -1;
      this.records = [];
      this.load();
    },
    async load() {
      await this.fetch(0, Math.max(this.records.length, 1));
    },
    async more() {
      await this.fetch(this.records.length, 1);
    },
    query(more) {
      const { cluster, order, search, among } = this;
      return send("/view/records", { cluster, order, search, among, like: this.like?.row ?? null, ...more });
    },
    async fetch(start, least) {
      const asking = (this.asking = (this.asking || 0) + 1);
      this.busy = true;
      try {
        let found = start ? [...this.records] : [];
        do {
          const page = await this.query({ start: found.length });
          if (asking !== this.asking) return; // a newer query is under way
          found = found.concat(page.records);
          Object.assign(this, { n: page.n, fields: page.fields, error: "" });
          if (!page.records.length) break;
        } while (found.length < least && found.length < this.n);
        // Pictures and texts are looked at in a gallery; numbers are compared in a table.
        const isText = (r) => Object.values(r.fields).some((text) => text.length > 160);
        if (!this.records.length && found.length && (found.every((r) => r.image) || found.some(isText))) this.gallery = true;
        this.records = found;
        if (this.selectNext) this.choose(this.among);
        this.selectNext = false;
      } catch (error) {
        if (!(error instanceof Closed)) this.error = error.message;
      } finally {
        if (asking === this.asking) this.busy = false;
      }
    },
    // ------------------------------------------------------------ selecting
    choose(rows) {
      this.selection.set(rows);
      this.chosen = new Set(rows);
    },
    rows() {
      return this.records.map((r) => r.row);
    },
    point(event, k) {
      if (event.target.closest("input, label")) return;
      this.toggle(event, k);
    },
    toggle(event, k) {
      this.chosen = this.selection.click(this.rows(), k, event.shiftKey);
      this.at = k;
    },
    toggleAll(event) {
      this.choose(event.target.checked ? this.rows() : []);
    },
    async chooseAll() {
      this.choose((await this.query({ only_rows: true })).rows);
    },
    findLike() {
      const [row] = this.chosen;
      this.like = { row, name: this.records.find((r) => r.row === row)?.name ?? "it" };
    },
    press(event) {
      if (!this.$el.checkVisibility() || isTaken(event)) return;
      const key = letter(event);
      if (event.key === "ArrowDown" || event.key === "ArrowUp") this.walk(event.key === "ArrowDown" ? 1 : -1, event.shiftKey);
      else if (event.key === " " && this.at >= 0 && !event.target.closest("button, summary, input, a")) this.toggle(event, this.at);
      else if (event.key === "/") this.$refs.search.focus();
      else if (event.key === "Escape" && this.chosen.size) this.choose([]);
      else if (key === "l" && this.chosen.size === 1) this.findLike();
      else if (key === "m" && this.chosen.size) this.$refs.move.focus();
      else if (key in BY_LETTER && this.chosen.size && !event.repeat) this.act(BY_LETTER[key]);
      else return;
      event.preventDefault();
    },
    walk(step, extend) {
      if (document.activeElement?.closest?.(".lw-map, [role=tablist], .lw-panel")) return;
      const next = Math.min(this.records.length - 1, Math.max(0, this.at + step));
      if (extend) this.chosen = this.selection.click(this.rows(), next, true, this.at);
      this.at = next;
      this.$nextTick(() => this.$refs.list.querySelector(".at")?.scrollIntoView({ block: "nearest" }));
    },
    // ------------------------------------------------------------ correcting
    drag(event, record) {
      if (!this.chosen.has(record.row)) this.choose([record.row]);
      event.dataTransfer.setData("application/x-linkwise-rows", JSON.stringify([...this.chosen]));
      event.dataTransfer.setData("text/plain", count(this.chosen.size, "record"));
      event.dataTransfer.effectAllowed = "move";
    },
    move(event) {
      const cluster = Number(event.target.value);
      event.target.value = "";
      this.act("move", cluster);
    },
    async act(kind, cluster = null) {
      if (this.working || !this.chosen.size) return;
      this.working = true;
      const rows = [...this.chosen];
      this.choose([]);
      this.note = await this.correct({ kind, cluster, rows });
      this.working = false;
    },
    async takeBack() {
      this.note = await this.undo();
    },
    enlarge({ target }) {
      target.classList.toggle("lw-tiny", target.naturalWidth < 100);
    },
  },
};
