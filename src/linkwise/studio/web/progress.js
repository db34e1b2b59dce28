// Progress: what to do next, how many answers the model would have guessed, and charts of the refits.
import { rate } from "linkwise/lib/words.js";

const AIM = 0.75; // the lower end of the interval from which one may stop (guide, "When to stop")
const STABLE = 0.01; // share of records that move, below which the clusters are stable
const [WIDTH, HEIGHT, LEFT, EDGE] = [220, 70, 36, 6]; // of a chart

export default {
  template: `
    <section class="lw-wide" aria-label="Progress">
      <div class="lw-progress">
        <div><div class="lw-hint" :class="{ 'lw-bad': now.n_disputed, 'lw-stop': now.stop }">{{ now.headline }}</div>
          <div class="lw-soft">{{ now.n_covered.toLocaleString("en") }} of {{ now.n_rows.toLocaleString("en") }} records are decided by answers.</div></div>
        <button class="lw-plain" :disabled="fitting" @click="update"><span v-if="fitting" class="lw-spin" aria-hidden="true"></span> Update the clusters now</button>
      </div>
      <div class="lw-meter" role="group" aria-label="Meter">
        <p v-if="!meter.n_asked" class="lw-soft">Soon: how many of your answers the model would have guessed.</p>
        <template v-else>
          <p>The model would have guessed <b>{{ meter.n_guessed }} of the last {{ meter.n_asked }}</b> answers
            <span class="lw-soft">(likely {{ percent(meter.low) }} to {{ percent(meter.high) }})</span></p>
          <svg viewBox="0 0 400 18" preserveAspectRatio="none" role="img" :aria-label="'likely ' + percent(meter.low) + ' to ' + percent(meter.high) + '; good from ${100 * AIM}%'">
            <rect class="lw-track" x="1" y="5" width="398" height="8" rx="4" />
            <rect class="lw-span" :x="400 * meter.low" y="2" :width="400 * (meter.high - meter.low)" height="14" rx="3" />
            <line class="lw-point" :x1="400 * share" :x2="400 * share" y1="0" y2="18" /><line class="lw-aim" x1="${400 * AIM}" x2="${400 * AIM}" y1="0" y2="18" />
          </svg>
          <p class="lw-soft" v-if="meter.expected_change !== null">The next 50 answers may change {{ percent(meter.expected_change, 1) }} of the records' clusters.</p>
        </template>
        <p class="lw-soft" v-if="pace">Your pace: {{ rate(pace) }} answers per minute.</p>
      </div>
      <dl class="lw-numbers"><div v-for="[name, n] in numbers" :key="name"><dt class="lw-soft">{{ name }}</dt><dd>{{ n.toLocaleString("en") }}</dd></div></dl>
      <figure class="lw-trend">
        <figcaption>{{ state.rounds.length ? "Each time the clusters were updated; below the dashed line they are stable" : "The clusters are updated every few answers; charts follow." }}</figcaption>
        <div class="lw-charts"><div v-for="chart in state.rounds.length ? charts : []" :key="chart.title">
          <span>{{ chart.title }}: <b>{{ chart.last }}</b></span>
          <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" :aria-label="chart.title + ', now ' + chart.last">
            <g v-for="tick in chart.ticks" :key="tick.at"><line class="lw-tick" x1="${LEFT}" x2="${WIDTH}" :y1="tick.at" :y2="tick.at" />
              <text x="${LEFT - 4}" :y="tick.at + 4" text-anchor="end">{{ tick.text }}</text></g>
            <line v-if="chart.limit" class="lw-limit" x1="${LEFT}" x2="${WIDTH}" :y1="chart.limit" :y2="chart.limit" />
            <polyline :class="chart.kind" :points="chart.dots.map((dot) => dot.x + ',' + dot.y).join(' ')" />
            <circle v-for="(dot, k) in chart.dots" :key="k" :class="chart.kind" :cx="dot.x" :cy="dot.y" r="2.6"><title>{{ dot.text }}</title></circle>
          </svg>
        </div></div>
      </figure>
    </section>`,
  props: { state: Object, me: String, refit: Function },
  data: () => ({ fitting: false }),
  computed: {
    now() {
      return this.state.progress;
    },
    meter() {
      return this.now.meter;
    },
    share() {
      return this.meter.n_guessed / this.meter.n_asked;
    },
    pace() {
      return this.state.people.find((person) => person.name === this.me)?.per_minute;
    },
    numbers() {
      const { n_same, n_different, n_unsure, n_undone } = this.now;
      const { n_violated, n_new } = this.state;
      return Object.entries({ same: n_same, different: n_different, unsure: n_unsure, violated: n_violated ?? "…", new: n_new, undone: n_undone });
    },
    charts() {
      const { rounds } = this.state;
      return [
        this.chart("Answers", "lw-a", rounds.map((r) => r.n_answers), String, 10),
        this.chart("Answers violated", "lw-b", rounds.map((r) => r.n_violated), String, 4),
        this.chart("Records moved", "lw-c", rounds.map((r) => r.changed), (share) => this.percent(share, share > 0 && share < 0.0995 ? 1 : 0), 0.05, STABLE),
      ];
    },
  },
  methods: {
    rate,
    async update() {
      this.fitting = true;
      await this.refit();
      this.fitting = false;
    },
    percent(share, digits = 0) {
      return (100 * share).toFixed(digits) + "%";
    },
    chart(title, kind, values, text, least, limit) {
      const known = values.filter((value) => value !== null);
      const top = Math.max(least, ...known);
      const y = (value) => +(HEIGHT - EDGE - ((HEIGHT - 2 * EDGE) * value) / top).toFixed(1);
      const step = (WIDTH - LEFT - 8) / Math.max(1, values.length - 1);
      const dots = values.map((value, k) => ({ value, x: +(LEFT + 4 + k * step).toFixed(1) })).filter((dot) => dot.value !== null)
        .map(({ value, x }) => ({ x, y: y(value), text: text(value) }));
      return {
        title, kind, dots, last: known.length ? text(known.at(-1)) : "none yet",
        limit: limit === undefined ? null : y(limit),
        ticks: [0, top].map((value) => ({ at: y(value), text: text(value) })),
      };
    },
  },
};
