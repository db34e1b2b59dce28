// Files to take home: made by the studio when asked for, then saved by the browser.
import { explain, save } from "linkwise/lib/request.js";

export default {
  template: `
    <section class="lw-wide lw-home" aria-label="Take home">
      <p class="lw-soft">Files are made with all answers so far.</p>
      <ul class="lw-files"><li v-for="file in files" :key="file.name">
        <button class="lw-plain" :disabled="busy !== ''" @click="take(file)">{{ file.title }}</button>
        <span class="lw-soft">{{ busy === file.name ? "being made…" : file.about }}</span>
      </li></ul>
      <button class="lw-plain" @click="show">Show the Python lines</button>
      <p v-if="error" class="lw-bad" role="alert">{{ error }}</p>
      <pre v-if="code" class="lw-code" tabindex="0" aria-label="Python lines">{{ code }}</pre>
    </section>`,
  props: { files: Array },
  data: () => ({ busy: "", error: "", code: "" }),
  methods: {
    async take({ name }) {
      await this.work(name, () => save("/api/export/" + name, name));
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
        this.error = error.message;
      } finally {
        this.busy = "";
      }
    },
  },
};
