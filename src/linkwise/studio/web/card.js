// The question: two records side by side, and what to answer. All cells are shown as text.
const KEYS = { s: "same", d: "different", u: "unsure" };
const ANSWERS = [
  { said: "same", word: "Same", key: "S" },
  { said: "different", word: "Different", key: "D" },
  { said: "unsure", word: "Unsure", key: "U" },
];

export default {
  template: `
    <section class="lw-card" aria-label="Question">
      <div class="lw-asked" v-if="question" aria-live="polite" :data-i="question.i" :data-j="question.j">
        <div class="lw-card-head">
          <h1>Do these two belong together?</h1>
          <span v-if="own" class="lw-own">a question of your own
            <button class="lw-link" @click="$emit('back')">back (Esc)</button></span>
        </div>
        <div class="lw-scroll" tabindex="0" aria-label="The two records">
          <div class="lw-images" v-if="question.images[0] || question.images[1]">
            <figure v-for="(row, k) in [question.i, question.j]" :key="row">
              <img v-if="question.images[k]" :src="'/view/image/' + row" :alt="'image of ' + question.names[k]">
              <figcaption>{{ 'AB'[k] }}</figcaption>
            </figure>
          </div>
          <table class="lw-fields">
            <thead><tr>
              <th scope="col"></th>
              <th scope="col"><b class="lw-a">A</b> {{ question.names[0] }}</th>
              <th scope="col"><b class="lw-b">B</b> {{ question.names[1] }}</th>
              <th scope="col" v-if="scaled" class="lw-range">least to most</th>
            </tr></thead>
            <tbody>
              <tr v-for="field in question.fields" :key="field.name"
                  :class="{ differs: field.far, passage: field.passage }">
                <th scope="row"><span v-if="field.differs" class="lw-differs" title="differs"
                  aria-label="differs">≠ </span>{{ field.name }}</th>
                <td v-for="(side, k) in ['a', 'b']" :key="side"><span v-if="!field.texts[k].trim()"
                  class="lw-missing">missing</span><template
                  v-for="(part, k) in field[side]" :key="k"><mark v-if="part[1]">{{ part[0] }}</mark><template
                  v-else>{{ part[0] }}</template></template></td>
                <td v-if="scaled" class="lw-range">
                  <svg v-if="field.places" viewBox="0 0 100 16" role="img" :aria-label="told(field)">
                    <line x1="6" x2="94" y1="8" y2="8" />
                    <template v-for="(place, k) in field.places" :key="k"><template v-if="place !== null">
                      <circle v-if="k === 0" class="lw-a" :cx="6 + 88 * place" cy="8" r="4.5" />
                      <rect v-else class="lw-b" :x="2.5 + 88 * place" y="4.5" width="7" height="7" />
                    </template></template>
                  </svg>
                </td>
              </tr>
            </tbody>
          </table>
        </div>
        <p v-if="guess" class="lw-guess">{{ guess }}</p>
      </div>
      <div v-else class="lw-asked lw-nothing">
        <h1>{{ thinking ? "Looking for the first question…" : others.length ? "Nothing for you just now" : "Nothing is left to ask" }}</h1>
        <p v-if="others.length">{{ others.join(", ") }} {{ others.length > 1 ? "have" : "has" }} the last open
          questions. Once they are answered, there may be more.</p>
        <p v-else-if="!thinking">Every pair is decided by your answers. Take the result away below, or pick
          two points on the map for a question of your own.</p>
      </div>
      <div class="lw-answers">
        <button v-for="a in answers" :key="a.said" :class="'lw-answer lw-' + a.said"
                :disabled="!question" @click="answer(a.said)">{{ a.word }} <kbd>{{ a.key }}</kbd></button>
        <button class="lw-answer lw-undo" @click="undo">Undo <kbd>Z</kbd></button>
      </div>
      <p class="lw-note" role="status">{{ note }}</p>
    </section>`,
  props: {
    question: Object,
    turn: Number,
    own: Boolean,
    guess: String,
    note: String,
    thinking: Boolean,
    others: { type: Array, default: () => [] },
  },
  data: () => ({ waiting: false, answers: ANSWERS }),
  computed: {
    scaled() {
      return this.question.fields.some((field) => field.places);
    },
  },
  watch: {
    turn() {
      this.waiting = false;
    },
    question(now, before) {
      if (now?.i !== before?.i || now?.j !== before?.j) this.waiting = false;
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
      const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
      if (typing || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector(".q-dialog")) return;
      const key = event.key.toLowerCase();
      if (key in KEYS) this.answer(KEYS[key]);
      else if (key === "z" || key === "backspace") this.undo();
      else if (key === "escape" && this.own) this.$emit("back");
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
    told(field) {
      const percent = field.places.map((place) => (place === null ? "unknown" : Math.round(100 * place) + "%"));
      return `from least to most: A at ${percent[0]}, B at ${percent[1]}`;
    },
  },
};
