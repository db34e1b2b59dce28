// Exports: made by the studio on demand, then saved by the browser.
import { byGroup } from "linkwise/lib/files.js";
import { explain, save } from "linkwise/lib/request.js";

export default {
  template: `
    <section class="lw-wide lw-home" aria-label="Export">
      <ul class="lw-files"><li v-for="group in groups" :key="group.name">
        <div><b>{{ group.name }}</b><span class="lw-soft">{{ group.about }}</span></div>
        <span class="lw-buttons"><button v-for="file in group.files" :key="file.name" class="lw-plain" :class="{ 'lw-go': group === groups[0] }"
          :disabled="busy !== ''" :aria-label="file.title + ': ' + group.name" @click="take(file)"><span v-if="busy === file.name" class="lw-spin" aria-hidden="true"></span>{{
          file.title }}</button></span>
      </li></ul>
      <button class="lw-plain" @click="show">Show the Python lines</button>
      <p v-if="error" class="lw-bad" role="alert">{{ error }}</p>
      <p class="lw-soft" role="status">{{ status }}</p>
      <pre v-if="code" class="lw-code" tabindex="0" aria-label="Python lines">{{ code }}</pre>
    </section>`,
  props: { files: Array },
  data: () => ({ busy: "", error: "", code: "", status: "Files are made with all answers so far." }),
  computed: {
    groups() {
      return byGroup(this.files);
    },
  },
  methods: {
    async take({ name }) {
      await this.work(name, async () => {
        this.status = `${name} is being made…`;
        await save("/api/export/" + name, name);
        this.status = `${name} is in your downloads.`;
      });
    },
    async show() {
      await this.work("", async () => {
        const reply = await fetch("/api/export/reproduce.py", { method: "POST" });
        const text = await reply.text();
        if (!reply.ok) throw new Error(explain(text, reply.status));
        this.code = text;
      });
    },
    async work(name, job) {
      Object.assign(this, { busy: name, error: "" });
      try {
        await job();
      } catch (error) {
        Object.assign(this, { error: error.message, status: "" });
      } finally {
        this.busy = "";
      }
    },
  },
};
