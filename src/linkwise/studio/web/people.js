// Several people: guidelines, who is there, agreement, and what to look at again.
import { count, percent, rate } from "linkwise/lib/words.js";

export default {
  template: `
    <section class="lw-wide lw-people" aria-label="People">
      <label class="lw-guide">Guidelines for everybody who answers
        <textarea :value="state.guidelines" rows="3" maxlength="2000" placeholder="When do two records belong together?"
          @change="$emit('guidelines', { text: $event.target.value })"></textarea></label>
      <h3>Annotators</h3>
      <div class="lw-table"><table>
        <thead><tr><th scope="col">Person</th><th scope="col">Here now</th><th scope="col">Answers</th><th scope="col">Per minute</th><th scope="col">Unsure</th></tr></thead>
        <tbody><tr v-for="p in state.people" :key="p.name"><th scope="row">{{ p.name }}{{ p.name === me ? " (you)" : "" }}</th>
          <td>{{ p.here ? "yes" : "no" }}</td><td>{{ p.n_answers.toLocaleString("en") }}</td><td>{{ p.per_minute ? rate(p.per_minute) : "" }}</td><td>{{ p.n_unsure }}</td></tr></tbody>
      </table></div>
      <h3>Agreement</h3>
      <p v-if="!state.agreement.n_shared" class="lw-soft">No question was answered by two people yet. Look again at an answer of another person to compare.</p>
      <p v-else>Of {{ count(state.agreement.n_shared, "question") }} that several people answered, they agree on {{ state.agreement.n_agreed }} ({{ percent(state.agreement.n_agreed / state.agreement.n_shared) }}).</p>
      <h3>To review <span class="lw-soft">{{ state.review.length }}</span></h3>
      <p v-if="!state.review.length" class="lw-soft">Nothing is disputed, unsure or violated.</p>
      <ol class="lw-history" v-else><li v-for="one in state.review" :key="one.pair.join(' ')">
        <span class="lw-said">{{ one.names[0] }} and {{ one.names[1] }}</span><span class="lw-soft">{{ one.why }}</span>
        <span class="lw-buttons"><button class="lw-plain" :aria-label="'look at ' + one.names.join(' and ')" @click="$emit('again', one)">Look at it</button></span>
      </li></ol>
    </section>`,
  props: { state: Object, me: String },
  emits: ["guidelines", "again"],
  methods: { count, percent, rate },
};
