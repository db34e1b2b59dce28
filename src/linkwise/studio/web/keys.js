// The keys, in a dialog that ? opens.
import { KEYS } from "linkwise/lib/keys.js";

export default {
  template: `<div class="lw-keys"><section v-for="(keys, where) in all" :key="where"><h3>{{ where }}</h3>
    <dl><div v-for="[names, what] in keys" :key="what"><dt><kbd v-for="name in names" :key="name">{{ name }}</kbd></dt><dd>{{ what }}</dd></div></dl></section></div>`,
  data: () => ({ all: KEYS }),
};
