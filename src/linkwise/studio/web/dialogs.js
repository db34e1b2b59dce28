// Dialogs of the page: a name, the keys, what a merge or split gives, answers that contradict.
import FieldSearch from "linkwise/parts/field_search.js";
import PairTable from "linkwise/parts/pair_table.js";
import { KEYS } from "linkwise/lib/keys.js";
import { breakable, count } from "linkwise/lib/words.js";

const TITLES = { name: "What is your name?", keys: "Keys", dispute: "These answers cannot all be right" };

// A pair with a choice of its fields.
const Pair = {
  components: { FieldSearch, PairTable },
  template: `<div class="lw-shown-pair" tabindex="0" role="group" aria-label="The two records"><field-search :pair="pair" @fields="fields = $event"></field-search>
    <pair-table :pair="pair" :fields="fields.length ? fields : pair.fields"></pair-table></div>`,
  props: { pair: Object },
  data: () => ({ fields: [] }),
};

export default {
  components: { Pair },
  template: `
    <q-dialog :model-value="!!dialog" :persistent="dialog?.kind === 'name'" :aria-label="title" @hide="dialog && $emit('close')">
      <q-card v-if="dialog" class="lw-dialog" :class="{ 'lw-broad': dialog.kind === 'preview' || dialog.kind === 'dispute' }">
        <h2 class="lw-title">{{ title }}</h2>
        <form v-if="dialog.kind === 'name'" class="lw-dialog-body" @submit.prevent="$emit('name', name)">
          <p>It is kept with your answers, and others see it in the history.</p>
          <input v-model="name" autofocus maxlength="60" aria-label="your name">
          <div class="lw-buttons"><button class="lw-plain lw-go">Begin</button></div>
        </form>
        <div v-else-if="dialog.kind === 'keys'" class="lw-keys" tabindex="0" role="group" aria-label="All keys"><section v-for="(list, where) in keys" :key="where"><h3>{{ where }}</h3>
          <dl><div v-for="[names, what] in list" :key="what"><dt><kbd v-for="name in names" :key="name">{{ name }}</kbd></dt><dd>{{ what }}</dd></div></dl></section></div>
        <template v-else-if="dialog.kind === 'preview'">
          <p class="lw-soft">There will be {{ dialog.n_clusters }} clusters. Later answers do not change this; Undo (Z) does.</p>
          <div class="lw-preview" tabindex="0" role="group" aria-label="What will be together">
            <section v-for="part in dialog.parts" :key="part.title" :aria-label="part.title">
              <h3>{{ part.title }} <span class="lw-soft">{{ count(part.n, "record") }}</span></h3>
              <ul><li v-for="r in part.records" :key="r.row">
                <img v-if="r.image" :src="'/view/image/' + r.row" :alt="'image of ' + r.name" loading="lazy"><b>{{ r.name }}</b>
                <span v-for="[name, text] in Object.entries(r.fields).slice(0, 4)" :key="name" class="lw-clamp"><span class="lw-soft">{{ breakable(name) }}</span> {{ text }}</span>
              </li></ul>
            </section>
          </div>
          <div class="lw-buttons"><button class="lw-plain lw-go" @click="$emit('apply', dialog)">{{ dialog.clusters.length > 1 ? "Merge" : "Split" }}</button>
            <button class="lw-plain" @click="$emit('close')">Cancel</button></div>
        </template>
        <template v-else>
          <p class="lw-soft">Look at the records and undo the answer that is wrong.</p>
          <div class="lw-dialog-body">
            <template v-for="claim in dialog.claims" :key="claim.pair.names.join()">
              <div v-for="a in claim.answers" :key="a.id" class="lw-claim">
                <div><b>{{ a.names[0] }} and {{ a.names[1] }} are {{ a.said === "same" ? "the same" : "different" }}</b>
                  <div class="lw-soft">{{ a.id === dialog.id ? "the newest answer, " : "" }}by {{ a.who }}</div></div>
                <button class="lw-plain lw-warn" @click="$emit('undo', a)">Undo this answer</button>
              </div>
              <pair :pair="claim.pair"></pair>
            </template>
          </div>
          <div class="lw-buttons"><button class="lw-plain" @click="$emit('close')">Decide later</button></div>
        </template>
        <div v-if="dialog.kind === 'keys'" class="lw-buttons"><button class="lw-plain" @click="$emit('close')">Close</button></div>
      </q-card>
    </q-dialog>`,
  props: { dialog: Object },
  emits: ["close", "name", "apply", "undo"],
  data: () => ({ name: "", keys: KEYS }),
  computed: {
    title() {
      return this.dialog ? (this.dialog.title ?? TITLES[this.dialog.kind]) : "";
    },
  },
  methods: { breakable, count },
};
