// Log entries, the newest first: annotator, time, and whether each is undone.
const CLOCK = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

export default {
  template: `
    <section class="lw-wide" aria-label="History">
      <p v-if="!said.length" class="lw-soft">Nothing has been answered yet.</p>
      <ol class="lw-history" v-else>
        <li v-for="one in said" :key="one.count + ' ' + one.id" :class="{ undone: one.undone_by !== null }">
          <span class="lw-said">{{ one.text }}<b v-if="one.disputed" class="lw-bad"> contradicts, does not count</b>
            <b v-if="one.violated" class="lw-bad"> violated</b></span>
          <span class="lw-soft">{{ one.who }}, <time :datetime="one.at">{{ clock(one.at) }}</time><template
            v-if="one.undone_by !== null">, undone by {{ one.undone_by }}</template></span>
          <span class="lw-buttons">
            <button v-if="one.pair" class="lw-plain" :aria-label="'look again at ' + one.text"
              @click="$emit('again', one)">Look again</button>
            <button v-if="one.undone_by === null" class="lw-plain" :aria-label="'undo ' + one.text"
              @click="$emit('back', { id: one.id, count: one.count })">Undo</button></span>
        </li>
      </ol>
      <p v-if="more > 0" class="lw-soft">… and {{ more.toLocaleString("en") }} before. Export has all of them.</p>
    </section>`,
  props: { said: Array, more: Number },
  emits: ["again", "back"],
  methods: {
    clock(at) {
      return CLOCK.format(new Date(at));
    },
  },
};
