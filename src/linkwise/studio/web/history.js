// What was said, the newest first: by whom, when, and whether it still stands.
const CLOCK = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

export default {
  template: `
    <section class="lw-wide" aria-label="History">
      <p v-if="!said.length" class="lw-soft">Nothing has been answered yet.</p>
      <ol class="lw-history" v-else>
        <li v-for="one in said" :key="one.count + ' ' + one.id" :class="{ undone: one.undone_by !== null }">
          <span class="lw-said">{{ one.text }}<b v-if="one.disputed" class="lw-bad"> contradicts, does not count</b></span>
          <span class="lw-soft">{{ one.who }}, <time :datetime="one.at">{{ clock(one.at) }}</time><template
            v-if="one.undone_by !== null">, taken back by {{ one.undone_by }}</template></span>
          <button v-if="one.undone_by === null" class="lw-plain" :aria-label="'take back ' + one.text"
            @click="$emit('back', { id: one.id, count: one.count })">Take back</button>
        </li>
      </ol>
      <p v-if="more > 0" class="lw-soft">… and {{ more.toLocaleString("en") }} before. Take away has all of them.</p>
    </section>`,
  props: { said: Array, more: Number },
  methods: {
    clock(at) {
      return CLOCK.format(new Date(at));
    },
  },
};
