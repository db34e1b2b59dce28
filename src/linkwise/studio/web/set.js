// A set question: several records, grouped by those that belong together.
import { isTaken, letter } from "linkwise/lib/keys.js";
import { breakable, isShort } from "linkwise/lib/words.js";
import { Grouping } from "linkwise/lib/grouping.js";

const SIZES = [4, 6, 8, 12];
const FEW = 5; // fields of a record

export default {
  template: `
    <section class="lw-card" aria-labelledby="lw-set-title">
      <div class="lw-card-head"><h2 id="lw-set-title">Which of these belong together?</h2>
        <label class="lw-soft"><select v-model.number="size" aria-label="records at once" @change="ask">
          <option v-for="n in sizes" :key="n" :value="n">{{ n }}</option></select> at once</label>
        <p class="lw-why">Select those that belong together and join them (G). Repeat, then Done.</p>
        <details v-if="card?.reason" class="lw-why"><summary>Why these?</summary>{{ card.reason }}</details></div>
      <div class="lw-scroll" tabindex="0" role="group" aria-label="The records">
        <ul v-if="card" class="lw-set"><li v-for="(r, k) in card.records" :key="r.row">
          <button :aria-pressed="chosen.includes(r.row)" :data-group="groupOf(r.row) ? 1 + ((groupOf(r.row) - 1) % 6) : null" @click="toggle(r.row)">
            <span class="lw-record-head"><b>{{ k + 1 }}. {{ r.name }}</b><span class="lw-group" v-if="groupOf(r.row)">group {{ groupOf(r.row) }}</span></span>
            <img v-if="r.image" :src="'/view/image/' + r.row" :alt="'image of ' + r.name" @load="enlarge">
            <dl><div v-for="[name, text] in Object.entries(r.fields).slice(0, ${FEW})" :key="name" :class="{ 'lw-short': isShort(text) }"><dt>{{ breakable(name) }}</dt><dd class="lw-clamp">{{ text }}</dd></div></dl>
          </button></li></ul>
        <p v-else-if="!waiting" class="lw-soft">Nothing is left to ask.</p>
      </div>
      <div class="lw-acts lw-few" role="group" aria-label="what to do with the records">
        <button class="lw-plain lw-go" :disabled="chosen.length < 2" aria-keyshortcuts="G" @click="group">Belong together <kbd aria-hidden="true">G</kbd></button>
        <label><input type="checkbox" v-model="alone"> the rest are all different</label>
        <button class="lw-plain" :disabled="!card || waiting" @click="done(true)">Skip the rest</button>
        <button class="lw-plain lw-go" :disabled="!card || waiting" aria-keyshortcuts="Enter" @click="done(false)">Done <kbd aria-hidden="true">Enter</kbd></button>
      </div>
      <p class="lw-note" role="status"><template v-if="waiting"><span class="lw-spin" aria-hidden="true"></span> Working…</template><template v-else>{{ note }}</template></p>
    </section>`,
  props: { act: Function },
  data: () => ({ card: null, note: "", size: 8, sizes: SIZES, chosen: [], groups: [], alone: true, waiting: false }),
  mounted() {
    this.grouping = new Grouping();
    this.listener = (event) => this.press(event);
    document.addEventListener("keydown", this.listener);
    this.ask();
  },
  unmounted() {
    document.removeEventListener("keydown", this.listener);
  },
  methods: {
    breakable, isShort,
    async ask() {
      this.waiting = true;
      const reply = await this.act("/view/card", { size: this.size });
      this.grouping = new Grouping();
      Object.assign(this, { card: reply?.card ?? null, chosen: [], groups: [], waiting: false });
    },
    groupOf(row) {
      return this.groups.findIndex((group) => group.includes(row)) + 1;
    },
    toggle(row) {
      this.chosen = this.chosen.includes(row) ? this.chosen.filter((one) => one !== row) : [...this.chosen, row];
    },
    group() {
      if (this.chosen.length < 2) return;
      this.groups = this.grouping.join(this.chosen);
      this.chosen = [];
    },
    async done(skip) {
      if (!this.card || this.waiting) return;
      if (this.chosen.length > 1) this.group();
      this.waiting = true;
      const groups = this.grouping.result(this.card.rows, this.alone && !skip);
      const reply = await this.act("/api/set-answer", { groups });
      this.waiting = false;
      if (!reply) return (this.note = "Nothing was saved. Try again.");
      const n = reply.disputes.length;
      this.note = n ? `${n} of these contradict earlier answers.` : "Saved. Undo with Z.";
      await this.ask();
    },
    press(event) {
      if (!this.$el.checkVisibility() || isTaken(event) || event.repeat) return;
      const place = /^Digit([1-9])$/.exec(event.code || "");
      if (letter(event) === "g") this.group();
      else if (event.key === "Enter" && !event.target.closest("button, select, summary")) this.done(false);
      else if (place && this.card && Number(place[1]) <= this.card.rows.length) this.toggle(this.card.rows[Number(place[1]) - 1]);
      else return;
      event.preventDefault();
    },
    enlarge({ target }) {
      target.classList.toggle("lw-tiny", target.naturalWidth < 100);
    },
  },
};
