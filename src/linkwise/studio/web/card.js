// The question: two records, why they are asked about, and what to answer.
import FieldSearch from "linkwise/parts/field_search.js";
import PairTable from "linkwise/parts/pair_table.js";
import { isTaken, letter } from "linkwise/lib/keys.js";

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
          <span v-if="own" class="lw-own">{{ earlier || "a question of your own" }}
            <button class="lw-link" @click="$emit('back')">back (Esc)</button></span>
          <p v-if="question.why" class="lw-why">{{ question.why }}</p>
        </div>
        <div class="lw-scroll" tabindex="0" role="group" aria-label="The two records">
          <field-search :pair="question" @fields="fields = $event"></field-search>
          <pair-table :pair="question" :fields="fields"></pair-table>
          <details class="lw-pair-note" :open="!!question.note"><summary>Note on this pair</summary>
            <textarea :value="question.note" rows="2" maxlength="2000" aria-label="note on this pair"
              @change="$emit('note', { i: question.i, j: question.j, text: $event.target.value })"></textarea></details>
        </div>
        <p v-if="guess" class="lw-guess">{{ guess }}</p>
      </div>
      <div v-else class="lw-asked lw-nothing">
        <h2 id="lw-asked-title">{{ title }}</h2>
        <p v-if="others.length">{{ others.join(", ") }} {{ others.length > 1 ? "have" : "has" }} the last open
          questions. Once they are answered, there may be more.</p>
        <p v-else-if="!thinking">Every pair is decided by your answers. Take the result home, or pick
          two points on the map for a question of your own.</p>
      </div>
      <div class="lw-answers">
        <button v-for="a in answers" :key="a.said" :class="'lw-answer lw-' + a.said" :aria-keyshortcuts="a.key"
                :disabled="!question" @click="answer(a.said)">{{ a.word }} <kbd aria-hidden="true">{{ a.key }}</kbd></button>
        <button class="lw-answer lw-undo" aria-keyshortcuts="Z" @click="undo">Undo <kbd aria-hidden="true">Z</kbd></button>
      </div>
      <p class="lw-note" role="status"><template v-if="slow"><span class="lw-spin" aria-hidden="true"></span> Working…</template><template v-else>{{ note }}</template></p>
    </section>`,
  props: {
    question: Object,
    turn: Number,
    own: Boolean,
    earlier: String,
    guess: String,
    note: String,
    thinking: Boolean,
    others: { type: Array, default: () => [] },
  },
  data: () => ({ waiting: false, slow: false, answers: ANSWERS, fields: [] }),
  computed: {
    title() {
      if (this.thinking) return "Looking for the first question…";
      return this.others.length ? "Nothing for you just now" : "Nothing is left to ask";
    },
  },
  watch: {
    turn() {
      this.waiting = false;
    },
    question: {
      immediate: true,
      handler(now, before) {
        if (now?.i !== before?.i || now?.j !== before?.j) this.waiting = false;
        if (now && now.n_fields <= 12) this.fields = now.fields;
      },
    },
    waiting(now) {
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
      else if (key === "z" || event.key === "Backspace") this.undo();
      else if (event.key === "?") this.$emit("keys");
      else if (event.key === "Escape" && seen && this.own) this.$emit("back");
      else return;
      event.preventDefault();
    },
    answer(said) {
      // The answer names its question, so that it can never count for one not seen yet.
      if (!this.question || this.waiting) return;
      this.waiting = true;
      this.$emit("answer", { said, i: this.question.i, j: this.question.j });
    },
    undo() {
      if (this.waiting) return;
      this.waiting = true;
      this.$emit("undo", {});
    },
  },
};
