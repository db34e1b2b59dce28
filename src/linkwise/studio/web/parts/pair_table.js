// Two records side by side: images, then the fields. All cells are shown as text.
import { breakable, isShort } from "linkwise/lib/words.js";

const TINY = 100; // pixels of an image that is enlarged with its pixels visible

export default {
  template: `
    <div class="lw-pair">
      <div class="lw-images" v-if="pair.images[0] || pair.images[1]">
        <figure v-for="(row, k) in [pair.i, pair.j]" :key="k + ' ' + row">
          <img v-if="pair.images[k]" :src="'/view/image/' + row" :alt="'image of ' + pair.names[k]" @load="enlarge">
          <figcaption><b :class="k ? 'lw-b' : 'lw-a'">{{ 'AB'[k] }}</b> {{ pair.names[k] }}</figcaption>
        </figure>
      </div>
      <table class="lw-fields" v-if="fields.length">
        <thead><tr>
          <th scope="col"><span class="lw-sr">Field</span></th>
          <th scope="col"><b class="lw-a">A</b> {{ pair.names[0] }}</th>
          <th scope="col"><b class="lw-b">B</b> {{ pair.names[1] }}</th>
          <th scope="col" v-if="scaled" class="lw-range">low to high</th>
        </tr></thead>
        <tbody>
          <tr v-for="field in fields" :key="field.name" :class="{ differs: field.far && !field.passage, passage: field.passage }">
            <th scope="row"><span v-if="field.differs && !field.passage" class="lw-differs" role="img" aria-label="differs:" title="differs">≠ </span>{{ breakable(field.name) }}</th>
            <td v-for="(side, k) in ['a', 'b']" :key="side" :class="{ 'lw-short': isShort(field.texts[k]) }"><span v-if="!field.texts[k].trim()"
              class="lw-missing">missing</span><template
              v-for="(part, n) in field[side]" :key="n"><mark v-if="part[1]" :class="'lw-' + part[1]">{{ part[0] }}</mark><template
              v-else>{{ part[0] }}</template></template></td>
            <td v-if="scaled" class="lw-range">
              <svg v-if="field.places" viewBox="0 0 100 16" role="img" :aria-label="described(field)">
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
    </div>`,
  props: { pair: Object, fields: Array },
  computed: {
    scaled() {
      return this.fields.some((field) => field.places);
    },
  },
  methods: {
    breakable, isShort,
    enlarge({ target }) {
      target.classList.toggle("lw-tiny", target.naturalWidth < TINY);
    },
    described(field) {
      const percent = field.places.map((place) => (place === null ? "unknown" : Math.round(100 * place) + "%"));
      return `from least to most: A at ${percent[0]}, B at ${percent[1]}`;
    },
  },
};
