// What will be together after a merge or a split: a few records of each part.
import { breakable, count } from "linkwise/lib/words.js";

const FEW = 4; // fields of a record

export default {
  template: `
    <div class="lw-preview" tabindex="0" role="group" aria-label="What will be together">
      <section v-for="(part, k) in parts" :key="k" :aria-label="part.title">
        <h3>{{ part.title }} <span class="lw-soft">{{ count(part.n, "record") }}</span></h3>
        <ul><li v-for="r in part.records" :key="r.row">
          <img v-if="r.image" :src="'/view/image/' + r.row" :alt="'image of ' + r.name" loading="lazy"><b>{{ r.name }}</b>
          <span v-for="[name, text] in Object.entries(r.fields).slice(0, ${FEW})" :key="name"><span class="lw-soft">{{ breakable(name) }}</span> {{ text }}</span>
        </li></ul>
      </section>
    </div>`,
  props: { parts: Array },
  methods: { breakable, count },
};
