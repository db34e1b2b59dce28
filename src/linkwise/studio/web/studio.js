// The page of a session. It fetches the state whenever `stamp` changes, drops states older than the
// newest version seen, and sends what people do. Panels get values and report events.
import Card from "linkwise/card.js";
import ClusterList from "linkwise/clusters.js";
import Dialogs from "linkwise/dialogs.js";
import FileList from "linkwise/files.js";
import HistoryList from "linkwise/history.js";
import PeopleList from "linkwise/people.js";
import ProgressPanel from "linkwise/progress.js";
import RecordList from "linkwise/records.js";
import RecordMap from "linkwise/map.js";
import SetCard from "linkwise/set.js";
import { Closed, get, send } from "linkwise/lib/request.js";

const NOTHING = {
  version: -1, facts: "", disputes: [], clusters: [], pending: [], others: [], guidelines: "", review: [], people: [],
  history: [], n_more: 0, rounds: [], progress: null, map: false, choice: { state: "idle" }, agreement: { n_shared: 0 },
  n_rows: 0, n_outliers: 0,
};
const THEMES = ["system", "light", "dark"];
const YEAR = 365 * 24 * 3600; // seconds

function remember(name, value) {
  document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=${YEAR}; samesite=lax`;
}

export default {
  components: { Card, ClusterList, Dialogs, FileList, HistoryList, PeopleList, ProgressPanel, RecordList, RecordMap, SetCard },
  template: `
    <div class="lw-page">
      <header class="lw-header">
        <h1 class="lw-brand">linkwise studio</h1>
        <div class="lw-facts" role="status">{{ state.facts }}</div>
        <button v-if="state.disputes.length" class="lw-plain lw-warn" @click="settle(true)">{{ state.disputes.length }} to settle</button>
        <label class="lw-check" title="Answer without seeing what the model thinks"><input type="checkbox" v-model="blind"> Hide clusters</label>
        <label class="lw-you">You <input v-model="name" maxlength="60" aria-label="your name"
          @keydown.enter="$event.target.blur()" @blur="call(name)"></label>
        <button class="lw-plain" @click="changeTheme">Theme: {{ shade }}</button>
        <button class="lw-plain lw-key-hint" @click="dialog = { kind: 'keys' }">Keys (?)</button>
        <button v-if="other" class="lw-plain" @click="act('/start/leave')">Other data</button>
        <p v-if="state.guidelines" class="lw-guidelines">{{ state.guidelines }}</p>
        <p v-if="problem" class="lw-problem" role="alert">{{ problem }} <button class="lw-plain" @click="problem = ''">Close</button></p>
      </header>
      <div class="lw-left">
        <q-tabs v-model="left" dense align="left" no-caps inline-label :breakpoint="0">
          <q-tab name="Question" label="Question"></q-tab><q-tab name="Several" label="Several at once"></q-tab><q-tab name="Records" label="Records"></q-tab></q-tabs>
        <q-tab-panels v-model="left" keep-alive>
          <q-tab-panel name="Question"><card :question="question" :own="own" :busy="busy" :note="note" :thinking="thinking" :others="state.others"
            :blind="blind" @answer="answer" @undo="undo" @back="ask" @keys="dialog = { kind: 'keys' }" @note="act('/view/note', $event)"></card></q-tab-panel>
          <q-tab-panel name="Several"><set-card :act="act"></set-card></q-tab-panel>
          <q-tab-panel name="Records"><record-list :clusters="state.clusters" :version="state.version" :wanted="wanted" :correct="correct" :undo="undoText"
            :has-outliers="state.n_outliers > 0"></record-list></q-tab-panel>
        </q-tab-panels>
      </div>
      <div class="lw-right">
        <div class="lw-map-box">
          <record-map :version="state.version" :clusters="state.clusters" :ready="state.map" :picked="picked" :asked="asked" :highlight="highlight"
            @pick="pick" @lasso="wanted = { rows: $event, cluster: null }; left = 'Records'" @highlight="highlight = $event"></record-map>
          <form class="lw-pick" @submit.prevent="pickNamed"><span>Compare two of your own: click two points, or name</span>
            <input v-for="(letter, k) in ['A', 'B']" :key="letter" v-model="named[k]" :placeholder="'record ' + letter" :aria-label="'record ' + letter" maxlength="200">
            <button class="lw-plain">Ask</button></form>
        </div>
        <div class="lw-panel">
          <q-tabs v-model="right" dense align="left" no-caps inline-label :breakpoint="0">
            <q-tab v-for="tab in tabs" :key="tab" :name="tab" :label="tab"></q-tab></q-tabs>
          <q-tab-panels v-model="right" keep-alive>
            <q-tab-panel name="Clusters"><cluster-list :clusters="state.clusters" :count="state.progress?.n_clusters" :groups="state.progress?.n_groups ?? 0"
              :most="state.n_rows" :choice="state.choice" :highlight="highlight" @rename="act('/view/rename', $event)" @note="act('/view/note', $event)"
              @merge="preview" @split="preview" @count="setCount" @use="use" @choose="act('/view/choose')" @stop="act('/view/choose/stop')"
              @records="showRecords" @highlight="highlight = $event" @move="correct"></cluster-list></q-tab-panel>
            <q-tab-panel name="Progress"><progress-panel v-if="state.progress" :state="state" :me="who" :refit="() => act('/api/refit')"></progress-panel></q-tab-panel>
            <q-tab-panel name="History"><history-list :said="state.history" :more="state.n_more" @again="askOwn($event.pair)" @back="act('/view/retract', $event)"></history-list></q-tab-panel>
            <q-tab-panel name="People"><people-list :state="state" :me="who" @again="askOwn($event.pair)" @guidelines="act('/view/note', { kind: 'guidelines', ...$event })"></people-list></q-tab-panel>
            <q-tab-panel name="Export"><file-list :files="files"></file-list></q-tab-panel>
          </q-tab-panels>
        </div>
      </div>
      <dialogs :dialog="dialog" @close="closed" @name="call" @apply="apply" @undo="undoAnswer"></dialogs>
    </div>`,
  props: { stamp: Number, me: String, theme: String, other: Boolean, files: Array },
  emits: ["who", "theme"],
  data() {
    return {
      state: NOTHING, who: this.me, name: this.me, shade: this.theme, blind: false, problem: "", dialog: null, highlight: null,
      left: "Question", right: "Clusters", tabs: ["Clusters", "Progress", "History", "People", "Export"],
      question: null, own: false, busy: false, thinking: true, note: "", picked: [], named: ["", ""], wanted: null,
    };
  },
  computed: {
    asked() {
      return this.question && !this.blind ? [this.question.i, this.question.j] : [];
    },
  },
  watch: {
    stamp() {
      this.refresh();
    },
    left() {
      this.refresh(); // a question is asked when its panel is seen
    },
  },
  created() {
    // turn: of the question; a reply to an earlier turn is dropped. none: version without a question.
    Object.assign(this, { version: -1, turn: 0, none: -1, later: new Set(), fetching: false, again: false });
  },
  async mounted() {
    document.title = "linkwise studio";
    if (this.who) await this.ask();
    else this.dialog = { kind: "name" };
    this.refresh();
  },
  methods: {
    // ------------------------------------------------------------ the state
    async refresh() {
      this.again = true;
      if (this.fetching) return;
      this.fetching = true;
      while (this.again) {
        this.again = false;
        const turn = this.turn;
        const state = await this.attempt(() => get("/view/state?" + new URLSearchParams({ who: this.who })));
        if (!state || state.version < this.version) continue;
        this.state = state;
        this.version = state.version;
        this.settle(false);
        if (turn === this.turn && this.needsQuestion()) await this.ask();
      }
      this.fetching = false;
    },
    needsQuestion() {
      if (!this.who || this.own || this.busy || this.left === "Several") return false;
      if (!this.question) return this.none !== this.version;
      const { i, j } = this.question;
      return !this.state.pending.some(([a, b]) => a === i && b === j); // others have answered it
    },
    async attempt(job) {
      try {
        return await job();
      } catch (error) {
        if (!(error instanceof Closed)) this.problem = error.message;
        return null;
      }
    },
    act(path, value = {}) {
      this.problem = "";
      return this.attempt(() => send(path, { ...value, who: this.who }));
    },
    // ------------------------------------------------------------ questions
    async ask() {
      const turn = ++this.turn;
      const reply = await this.act("/view/question");
      if (turn !== this.turn) return;
      if (reply) this.take(reply);
      else this.note = "The next question could not be saved. Try again.";
    },
    take({ question, version }) {
      this.version = Math.max(this.version, version);
      if (!question) this.none = this.version;
      Object.assign(this, { question, own: false, picked: [], thinking: false });
    },
    async answer(given) {
      if (this.busy) return; // the answer to this question is under way
      const turn = ++this.turn;
      Object.assign(this, { busy: true, note: "" });
      const reply = await this.act("/view/answer", { ...given, again: this.own });
      this.busy = false;
      if (!reply) this.note = "Your answer was not saved. Try again.";
      else if (turn === this.turn) this.take(reply);
    },
    async undo() {
      if (this.busy) return;
      this.busy = true;
      this.note = await this.undoText();
      this.busy = false;
      await this.ask();
    },
    async undoText() {
      const reply = await this.act("/api/undo");
      if (!reply) return "Nothing was undone. Try again.";
      return reply.text ? `Undone: ${reply.text}` : "Nothing of yours to undo.";
    },
    pick({ row }) {
      this.picked = [...this.picked.slice(-1).filter((one) => one !== row), row];
      if (this.picked.length === 2) this.askOwn(this.picked);
    },
    async pickNamed() {
      const found = await this.act("/view/find", { names: this.named });
      if (found) await this.askOwn(found.pair);
    },
    async askOwn([i, j]) {
      const turn = ++this.turn;
      const question = await this.attempt(() => get("/view/pair?" + new URLSearchParams({ i, j })));
      if (!question || turn !== this.turn) return;
      Object.assign(this, { question, own: true, picked: [i, j], left: "Question", thinking: false });
    },
    // ------------------------------------------------------------ clusters and records
    async setCount({ n }) {
      await this.act("/api/clusters", { n_clusters: n });
    },
    async use(given) {
      await this.setCount(given);
      await this.act("/view/choose/stop");
    },
    showRecords({ number }) {
      Object.assign(this, { wanted: { cluster: number }, left: "Records" });
    },
    async correct(given) {
      const reply = await this.act("/view/correct", given);
      return reply ? `${reply.done}. Undo with Z.` : "Nothing was changed.";
    },
    async preview({ clusters }) {
      const proposal = await this.act("/view/preview", { clusters });
      if (proposal) this.dialog = { kind: "preview", ...proposal };
    },
    async apply({ clusters, stamp }) {
      this.dialog = null;
      await this.act("/view/apply", { clusters, stamp });
    },
    // ------------------------------------------------------------ contradictions and people
    async settle(all) {
      if (all) this.later.clear();
      const id = (dispute) => dispute.answers.at(-1).id;
      const ids = this.state.disputes.map(id);
      if (this.dialog?.kind === "dispute") {
        if (ids.includes(this.dialog.id)) return;
        this.dialog = null; // settled by somebody else
      }
      const next = this.state.disputes.find((one) => !this.later.has(id(one)));
      if (!next || this.dialog) return;
      const key = ({ i, j }) => `${Math.min(i, j)} ${Math.max(i, j)}`;
      const groups = new Map();
      for (const answer of next.answers) groups.set(key(answer), [...(groups.get(key(answer)) ?? []), answer]);
      const fetched = ([{ i, j }]) => get("/view/pair?" + new URLSearchParams({ i, j }));
      const pairs = await this.attempt(() => Promise.all([...groups.values()].map(fetched)));
      const claims = pairs && [...groups.values()].map((answers, k) => ({ answers, pair: pairs[k] }));
      if (claims && !this.dialog) this.dialog = { kind: "dispute", id: id(next), claims };
    },
    closed() {
      if (this.dialog?.kind === "dispute") this.later.add(this.dialog.id);
      this.dialog = null;
    },
    async undoAnswer({ id }) {
      this.dialog = null;
      await this.act("/view/retract", { id });
    },
    async call(name) {
      const before = this.who;
      this.who = name.trim().replace(/\s+/g, " ") || before || "guest";
      this.name = this.who;
      if (this.dialog?.kind === "name") this.dialog = null;
      if (this.who === before) return;
      remember("linkwise_name", this.who);
      if (before) await this.attempt(() => send("/view/release", { who: before }));
      this.$emit("who", this.who);
      await this.ask();
    },
    changeTheme() {
      this.shade = THEMES[(THEMES.indexOf(this.shade) + 1) % THEMES.length];
      remember("linkwise_theme", this.shade);
      this.$emit("theme", this.shade);
    },
  },
};
