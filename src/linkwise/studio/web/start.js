// The start page: a file, a folder of images or a recent session; then the columns; then go.
import { get, send, explain } from "linkwise/lib/request.js";
import { changeLines, changeLists } from "linkwise/lib/changes.js";
import { breakable, count } from "linkwise/lib/words.js";
import { choose, chosen, dropped, nameOf, trimmed } from "linkwise/lib/files.js";

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const MEASURED = ["number", "category", "date", "text", "meaning"];
const GROUPS = {
  "Records are compared by it": [...MEASURED, "image"],
  "They are not": ["id", "show", "hide"],
  "It says what belongs together": ["together", "apart"],
};
const STEPS = [
  ["Choose your data", "a table or a folder of images; it stays on this machine"],
  ["Answer questions", "do these two belong together? the clusters follow"],
  ["Take it home", "your data with the clusters, as CSV, Excel or Parquet"],
];

export default {
  template: `
    <div class="lw-page lw-start-page"><header class="lw-header"><div class="lw-brand">linkwise studio</div></header>
    <section class="lw-start" aria-labelledby="lw-start-title">
      <h1 id="lw-start-title">{{ changed ? changed.name : found ? found.name : "What do you want to group?" }}</h1>
      <p v-if="error" class="lw-problem" role="alert">{{ error }}</p>
      <div role="status" class="lw-busy" v-if="busy"><span class="lw-spin" aria-hidden="true"></span>{{ busy }}
        <progress v-if="total" :value="done" :max="total" aria-label="uploaded"></progress></div>
      <template v-if="changed">
        <div class="lw-changes" role="status">
          <h2>The data changed since you last answered</h2>
          <ul><li v-for="line in summary(changed.changes, changed.n_rows)" :key="line">{{ line }}</li></ul>
          <template v-for="[title, lines] in lists(changed.changes)" :key="title"><details><summary>{{ title }}</summary>
            <ul><li v-for="line in lines" :key="line">{{ line }}</li></ul></details></template>
          <div class="lw-row"><button class="lw-plain lw-go" :disabled="!!busy" @click="reopen(changed, true)">Go on with the new data</button>
            <button class="lw-plain" :disabled="!!busy" @click="changed = null">Cancel</button></div>
        </div>
      </template>
      <template v-else-if="!found">
        <ol v-if="!recent.length" class="lw-steps"><li v-for="[what, about] in steps" :key="what"><b>{{ what }}</b><span>{{ about }}</span></li></ol>
        <div class="lw-drop" :class="{ over }" @dragover.prevent="over = true" @dragleave="over = false"
             @drop.prevent="drop">
          <p><b>Drop a table here</b> (CSV, Excel, Parquet), <b>or a folder of images</b></p>
          <div class="lw-row">
            <label class="lw-plain lw-go lw-file">Choose a file<input type="file" class="lw-unseen"
              accept=".csv,.tsv,.tab,.txt,.gz,.parquet,.pq,.xlsx,.xlsm,.npy,.npz" @change="pick"></label>
            <label class="lw-plain lw-file">Choose a folder of images<input type="file" webkitdirectory class="lw-unseen"
              @change="pick"></label>
          </div>
          <form v-if="mayRead" class="lw-row" @submit.prevent="adopt">
            <label for="lw-path">or its path on this machine</label>
            <input id="lw-path" v-model="path" placeholder="/data/customers.csv" maxlength="2000">
            <button class="lw-plain" :disabled="!path.trim()">Open</button>
          </form>
        </div>
        <p class="lw-or"><span class="lw-soft">Nothing at hand?</span>
          <button class="lw-plain" :disabled="!!busy" @click="example">Try it with 300 handwritten digits</button></p>
        <template v-if="recent.length">
          <h2>Go on with</h2>
          <ul class="lw-recent">
            <li v-for="one in recent" :key="one.path">
              <button class="lw-plain" :disabled="!!busy || !one.there" @click="reopen(one)">{{ one.name }}</button>
              <span class="lw-soft">{{ one.data }}{{ one.there ? "" : " (the data is gone)" }}, {{ count(one.n_rows, "record") }},
                {{ count(one.n_answers, "answer") }}, {{ day(one.when) }}</span>
            </li>
          </ul>
        </template>
      </template>
      <template v-else>
        <p class="lw-soft">{{ count(found.n_rows, "record") }}, {{ count(found.columns.length, "column") }}. The guesses can be
          corrected. Everything stays on this machine, in {{ breakable(found.kept_in) }}.</p>
        <div class="lw-begin">
          <fieldset>
            <legend>How many clusters?</legend>
            <label><input type="radio" :value="false" v-model="known"> I don't know</label>
            <label><input type="radio" :value="true" v-model="known"> I know:
              <input type="number" min="1" :max="found.n_rows" v-model.number="k" aria-label="number of clusters"
                @focus="known = true"></label>
          </fieldset>
          <button class="lw-plain lw-go lw-large" :disabled="!!problem || !!busy" @click="begin">Go</button>
          <button class="lw-plain" :disabled="!!busy" @click="found = null">Other data</button>
        </div>
        <p v-if="problem" class="lw-bad" role="alert">{{ problem }}</p>
        <div class="lw-columns">
          <label v-if="found.columns.length > 12" class="lw-row">Find a column <input v-model="search" type="search"></label>
          <table>
            <thead><tr><th scope="col">Column</th><th scope="col">What it is</th><th scope="col">Values</th></tr></thead>
            <tbody>
              <tr v-for="column in shown" :key="column.name">
                <th scope="row">{{ breakable(column.name) }}</th>
                <td><select v-model="roles[column.name]" :aria-label="'what ' + column.name + ' is'">
                  <optgroup v-for="(some, group) in groups" :key="group" :label="group"><option v-for="role in some" :key="role" :value="role">{{ found.roles[role] }}</option></optgroup></select></td>
                <td><span class="lw-samples">{{ column.samples.join(" · ") }}</span>
                  <span class="lw-soft">{{ column.why }}{{ column.n_missing ? ", " + column.n_missing.toLocaleString("en") + " missing" : "" }}</span></td>
              </tr>
            </tbody>
          </table>
          <p v-if="matching.length > shown.length" class="lw-soft">… and {{ count(matching.length - shown.length, "more column") }}; find them above.</p>
        </div>
      </template>
    </section></div>`,
  data: () => ({
    over: false, busy: "", error: "", done: 0, total: 0, recent: [], mayRead: false, path: "",
    found: null, changed: null, roles: {}, known: false, k: 3, search: "", groups: GROUPS, steps: STEPS,
  }),
  computed: {
    matching() {
      const wanted = this.search.trim().toLowerCase();
      return this.found.columns.filter((column) => column.name.toLowerCase().includes(wanted));
    },
    shown() {
      return this.matching.slice(0, 200);
    },
    problem() {
      const given = Object.values(this.roles);
      const n = (role) => given.filter((one) => one === role).length;
      if (n("id") > 1) return "Only one column can name the records.";
      if (n("image") > 1) return "Only one column can be the image.";
      if (!given.some((role) => MEASURED.includes(role)) && !n("image")) return "Records must be compared by at least one column.";
      if (this.known && !(this.k >= 1 && this.k <= this.found.n_rows)) return "How many clusters?";
      return "";
    },
  },
  async mounted() {
    document.title = "linkwise studio";
    await this.work("", async () => {
      const { recent, may_read } = await get("/start/recent");
      Object.assign(this, { recent, mayRead: may_read });
    });
  },
  methods: {
    async work(what, job) {
      Object.assign(this, { busy: what, error: "", total: 0 });
      try {
        return await job();
      } catch (error) {
        this.error = error.message;
      } finally {
        this.busy = "";
      }
    },
    async drop(event) {
      this.over = false;
      const files = await dropped(event.dataTransfer);
      await this.upload(files);
    },
    async pick(event) {
      const files = chosen(event.target.files);
      event.target.value = "";
      await this.upload(files);
    },
    async upload(given) {
      await this.work("Reading the file…", async () => {
        const files = choose(given);
        const { project } = await send("/start/project", { name: nameOf(files) });
        Object.assign(this, { done: 0, total: files.length > 1 ? files.length : 0 });
        for (const { file, path } of trimmed(files)) {
          const query = new URLSearchParams({ project, name: path });
          const reply = await fetch("/start/upload?" + query, { method: "POST", body: file });
          if (!reply.ok) throw new Error(explain(await reply.text(), reply.status));
          this.done += 1;
        }
        this.take(await send("/start/look", { name: project }));
      });
    },
    async adopt() {
      await this.work("Reading the file…", async () => this.take(await send("/start/adopt", { name: this.path })));
    },
    async example() {
      await this.work("Making the images…", async () => this.take(await send("/start/example")));
    },
    take(found) {
      this.roles = Object.fromEntries(found.columns.map((column) => [column.name, column.role]));
      this.search = "";
      this.found = found;
    },
    async begin() {
      await this.work("Looking for the first clusters…", async () => {
        const n_clusters = this.known ? this.k : null;
        await send("/start/begin", { project: this.found.project, roles: this.roles, n_clusters });
        await this.leave();
      });
    },
    async reopen(one, carry = false) {
      await this.work("Opening " + one.name + "…", async () => {
        const { open, changes } = await send("/start/open", { name: one.path, carry });
        if (open) await this.leave();
        else this.changed = { ...one, changes };
      });
    },
    leave() {
      window.location.reload();
      return new Promise(() => {}); // busy until the page is gone
    },
    breakable, count, summary: changeLines, lists: changeLists,
    day(seconds) {
      return DAY.format(new Date(1000 * seconds));
    },
  },
};
