// The map: points on a canvas, colored by cluster, with links; zoom, hover and picking.
// Every color has one small picture that is copied to its points: 20,000 of them stay smooth.
const NONE = { number: -1, color: "#8b93a1", dark: "#8b93a1", shape: "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z" };
const [MARGIN, TOP] = [18, 48]; // pixels kept free around the points
const MANY = 3000; // points from which they are drawn pixel by pixel
const NAMED = 8; // clusters in the legend
const REACH = 12; // pixels around the pointer in which a point is found

const range = (values) => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);

// Where the solid pixels of a small picture go in one of a given width, and their colors.
function solid(picture, wide) {
  const data = picture.getContext("2d").getImageData(0, 0, picture.width, picture.height).data;
  const all = new Uint32Array(data.buffer);
  const kept = [...all.keys()].filter((k) => data[4 * k + 3] > 100);
  return {
    at: kept.map((k) => Math.floor(k / picture.width) * wide + (k % picture.width)),
    color: kept.map((k) => (all[k] | 0xff000000) >>> 0),
  };
}

export default {
  template: `
    <section class="lw-map" aria-label="Map of the records">
      <canvas ref="canvas" tabindex="0" role="img" :aria-label="summary"
        @wheel.prevent="wheel" @pointerdown="down" @pointermove="move" @pointerup="up"
        @pointercancel="cancel" @pointerleave="leave" @dblclick="reset" @keydown="key"></canvas>
      <div class="lw-map-tools">
        <button v-for="kind in kinds.length > 1 ? kinds : []" :key="kind" :aria-pressed="kind === shown"
          @click="choose(kind)">{{ kind }}</button>
        <button @click="zoom(1.4)" aria-label="Zoom in" title="Zoom in (+)">+</button>
        <button @click="zoom(1 / 1.4)" aria-label="Zoom out" title="Zoom out (−)">−</button>
        <button @click="reset" aria-label="Show everything" title="Show everything (0)">⤢</button>
      </div>
      <ul class="lw-legend" aria-label="Clusters and links">
        <li v-if="n.same"><i class="lw-line"></i>same</li>
        <li v-if="n.different"><i class="lw-line lw-dashed"></i>different</li>
        <li v-if="n.violated" class="lw-bad"><i class="lw-line lw-broken"></i>{{ n.violated }} violated</li>
        <li v-for="c in clusters.slice(0, ${NAMED})" :key="c.number"><svg viewBox="-6 -6 12 12" aria-hidden="true"><path
          :d="c.shape" :fill="shade(c)" /></svg>{{ c.name }}</li>
        <li v-if="clusters.length > ${NAMED}">and {{ clusters.length - ${NAMED} }} more clusters</li>
      </ul>
      <p v-if="sampled" class="lw-sampled">{{ sampled }}</p>
      <div v-show="tip" class="lw-tip" :style="tipStyle">
        <template v-if="tip"><b>{{ tip.name }}</b>
          <div v-for="[name, text] in Object.entries(tip.fields).slice(0, 6)" :key="name"><span>{{ name }}</span>
            {{ text.length > 160 ? text.slice(0, 160) + "…" : text }}</div></template>
      </div>
    </section>`,
  props: { version: String, picked: Array, asked: Array },
  data: () => ({
    kinds: [], shown: "PCA", clusters: [], n: {}, tip: null, tipStyle: {}, sampled: "", summary: "Map",
    dark: false,
  }),
  watch: {
    version() {
      this.paint();
    },
    picked() {
      this.draw();
    },
    asked() {
      this.draw();
    },
  },
  async mounted() {
    Object.assign(this, { points: null, labels: [], links: [], view: { x: 0, y: 0, scale: 1 } });
    Object.assign(this, { pointers: new Map(), records: new Map(), sprites: new Map(), dragged: 0 });
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.$el);
    this.theme = new MutationObserver(() => this.draw());
    this.theme.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.resize();
    await this.choose("PCA");
  },
  unmounted() {
    this.sizes.disconnect();
    this.theme.disconnect();
  },
  methods: {
    // ------------------------------------------------------------ what is shown
    async choose(kind) {
      const reply = await fetch("/view/points?kind=" + kind);
      if (!reply.ok) return;
      this.points = await reply.json();
      this.shown = kind;
      this.kinds = this.points.projections;
      this.extent = { x: range(this.points.x), y: range(this.points.y) };
      this.place = new Map(this.points.rows.map((row, k) => [row, k]));
      const { rows, n_rows } = this.points;
      this.sampled = rows.length < n_rows
        ? `A sample of ${rows.length.toLocaleString("en")} of ${n_rows.toLocaleString("en")} records is drawn.`
        : "";
      await this.paint();
    },
    async paint() {
      if (!this.points) return;
      this.painting = (this.painting || 0) + 1;
      const turn = this.painting;
      const reply = await fetch("/view/picture?kind=" + this.shown);
      if (!reply.ok || turn !== this.painting) return; // a newer one is under way
      const picture = await reply.json();
      Object.assign(this, { labels: picture.labels, links: picture.links, clusters: picture.clusters });
      const count = (test) => this.links.filter(test).length;
      this.n = {
        same: count((l) => l.same), different: count((l) => !l.same), violated: count((l) => l.violated),
      };
      this.summary = `Map of ${this.labels.length} records in ${this.clusters.length} clusters; ` +
        "arrow keys move it, plus and minus zoom, 0 shows everything";
      this.draw();
    },
    // ------------------------------------------------------------ drawing
    resize() {
      const { clientWidth, clientHeight } = this.$el;
      this.ratio = window.devicePixelRatio || 1;
      this.width = clientWidth;
      this.height = clientHeight;
      this.$refs.canvas.width = Math.round(clientWidth * this.ratio);
      this.$refs.canvas.height = Math.round(clientHeight * this.ratio);
      this.draw();
    },
    draw() {
      this.dark = document.body.classList.contains("body--dark");
      if (!this.due) this.due = requestAnimationFrame(() => ((this.due = 0), this.drawNow()));
    },
    frame() {
      // One scale for both axes: distances on the map can be compared.
      const { x, y } = this.extent;
      const wide = (this.width - 2 * MARGIN) / (x[1] - x[0] || 1e-9);
      const high = (this.height - MARGIN - TOP) / (y[1] - y[0] || 1e-9);
      const size = Math.max(1, Math.min(wide, high)) * this.view.scale;
      return {
        sx: size,
        sy: -size,
        ox: this.width / 2 + this.view.x - (size * (x[0] + x[1])) / 2,
        oy: (this.height + TOP - MARGIN) / 2 + this.view.y + (size * (y[0] + y[1])) / 2,
      };
    },
    drawNow() {
      if (!this.points) return;
      const start = performance.now();
      const ctx = this.$refs.canvas.getContext("2d");
      ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      ctx.clearRect(0, 0, this.width, this.height);
      const style = getComputedStyle(this.$el);
      this.ink = style.getPropertyValue("--lw-ink");
      this.bad = style.getPropertyValue("--lw-bad");
      this.ground = style.getPropertyValue("--lw-panel");
      this.drawPoints(ctx);
      this.drawLinks(ctx);
      this.drawMarks(ctx);
      this.$refs.canvas.dataset.ms = (performance.now() - start).toFixed(1);
    },
    drawPoints(ctx) {
      // Whole pixels of the screen: pictures are copied then, not computed anew.
      const { ratio } = this;
      const [wide, high] = [this.$refs.canvas.width, this.$refs.canvas.height];
      const radius = this.radius();
      const none = this.sprite(NONE, radius);
      const pictures = []; // by the number of the cluster; numbers may be missing
      for (const cluster of this.clusters) pictures[cluster.number] = this.sprite(cluster, radius);
      ctx.setTransform(1, 0, 0, 1, 0, 0);
      if (this.points.x.length <= MANY) this.eachPoint(none.width, (k, px, py) => {
        ctx.drawImage(pictures[this.labels[k]] || none, px, py);
      });
      else this.stamp(ctx, wide, high, pictures, none);
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    },
    eachPoint(size, put) {
      const { x, y } = this.points;
      const { sx, sy, ox, oy } = this.frame();
      const [wide, high] = [this.$refs.canvas.width, this.$refs.canvas.height];
      for (let k = 0; k < x.length; k++) {
        const px = Math.round((ox + sx * x[k]) * this.ratio - size / 2);
        const py = Math.round((oy + sy * y[k]) * this.ratio - size / 2);
        if (px > -size && py > -size && px < wide && py < high) put(k, px, py);
      }
    },
    // Many points: their pixels are written straight into the picture, many times faster.
    stamp(ctx, wide, high, pictures, none) {
      const size = none.width;
      const image = ctx.createImageData(wide, high);
      const pixels = new Uint32Array(image.data.buffer);
      const [dots, other] = [pictures.map((picture) => solid(picture, wide)), solid(none, wide)];
      const { labels } = this;
      this.eachPoint(size, (k, px, py) => {
        if (px < 0 || py < 0 || px + size > wide || py + size > high) return;
        const { at, color } = dots[labels[k]] || other;
        const start = py * wide + px;
        for (let m = 0; m < at.length; m++) pixels[start + at[m]] = color[m];
      });
      ctx.putImageData(image, 0, 0);
    },
    radius() {
      const n = this.points.x.length;
      const base = n > 5000 ? 2 : n > 800 ? 3 : 4.5;
      return Math.min(8, base * Math.max(1, Math.sqrt(this.view.scale) * 0.9));
    },
    sprite(cluster, radius) {
      const name = `${cluster.number} ${radius.toFixed(1)} ${this.ground}`;
      let made = this.sprites.get(name);
      if (made) return made;
      if (this.sprites.size > 400) this.sprites.clear();
      made = document.createElement("canvas");
      made.width = made.height = 2 * Math.ceil((radius + 1) * this.ratio);
      const ctx = made.getContext("2d", { willReadFrequently: true });
      const scale = (radius / 5) * this.ratio;
      ctx.translate(made.width / 2, made.width / 2);
      ctx.scale(scale, scale);
      const path = new Path2D(cluster.shape);
      ctx.fillStyle = this.shade(cluster);
      ctx.fill(path);
      ctx.strokeStyle = this.ground;
      ctx.lineWidth = 0.8;
      if (this.points.x.length <= MANY) ctx.stroke(path);
      this.sprites.set(name, made);
      return made;
    },
    shade(cluster) {
      return this.dark ? cluster.dark : cluster.color;
    },
    drawLinks(ctx) {
      const { sx, sy, ox, oy } = this.frame();
      for (const { ends, same, violated } of this.links) {
        ctx.beginPath();
        ctx.setLineDash(same ? [] : [5, 4]);
        ctx.strokeStyle = violated ? this.bad : this.ink;
        ctx.globalAlpha = violated ? 1 : 0.55;
        ctx.lineWidth = violated ? 2.4 : 1.2;
        ctx.moveTo(ox + sx * ends[0], oy + sy * ends[1]);
        ctx.lineTo(ox + sx * ends[2], oy + sy * ends[3]);
        ctx.stroke();
        if (violated) this.drawCross(ctx, ox + (sx * (ends[0] + ends[2])) / 2, oy + (sy * (ends[1] + ends[3])) / 2);
      }
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
    },
    drawCross(ctx, x, y) {
      ctx.beginPath();
      ctx.setLineDash([]);
      for (const turn of [1, -1]) {
        ctx.moveTo(x - 5, y - 5 * turn);
        ctx.lineTo(x + 5, y + 5 * turn);
      }
      ctx.stroke();
    },
    drawMarks(ctx) {
      (this.picked || []).forEach((row) => this.drawRing(ctx, row, ""));
      (this.asked || []).forEach((row, k) => this.drawRing(ctx, row, "AB"[k]));
    },
    drawRing(ctx, row, letter) {
      const k = this.place.get(row);
      if (k === undefined) return;
      const { sx, sy, ox, oy } = this.frame();
      const px = ox + sx * this.points.x[k];
      const py = oy + sy * this.points.y[k];
      ctx.beginPath();
      ctx.arc(px, py, this.radius() + 5, 0, 2 * Math.PI);
      ctx.strokeStyle = this.ink;
      ctx.lineWidth = 2.5;
      ctx.stroke();
      ctx.fillStyle = this.ink;
      ctx.font = "bold 13px system-ui, sans-serif";
      ctx.fillText(letter, px + this.radius() + 8, py - 6);
    },
    // ------------------------------------------------------------ moving about
    zoom(factor, x = this.width / 2, y = this.height / 2) {
      const scale = Math.min(200, Math.max(0.5, this.view.scale * factor));
      const change = scale / this.view.scale;
      const [cx, cy] = [x - this.width / 2, y - this.height / 2];
      this.view = { scale, x: cx - change * (cx - this.view.x), y: cy - change * (cy - this.view.y) };
      this.draw();
    },
    pan(dx, dy) {
      this.view = { ...this.view, x: this.view.x + dx, y: this.view.y + dy };
      this.draw();
    },
    reset() {
      this.view = { x: 0, y: 0, scale: 1 };
      this.draw();
    },
    key(event) {
      const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
      if (event.key in moves) this.pan(...moves[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.4);
      else if (event.key === "-") this.zoom(1 / 1.4);
      else if (event.key === "0") this.reset();
      else return;
      event.preventDefault();
    },
    wheel(event) {
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    },
    down(event) {
      this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      if (this.pointers.size === 1) this.dragged = 0;
      this.$refs.canvas.setPointerCapture(event.pointerId);
    },
    move(event) {
      const before = this.pointers.get(event.pointerId);
      const now = [event.offsetX, event.offsetY];
      if (!before) return this.hover(now);
      this.pointers.set(event.pointerId, now);
      const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
      this.dragged += Math.abs(dx) + Math.abs(dy);
      if (this.pointers.size === 1) return this.dragged > 4 && this.pan(dx, dy);
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
      this.zoom(apart(now) / Math.max(1, apart(before)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    },
    up(event) {
      const clicked = this.pointers.delete(event.pointerId) && this.dragged <= 4;
      const row = clicked ? this.find([event.offsetX, event.offsetY]) : null;
      if (row !== null) this.$emit("pick", { row });
    },
    cancel(event) {
      this.pointers.delete(event.pointerId);
    },
    leave() {
      this.hovered = null;
      this.tip = null;
    },
    // ------------------------------------------------------------ finding a point
    find([px, py]) {
      if (!this.points) return null;
      const { x, y, rows } = this.points;
      const { sx, sy, ox, oy } = this.frame();
      let best = REACH * REACH;
      let found = null;
      for (let k = 0; k < x.length; k++) {
        const dx = ox + sx * x[k] - px;
        const dy = oy + sy * y[k] - py;
        const far = dx * dx + dy * dy;
        if (far < best) [best, found] = [far, rows[k]];
      }
      return found;
    },
    async hover(at) {
      const row = this.find(at);
      this.$refs.canvas.style.cursor = row === null ? "grab" : "pointer";
      if (row === this.hovered) return;
      this.hovered = row;
      if (row === null) return (this.tip = null);
      const record = await this.record(row);
      if (this.hovered !== row || !record) return;
      const right = at[0] > this.width / 2;
      this.tip = record;
      this.tipStyle = {
        [right ? "right" : "left"]: (right ? this.width - at[0] : at[0]) + 14 + "px",
        [at[1] > this.height / 2 ? "bottom" : "top"]:
          (at[1] > this.height / 2 ? this.height - at[1] : at[1]) + 8 + "px",
      };
    },
    async record(row) {
      if (!this.records.has(row)) {
        const reply = await fetch("/view/record/" + row);
        if (!reply.ok) return null;
        if (this.records.size > 2000) this.records.clear();
        this.records.set(row, await reply.json());
      }
      return this.records.get(row);
    },
  },
};
