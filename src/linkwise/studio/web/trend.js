// Three small charts over the refits: answers, answers violated, labels that changed.
const [WIDTH, HEIGHT, LEFT, TOP, BELOW] = [220, 70, 36, 6, 6];

export default {
  template: `
    <figure class="lw-trend">
      <figcaption v-if="rounds.length">Each time the clusters were updated; below the dashed line they are stable</figcaption>
      <div class="lw-charts"><div v-for="chart in rounds.length ? charts : []" :key="chart.title">
        <span>{{ chart.title }}: <b>{{ chart.last }}</b></span>
        <svg :viewBox="'0 0 ${WIDTH} ${HEIGHT}'" role="img" :aria-label="chart.title + ', now ' + chart.last">
          <g v-for="tick in chart.ticks" :key="tick.at"><line class="lw-tick" x1="${LEFT}" x2="${WIDTH}" :y1="tick.at" :y2="tick.at" />
            <text x="${LEFT - 4}" :y="tick.at + 4" text-anchor="end">{{ tick.text }}</text></g>
          <line v-if="chart.limit" class="lw-limit" x1="${LEFT}" x2="${WIDTH}" :y1="chart.limit" :y2="chart.limit" />
          <polyline :class="chart.kind" :points="chart.path" />
          <circle v-for="(dot, k) in chart.dots" :key="k" :class="chart.kind" :cx="dot.x" :cy="dot.y" r="2.6"><title>{{ dot.told }}</title></circle>
        </svg>
      </div></div>
      <p v-if="!rounds.length">The clusters are updated every few answers; charts follow.</p>
    </figure>`,
  props: { rounds: Array, limit: Number },
  computed: {
    charts() {
      const percent = (share) => (100 * share).toFixed(share < 0.0995 && share > 0 ? 1 : 0) + "%";
      return [
        this.chart("Answers", "lw-a", this.rounds.map((r) => r.n_answers), String, 10),
        this.chart("Answers violated", "lw-b", this.rounds.map((r) => r.n_violated), String, 4),
        this.chart("Records moved", "lw-c", this.rounds.map((r) => r.changed), percent, 0.05, this.limit),
      ];
    },
  },
  methods: {
    chart(title, kind, values, tell, least, limit) {
      const known = values.filter((value) => value !== null);
      const top = Math.max(least, ...known);
      const y = (value) => HEIGHT - BELOW - ((HEIGHT - BELOW - TOP) * value) / top;
      const step = (WIDTH - LEFT - 8) / Math.max(1, values.length - 1);
      const dots = values.map((value, k) => ({ x: LEFT + 4 + k * step, y: y(value), told: value === null ? "" : tell(value) }))
        .filter((_, k) => values[k] !== null);
      return {
        title, kind, dots, path: dots.map((dot) => dot.x.toFixed(1) + "," + dot.y.toFixed(1)).join(" "),
        last: known.length ? tell(known.at(-1)) : "none yet",
        limit: limit === undefined ? null : y(limit),
        ticks: [0, top].map((value) => ({ at: y(value), text: tell(value) })),
      };
    },
  },
};
