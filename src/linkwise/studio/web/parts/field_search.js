// The fields of a pair: the most discriminative ones, or a search in all of them.
import { get } from "linkwise/lib/request.js";

const FEW = 12; // fields that need no search

export default {
  template: `
    <div class="lw-find" v-if="pair.n_fields > ${FEW}">
      <input type="search" v-model="search" placeholder="Search in the fields" aria-label="search in the fields">
      <span class="lw-soft" role="status">{{ summary }}</span>
      <button v-if="!search && pair.n_fields > shown" class="lw-link" @click="all = !all; find()">{{ all ? "fewer" : "show more" }}</button>
    </div>`,
  props: { pair: Object },
  emits: ["fields"],
  data: () => ({ search: "", all: false, shown: 0 }),
  computed: {
    summary() {
      return `${this.shown.toLocaleString("en")} of ${this.pair.n_fields.toLocaleString("en")} fields, most discriminative first`;
    },
  },
  watch: {
    search() {
      clearTimeout(this.due);
      this.due = setTimeout(() => this.find(), 150);
    },
    pair: {
      immediate: true,
      handler() {
        this.find();
      },
    },
  },
  methods: {
    async find() {
      const { i, j } = this.pair;
      if (!this.search && !this.all) return this.give(this.pair.fields.slice(0, FEW));
      const query = new URLSearchParams({ i, j, search: this.search });
      const { fields } = await get("/view/fields?" + query);
      if (this.pair.i === i && this.pair.j === j) this.give(fields);
    },
    give(fields) {
      this.shown = fields.length;
      this.$emit("fields", fields);
    },
  },
};
