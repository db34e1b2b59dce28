// A small chart: the share of labels that each refit changed, and the line below which to stop.
const [WIDTH, HEIGHT, LEFT, BELOW] = [320, 110, 34, 16];

export default {
  template: `
    <figure class="lw-trend">
      <figcaption>Labels changed by each refit</figcaption>
      <svg viewBox="0 0 320 110" role="img" :aria-label="told">
        <g v-for="tick in ticks" :key="tick">
          <line class="lw-tick" x1="34" x2="320" :y1="y(tick)" :y2="y(tick)" />
          <text x="30" :y="y(tick) + 4" text-anchor="end">{{ percent(tick) }}</text>
        </g>
        <rect v-for="(share, k) in changes" :key="k" :x="x(k)" :width="wide" :y="y(share)"
          :height="Math.max(1.5, y(0) - y(share))"><title>{{ percent(share) }}</title></rect>
        <line class="lw-limit" x1="34" x2="320" :y1="y(limit)" :y2="y(limit)" />
        <text x="34" y="108">first refit</text><text x="320" y="108" text-anchor="end">last</text>
      </svg>
      <p v-if="!changes.length">No refit has been compared with the one before yet.</p>
    </figure>`,
  props: { changes: Array, limit: Number },
  computed: {
    top() {
      return Math.max(0.05, ...this.changes);
    },
    ticks() {
      return [0, this.top / 2, this.top];
    },
    wide() {
      return Math.min(24, ((WIDTH - LEFT) / Math.max(1, this.changes.length)) * 0.7);
    },
    told() {
      return this.changes.length
        ? `the last of ${this.changes.length} refits changed ${this.percent(this.changes.at(-1))} of the labels`
        : "no refits yet";
    },
  },
  methods: {
    x(k) {
      return LEFT + 4 + (k * (WIDTH - LEFT - 8)) / Math.max(1, this.changes.length);
    },
    y(share) {
      return HEIGHT - BELOW - ((HEIGHT - BELOW - 8) * share) / this.top;
    },
    percent(share) {
      return (100 * share).toFixed(share < 0.0995 && share > 0 ? 1 : 0) + "%";
    },
  },
};
