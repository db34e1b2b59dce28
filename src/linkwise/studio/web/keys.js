// The keys, in a dialog that ? opens.
import { KEYS } from "linkwise/lib/keys.js";

export default {
  template: `<dl class="lw-keys"><div v-for="[key, what] in keys" :key="key"><dt><kbd>{{ key }}</kbd></dt><dd>{{ what }}</dd></div></dl>`,
  data: () => ({ keys: KEYS }),
};
