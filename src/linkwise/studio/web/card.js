// The question: two records, why they are asked about, and what to answer.
import FieldSearch from "linkwise/parts/field_search.js";
import PairTable from "linkwise/parts/pair_table.js";
import { isTaken, letter } from "linkwise/lib/keys.js";
import { breakable } from "linkwise/lib/words.js";

const ANSWERS = [
  { said: "same", word: "Same", key: "S" },
  { said: "different", word: "Different", key: "D" },
  { said: "unsure", word: "Unsure", key: "U" },
];
const BY_LETTER = Object.fromEntries(ANSWERS.map(({ said, key }) => [key.toLowerCase(), said]));

export default {
  components: { FieldSearch, PairTable },
  template: `
    <section class="lw-card" aria-labelledby="lw-asked-title">
      <div class="lw-asked" v-if="question" :data-i="question.i" :data-j="question.j">
        <div class="lw-card-head" aria-live="polite">
          <h2 id="lw-asked-title">Do these two belong together?</h2>
          <span v-if="own" class="lw-own">{{ question.earlier || "a question of your own" }}
            <button class="lw-link" @click="$emit('back')">back (Esc)</button></span>
          <p v-if="question.why" class="lw-why">{{ question.why }}</p>
        </div>
        <div class="lw-scroll" tabindex="0" role="group" aria-label="The two records">
          <field-search :pair="question" @fields="fields = $event"></field-search>
          <pair-table :pair="question" :fields="fields"></pair-table>
          <div v-if="!blind && question.around[0]" class="lw-around">
            <section v-for="cluster in around" :key="cluster.rows" :aria-label="'cluster of ' + cluster.rows">
              <h3><b v-for="letter in cluster.letters" :key="letter" :class="'lw-' + letter.toLowerCase()">{{ letter }}</b> {{ cluster.letters.length > 1 ? "are" : "is" }} in <svg class="lw-swatch" viewBox="-6 -6 12 12" aria-hidden="true" :style="{ '--light': cluster.color, '--dark': cluster.dark }"><path :d="cluster.shape" /></svg>
                {{ cluster.name }}<span v-if="cluster.members.length" class="lw-soft">, with</span></h3>
              <ul><li v-for="r in cluster.members" :key="r.row"><img v-if="r.image" :src="'/view/image/' + r.row" :alt="'image of ' + r.name" @load="enlarge">
                <b>{{ r.name }}</b><span v-for="name in few(r)" :key="name" class="lw-clamp"><span class="lw-soft">{{ breakable(name) }}</span> {{ r.fields[name] }}</span></li></ul>
            </section>
          </div>
          <details class="lw-pair-note" :open="!!question.note"><summary>Note on this pair</summary>
            <textarea :value="question.note" rows="2" maxlength="2000" aria-label="note on this pair" @change="write"></textarea></details>
        </div>
      </div>
      <div v-else class="lw-asked lw-nothing">
        <h2 id="lw-asked-title">{{ title }}</h2>
        <p v-if="others.length">{{ others.join(", ") }} {{ others.length > 1 ? "have" : "has" }} the last open
          questions. Once they are answered, there may be more.</p>
        <p v-else-if="!thinking">Every pair is decided by your answers. Export the result, or pick
          two points on the map for a question of your own.</p>
      </div>
      <div class="lw-answers">
        <button v-for="a in answers" :key="a.said" :class="'lw-answer lw-' + a.said" :aria-keyshortcuts="a.key"
                :disabled="!question" @click="answer(a.said)">{{ a.word }} <kbd aria-hidden="true">{{ a.key }}</kbd></button>
        <button class="lw-answer lw-undo" aria-keyshortcuts="Z" @click="$emit('undo')">Undo <kbd aria-hidden="true">Z</kbd></button>
      </div>
      <p class="lw-note" role="status"><template v-if="slow"><span class="lw-spin" aria-hidden="true"></span> Working…</template><template v-else>{{ note }}</template></p>
    </section>`,
  props: { question: Object, own: Boolean, busy: Boolean, note: String, thinking: Boolean, blind: Boolean, others: Array },
  emits: ["answer", "undo", "back", "keys", "note"],
  data: () => ({ slow: false, answers: ANSWERS, fields: [] }),
  computed: {
    title() {
      if (this.thinking) return "Looking for the first question…";
      return this.others.length ? "Nothing for you just now" : "Nothing is left to ask";
    },
    // One entry if both records are in one cluster.
    around() {
      const [a, b] = this.question.around;
      const [rowA, rowB] = this.question.names;
      if (a.number === b.number && a.number >= 0) return [{ ...a, letters: "AB", rows: `${rowA} and ${rowB}` }];
      return [{ ...a, letters: "A", rows: rowA }, { ...b, letters: "B", rows: rowB }];
    },
  },
  watch: {
    question: {
      immediate: true,
      handler(now) {
        if (now && now.n_fields <= 12) this.fields = now.fields;
      },
    },
    busy(now) {
      clearTimeout(this.timer);
      this.slow = false;
      if (now) this.timer = setTimeout(() => (this.slow = true), 150);
    },
  },
  mounted() {
    this.listener = (event) => this.press(event);
    document.addEventListener("keydown", this.listener);
  },
  unmounted() {
    document.removeEventListener("keydown", this.listener);
  },
  methods: {
    press(event) {
      if (isTaken(event) || event.repeat) return;
      const key = letter(event);
      const seen = this.$el.checkVisibility(); // nobody answers what they do not see
      if (seen && key in BY_LETTER) this.answer(BY_LETTER[key]);
      else if (key === "z" || event.key === "Backspace") this.$emit("undo");
      else if (event.key === "?") this.$emit("keys");
      else if (event.key === "Escape" && seen && this.own) this.$emit("back");
      else return;
      event.preventDefault();
    },
    answer(said) {
      // The answer names its question, so that it can never count for one not seen yet.
      if (this.question) this.$emit("answer", { said, i: this.question.i, j: this.question.j });
    },
    write(event) {
      const { i, j } = this.question;
      this.$emit("note", { kind: "pair", key: `${Math.min(i, j)} ${Math.max(i, j)}`, text: event.target.value });
    },
    breakable,
    few(record) {
      return record.image ? [] : Object.keys(record.fields).slice(0, 3);
    },
    enlarge({ target }) {
      target.classList.toggle("lw-tiny", target.naturalWidth < 100);
    },
  },
};
