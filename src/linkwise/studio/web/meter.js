// The honest meter: how many of the last answers the model would have guessed, with its interval.
import { rate } from "linkwise/lib/words.js";

const AIM = 0.75; // the lower end from which guesses are good

export default {
  template: `
    <section class="lw-meter" aria-label="Meter" v-if="meter">
      <p v-if="!meter.n_asked" class="lw-soft">Soon: how many of your answers the model would have guessed.</p>
      <template v-else>
        <p>The model would have guessed <b>{{ meter.n_guessed }} of the last {{ meter.n_asked }}</b> answers
          <span class="lw-soft">(likely {{ percent(meter.low) }} to {{ percent(meter.high) }})</span></p>
        <svg viewBox="0 0 400 18" preserveAspectRatio="none" role="img" :aria-label="told">
          <rect class="lw-track" x="1" y="5" width="398" height="8" rx="4" />
          <rect class="lw-span" :x="400 * meter.low" y="2" :width="400 * (meter.high - meter.low)" height="14" rx="3" />
          <line class="lw-point" :x1="400 * share" :x2="400 * share" y1="0" y2="18" /><line class="lw-aim" x1="${400 * AIM}" x2="${400 * AIM}" y1="0" y2="18" />
        </svg>
        <p class="lw-soft" v-if="meter.expected_change !== null">The next 50 answers may change {{ percent(meter.expected_change, 1) }} of the records' clusters.</p>
      </template>
      <p class="lw-soft" v-if="pace">Your pace: {{ rate(pace) }} answers per minute.</p>
    </section>`,
  props: { meter: Object, pace: Number },
  computed: {
    share() {
      return this.meter.n_guessed / this.meter.n_asked;
    },
    told() {
      return `guessed ${this.percent(this.share)}, likely ${this.percent(this.meter.low)} to ${this.percent(this.meter.high)}; good from ${this.percent(AIM)}`;
    },
  },
  methods: {
    rate,
    percent(share, digits = 0) {
      return (100 * share).toFixed(digits) + "%";
    },
  },
};
