// Two records by themselves, in dialogs.
import FieldSearch from "linkwise/parts/field_search.js";
import PairTable from "linkwise/parts/pair_table.js";

export default {
  components: { FieldSearch, PairTable },
  template: `
    <div class="lw-shown-pair"><field-search :pair="pair" @fields="fields = $event"></field-search>
      <pair-table :pair="pair" :fields="fields.length ? fields : pair.fields"></pair-table></div>`,
  props: { pair: Object },
  data: () => ({ fields: [] }),
};
