// The clusters: how many, what each is like, names; merging and splitting. All cells are shown as text.
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
          <progress :value="choice.n_done" :max="choice.n_total || 1" aria-label="choosing"></progress>
          <span class="lw-soft">{{ choice.n_total ? choice.n_done + " of " + choice.n_total + " trials" : "beginning…" }};
            go on answering</span>
          <button class="lw-plain" @click="$emit('stop')">Stop</button>
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
      <p v-if="!clusters.length" class="lw-soft">The first clusters are being looked for…</p>
      <article v-for="c in clusters" :key="c.number" class="lw-cluster" :data-cluster="c.number">
        <svg class="lw-swatch" viewBox="-6 -6 12 12" aria-hidden="true"
          :style="{ '--light': c.color, '--dark': c.dark }"><path :d="c.shape" /></svg>
        <div class="lw-naming">
          <input :value="c.name" :maxlength="longest" :aria-label="'name of cluster ' + (c.number + 1)" title="Rename"
            @keydown.enter="$event.target.blur()" @change="$emit('rename', { number: c.number, name: $event.target.value })">
          <span class="lw-soft">{{ c.size.toLocaleString("en") }} records ({{ c.share }})</span>
        </div>
        <ul class="lw-traits"><li v-for="(trait, k) in c.traits" :key="k"><span class="lw-arrow" aria-hidden="true">{{
          trait[0] }}</span>{{ trait[1] }}</li>
          <li v-if="!c.traits.length" class="lw-soft">much like all the others</li></ul>
        <div class="lw-buttons">
          <select v-if="clusters.length > 2" v-model="chosen[c.number]" :aria-label="'merge ' + c.name + ' with'">
            <option :value="undefined">Merge with…</option>
            <option v-for="o in others(c)" :key="o.number" :value="o.number">{{ o.name }}</option>
          </select>
          <button v-if="chosen[c.number] !== undefined" class="lw-plain lw-go" @click="merge(c)">Merge</button>
          <button v-else-if="c.size > 1" class="lw-plain" :aria-label="'split ' + c.name"
            @click="$emit('split', { number: c.number })">Split</button>
        </div>
        <details class="lw-typical"><summary>Typical: {{ c.typical.map((r) => r.name).join(", ") }}</summary>
          <div class="lw-table"><table>
            <thead><tr><th></th><th v-for="r in c.typical" :key="r.row" scope="col">{{ r.name }}<img v-if="r.image"
              :src="'/view/image/' + r.row" :alt="'image of ' + r.name" loading="lazy"></th></tr></thead>
            <tbody><tr v-for="name in Object.keys(c.typical[0].fields)" :key="name"><th scope="row">{{ name }}</th>
              <td v-for="r in c.typical" :key="r.row">{{ r.fields[name] }}</td></tr></tbody>
          </table></div>
        </details>
      </article>
      <p v-if="more" class="lw-soft">… and {{ more }} more</p>
    </section>`,
  props: { clusters: Array, more: Number, count: Number, groups: Number, most: Number, longest: Number, choice: Object },
  data: () => ({ chosen: {} }), // by the number of a cluster, the one to merge it with
  watch: {
    clusters() {
      const there = new Set(this.clusters.map((cluster) => cluster.number));
      for (const [one, two] of Object.entries(this.chosen)) if (!there.has(two)) delete this.chosen[one];
    },
  },
  methods: {
    others(cluster) {
      return this.clusters.filter((other) => other.number !== cluster.number);
    },
    merge(cluster) {
      this.$emit("merge", { number: cluster.number, other: this.chosen[cluster.number] });
      delete this.chosen[cluster.number];
    },
    setCount(event) {
      this.$emit("count", { n: event.target.value === "" ? null : Number(event.target.value) });
      event.target.value = this.count ?? ""; // until the studio says so itself
    },
  },
};
