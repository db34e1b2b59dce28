// The clusters: number, profiles, names, notes; merging and splitting; rows are dropped here.
import { get } from "linkwise/lib/request.js";
import { arranged, breakable, count } from "linkwise/lib/words.js";

const FEW = 8; // up to so many are seen without a search
const PAGE = 30; // drawn at once: each has a menu of all others
const ROWS = "application/x-linkwise-rows";

export default {
  template: `
    <section class="lw-wide" aria-label="Clusters">
      <div class="lw-count">
        <label>Number of clusters
          <input type="number" min="1" :max="most" :value="count ?? ''" placeholder="not known"
            aria-label="number of clusters" @change="setCount"></label>
        <button v-if="count != null && groups > count" class="lw-plain lw-go" @click="$emit('use', { n: groups })">
          Use {{ groups }}, as many as your answers tell apart</button>
        <button v-if="choice.state !== 'running'" class="lw-plain" @click="$emit('choose')">Choose for me</button>
        <template v-else>
          <span class="lw-spin" aria-hidden="true"></span> <span class="lw-soft">choosing…; go on answering</span>
        </template>
        <span v-if="count == null && choice.state === 'idle'" class="lw-soft">as many as your answers tell apart</span>
      </div>
      <div v-if="choice.state === 'done'" class="lw-choice" role="status">
        <b>{{ choice.n_clusters }} clusters fit your answers best.</b>
        <button class="lw-plain lw-go" @click="$emit('use', { n: choice.n_clusters })">Use {{ choice.n_clusters }} clusters</button>
        <button class="lw-plain" @click="$emit('stop')">No</button>
        <details><summary>Why?</summary><p v-for="(reason, k) in choice.reasons" :key="k">{{ reason }}</p></details>
      </div>
      <div v-if="choice.state === 'failed'" class="lw-choice" role="status">Nothing could be chosen: {{ choice.reasons[0] }}
        <button class="lw-plain" @click="$emit('stop')">Close</button></div>
      <p v-if="!clusters.length" class="lw-soft" role="status"><span class="lw-spin" aria-hidden="true"></span> The first clusters are being looked for…</p>
      <div v-if="clusters.length > few" class="lw-count" role="search">
        <input type="search" v-model="search" placeholder="Find a cluster" aria-label="find a cluster">
        <select v-model="order" aria-label="order of clusters"><option value="number">By number</option>
          <option value="name">By name</option><option value="size">Largest first</option></select>
        <span class="lw-soft" role="status">{{ counted(found.length, "cluster") }}</span></div>
      <article v-for="c in shown" :key="c.number" class="lw-cluster" :class="{ over: over === c.number }" :data-cluster="c.number"
        :aria-label="c.name" @dragover="hover($event, c)" @dragleave="over = null" @drop="drop($event, c)">
        <div class="lw-cluster-head">
          <button class="lw-mark" :aria-pressed="highlight === c.number" :aria-label="'highlight ' + c.name + ' on the map'" title="Highlight on the map"
            @click="$emit('highlight', highlight === c.number ? null : c.number)"><svg class="lw-swatch" viewBox="-6 -6 12 12" aria-hidden="true"
            :style="{ '--light': c.color, '--dark': c.dark }"><path :d="c.shape" /></svg></button>
          <input :value="drafts[c.number] ?? c.name" maxlength="60" :aria-label="'name of cluster ' + (c.number + 1)" title="Rename"
            @input="drafts[c.number] = $event.target.value" @keydown.enter="$event.target.blur()" @change="rename(c)" @blur="delete drafts[c.number]">
          <span class="lw-soft">{{ counted(c.size, "record") }} ({{ c.share }})</span>
          <span class="lw-buttons">
            <button class="lw-plain" :aria-label="'records of ' + c.name" @click="$emit('records', { number: c.number })">Records</button>
            <select v-if="clusters.length > 2" v-model="chosen[c.number]" :aria-label="'merge ' + c.name + ' with'">
              <option :value="undefined">Merge with…</option>
              <option v-for="o in others(c)" :key="o.number" :value="o.number">{{ o.name }}</option>
            </select>
            <button v-if="chosen[c.number] !== undefined" class="lw-plain lw-go" @click="merge(c)">Merge</button>
            <button v-else-if="c.size > 1" class="lw-plain" :aria-label="'split ' + c.name"
              @click="$emit('split', { clusters: [c.number] })">Split</button>
          </span>
        </div>
        <ul v-if="pictures(c).length" class="lw-faces" :aria-label="'typical images of ' + c.name"><li v-for="r in pictures(c)" :key="r.row">
          <img :src="'/view/image/' + r.row" :alt="'image of ' + r.name" :title="r.name" loading="lazy"></li></ul>
        <ul v-else class="lw-traits"><li v-for="(trait, k) in c.traits" :key="k"><span class="lw-arrow" aria-hidden="true">{{
          trait[0] }}</span>{{ breakable(trait[1]) }}</li>
          <li v-if="!c.traits.length" class="lw-soft">no single field sets it apart</li></ul>
        <div class="lw-cluster-foot">
          <button v-if="c.suggestion && !isNamed(c) && !pictures(c).length" class="lw-link lw-suggest"
            @click="$emit('rename', { number: c.number, name: c.suggestion })">Call it “{{ breakable(c.suggestion) }}”</button>
          <details v-if="!pictures(c).length" class="lw-typical" @toggle="open($event, c)"><summary>Typical: {{ c.typical.map((r) => r.name).join(", ") }}</summary>
            <div v-if="whole(c).length" class="lw-table" tabindex="0" role="group" :aria-label="'typical records of ' + c.name"><table>
              <thead><tr><th scope="col"><span class="lw-sr">Field</span></th><th v-for="r in whole(c)" :key="r.row" scope="col">{{ r.name }}</th></tr></thead>
              <tbody><tr v-for="name in Object.keys(whole(c)[0].fields)" :key="name"><th scope="row">{{ breakable(name) }}</th>
                <td v-for="r in whole(c)" :key="r.row"><div class="lw-clamp">{{ r.fields[name] }}</div></td></tr></tbody>
            </table></div>
          </details>
          <details class="lw-typical" :open="!!c.note"><summary>Note</summary>
            <textarea :value="c.note" rows="2" maxlength="2000" :aria-label="'note on ' + c.name"
              @change="$emit('note', { kind: 'cluster', key: String(c.number), text: $event.target.value })"></textarea></details>
        </div>
      </article>
      <button v-if="found.length > shown.length" class="lw-plain" @click="most_shown += page">Show {{ Math.min(page, found.length - shown.length) }} more of {{ found.length }}</button>
    </section>`,
  props: { clusters: Array, count: Number, groups: Number, most: Number, choice: Object, highlight: Number },
  emits: ["use", "choose", "stop", "count", "rename", "records", "split", "merge", "note", "move", "highlight"],
  // By the number of a cluster: the one to merge it with; the name that is being typed, which a new
  // state must not overwrite. records: typical ones, by row
  data: () => ({ chosen: {}, drafts: {}, records: {}, over: null, search: "", order: "number", few: FEW, page: PAGE, most_shown: PAGE }),
  computed: {
    found() {
      return arranged(this.clusters, this.search, this.order);
    },
    shown() {
      return this.found.slice(0, this.most_shown);
    },
  },
  watch: {
    clusters() {
      const there = new Set(this.clusters.map((cluster) => cluster.number));
      for (const [one, two] of Object.entries(this.chosen)) if (!there.has(two)) delete this.chosen[one];
    },
  },
  methods: {
    breakable, counted: count,
    isNamed(cluster) {
      return cluster.name !== `cluster ${cluster.number + 1}`;
    },
    rename({ number }) {
      if (number in this.drafts) this.$emit("rename", { number, name: this.drafts[number] });
    },
    pictures(cluster) {
      return cluster.typical.filter((record) => record.image);
    },
    whole(cluster) {
      return cluster.typical.map((r) => this.records[r.row]).filter(Boolean);
    },
    async open(event, cluster) {
      if (!event.target.open) return;
      const found = await Promise.all(cluster.typical.map(({ row }) => this.records[row] ?? get("/view/record/" + row)));
      Object.assign(this.records, Object.fromEntries(found.map((record) => [record.row, record])));
    },
    others(cluster) {
      return this.clusters.filter((other) => other.number !== cluster.number);
    },
    merge(cluster) {
      this.$emit("merge", { clusters: [cluster.number, this.chosen[cluster.number]] });
      delete this.chosen[cluster.number];
    },
    setCount(event) {
      this.$emit("count", { n: event.target.value === "" ? null : Number(event.target.value) });
      event.target.value = this.count ?? ""; // until the state has the new number
    },
    hover(event, cluster) {
      if (!event.dataTransfer.types.includes(ROWS)) return;
      event.preventDefault();
      this.over = cluster.number;
    },
    drop(event, cluster) {
      this.over = null;
      const rows = event.dataTransfer.getData(ROWS);
      if (!rows) return;
      event.preventDefault();
      this.$emit("move", { kind: "move", cluster: cluster.number, rows: JSON.parse(rows) });
    },
  },
};
