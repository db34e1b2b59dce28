// The map: points on a canvas, colored by cluster, with links and names; zoom, hover, pick, lasso.
// Every color has one small picture that is copied to its points: 20,000 of them stay smooth.
import { contours, inside, median } from "linkwise/lib/plane.js";
import { get } from "linkwise/lib/request.js";

const NONE = { number: -1, color: "#8b93a1", dark: "#8b93a1", shape: "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z" };
const FADED = { ...NONE, number: -2, color: "#d3d9e2", dark: "#3a4452" }; // beside a highlighted cluster
const MARGIN = 18; // pixels kept free around the points
const MANY = 3000; // points from which they are drawn pixel by pixel
const DENSE = 5000; // points from which contours show the density (issue 41)
const NAMED = 8; // clusters in the legend: as many as there are colors; beyond, names on the map
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
      <div class="lw-map-head">
        <ul class="lw-legend" aria-label="Clusters and links">
          <li v-for="c in clusters.length > ${NAMED} ? [] : clusters" :key="c.number"><button :aria-pressed="highlight === c.number" title="Highlight"
            @click="$emit('highlight', highlight === c.number ? null : c.number)"><svg viewBox="-6 -6 12 12" aria-hidden="true"><path :d="c.shape" :fill="shade(c)" /></svg>{{ c.name }}</button></li>
          <li v-if="clusters.length > ${NAMED}">{{ clusters.length }} clusters<button v-if="highlight !== null" class="lw-plain" @click="$emit('highlight', null)">Show all</button></li>
          <li v-if="n.same"><i class="lw-line"></i>same</li>
          <li v-if="n.different"><i class="lw-line lw-dashed"></i>different</li>
          <li v-if="n.violated" class="lw-bad"><i class="lw-line lw-broken"></i>{{ n.violated }} violated</li>
          <li v-if="sampled" class="lw-soft">{{ sampled }}</li>
        </ul>
        <div class="lw-map-tools">
          <button :aria-pressed="lassoing" @click="lassoing = !lassoing" aria-label="Select with a lasso" title="Draw around records to select them (Shift and drag)">
            <svg viewBox="0 0 20 20" aria-hidden="true"><path d="M10 3C5 3 2 5.5 2 8.5S5 14 9 14s9-2.5 9-5.5S15 3 10 3M7 13.5c-2 1 0 3-2.5 4" /></svg></button>
          <button @click="zoom(1.4)" aria-label="Zoom in" title="Zoom in (+)">+</button>
          <button @click="zoom(1 / 1.4)" aria-label="Zoom out" title="Zoom out (−)">−</button>
          <button @click="reset" aria-label="Show everything" title="Show everything (0)">⤢</button>
        </div>
      </div>
      <div class="lw-plane" ref="plane">
        <canvas ref="canvas" tabindex="0" role="img" :aria-label="summary" :class="{ 'lw-lassoing': lassoing }"
          @wheel.prevent="wheel" @pointerdown="down" @pointermove="move" @pointerup="up"
          @pointercancel="cancel" @pointerleave="leave" @dblclick="reset" @keydown="key"></canvas>
        <p v-if="!laid" class="lw-loading" role="status"><span class="lw-spin" aria-hidden="true"></span> Laying out the map…</p>
        <div v-show="tip" class="lw-tip" :style="tipStyle">
          <template v-if="tip"><b>{{ tip.name }}</b>
            <div v-for="[name, text] in tip.lines" :key="name"><span>{{ name }}</span> {{ text.length > 160 ? text.slice(0, 160) + "…" : text }}</div></template>
        </div>
      </div>
    </section>`,
  props: { version: Number, clusters: Array, ready: Boolean, picked: Array, asked: Array, highlight: Number },
  emits: ["pick", "lasso", "highlight"],
  data: () => ({ n: {}, tip: null, tipStyle: {}, sampled: "", summary: "Map", dark: false, laid: false, lassoing: false }),
  watch: {
    version() {
      this.paint();
    },
    ready() {
      this.load();
    },
    picked() {
      this.draw();
    },
    asked() {
      this.draw();
    },
    clusters() {
      this.draw();
    },
    highlight() {
      this.draw();
    },
  },
  created() {
    Object.assign(this, { points: null, labels: [], links: [], view: { x: 0, y: 0, scale: 1 }, names: [], loop: null });
    Object.assign(this, { pointers: new Map(), records: new Map(), sprites: new Map(), dragged: 0 });
  },
  async mounted() {
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.$refs.plane);
    this.theme = new MutationObserver(() => this.draw());
    this.theme.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.resize();
    await this.load();
  },
  unmounted() {
    this.sizes.disconnect();
    this.theme.disconnect();
  },
  methods: {
    // ------------------------------------------------------------ what is shown
    async load() {
      if (this.laid) return;
      const reply = await get("/view/points").catch(() => null);
      if (!reply?.points) return; // the state changes when the layout is there
      this.points = reply.points;
      this.laid = true;
      this.extent = { x: range(this.points.x), y: range(this.points.y) };
      this.place = new Map(this.points.rows.map((row, k) => [row, k]));
      const { rows, n_rows } = this.points;
      this.sampled = rows.length < n_rows
        ? `A sample of ${rows.length.toLocaleString("en")} of ${n_rows.toLocaleString("en")} records is drawn.`
        : "";
      this.lines = rows.length > DENSE ? contours(this.points, this.extent) : [];
      await this.paint();
    },
    async paint() {
      if (!this.points) return;
      this.painting = (this.painting || 0) + 1;
      const turn = this.painting;
      const picture = await get("/view/picture").catch(() => null);
      if (!picture || turn !== this.painting) return; // a newer one is under way
      Object.assign(this, { labels: picture.labels, links: picture.links });
      this.middles = this.middle();
      const count = (test) => this.links.filter(test).length;
      this.n = {
        same: count((l) => l.same), different: count((l) => !l.same), violated: count((l) => l.violated),
      };
      this.summary = `Map of ${this.labels.length} records in ${this.clusters.length} clusters; ` +
        "arrow keys move it, plus and minus zoom, 0 shows everything";
      this.draw();
    },
    // The median place of each cluster, where its name is drawn.
    middle() {
      const groups = new Map();
      this.labels.forEach((number, k) => groups.set(number, [...(groups.get(number)?.slice(-500) ?? []), k]));
      groups.delete(-1);
      const { x, y } = this.points;
      return new Map([...groups].map(([number, rows]) => [number, [median(rows.map((k) => x[k])), median(rows.map((k) => y[k]))]]));
    },
    // ------------------------------------------------------------ drawing
    resize() {
      const { clientWidth, clientHeight } = this.$refs.plane;
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
      const high = (this.height - 2 * MARGIN) / (y[1] - y[0] || 1e-9);
      const size = Math.max(1, Math.min(wide, high)) * this.view.scale;
      return {
        sx: size,
        sy: -size,
        ox: this.width / 2 + this.view.x - (size * (x[0] + x[1])) / 2,
        oy: this.height / 2 + this.view.y + (size * (y[0] + y[1])) / 2,
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
      this.drawContours(ctx);
      this.drawLinks(ctx);
      this.drawNames(ctx);
      this.drawMarks(ctx);
      this.drawLoop(ctx);
      this.$refs.canvas.dataset.ms = (performance.now() - start).toFixed(1);
    },
    drawPoints(ctx) {
      // Whole pixels of the screen: pictures are copied then, not computed anew.
      const { ratio } = this;
      const [wide, high] = [this.$refs.canvas.width, this.$refs.canvas.height];
      const radius = this.radius();
      const none = this.sprite(NONE, radius);
      const pictures = []; // by the number of the cluster; numbers may be missing
      const faded = this.sprite(FADED, radius);
      for (const cluster of this.clusters) {
        const shown = this.highlight === null || this.highlight === undefined || this.highlight === cluster.number;
        pictures[cluster.number] = shown ? this.sprite(cluster, radius) : faded;
      }
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
    drawContours(ctx) {
      const { sx, sy, ox, oy } = this.frame();
      ctx.strokeStyle = this.ink;
      ctx.lineWidth = 1;
      this.lines.forEach(({ level, segments }) => {
        ctx.globalAlpha = 0.25 + 0.2 * level;
        ctx.beginPath();
        for (const [x1, y1, x2, y2] of segments) {
          ctx.moveTo(ox + sx * x1, oy + sy * y1);
          ctx.lineTo(ox + sx * x2, oy + sy * y2);
        }
        ctx.stroke();
      });
      ctx.globalAlpha = 1;
    },
    // Names of the clusters, the largest first; names that would cover another are left out.
    drawNames(ctx) {
      const { sx, sy, ox, oy } = this.frame();
      this.names = [];
      ctx.font = "600 12px system-ui, sans-serif";
      ctx.textAlign = "center";
      for (const cluster of [...this.clusters].sort((a, b) => b.size - a.size)) {
        const at = this.middles?.get(cluster.number);
        if (!at || (this.highlight ?? cluster.number) !== cluster.number) continue;
        const name = cluster.name.length > 24 ? cluster.name.slice(0, 23) + "…" : cluster.name;
        const half = ctx.measureText(name).width / 2 + 4;
        const [x, y] = [Math.min(this.width - half, Math.max(half, ox + sx * at[0])), oy + sy * at[1]];
        const box = { left: x - half, right: x + half, top: y - 9, bottom: y + 9, cluster };
        const covers = (other) => box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top;
        if (this.names.some(covers)) continue;
        this.names.push(box);
        ctx.globalAlpha = 0.85;
        ctx.fillStyle = this.ground;
        ctx.fillRect(box.left, box.top, 2 * half, 18);
        ctx.globalAlpha = 1;
        ctx.fillStyle = this.ink;
        ctx.fillText(name, x, y + 4);
      }
      ctx.textAlign = "start";
    },
    drawLoop(ctx) {
      if (!this.loop) return;
      ctx.beginPath();
      this.loop.forEach(([x, y], k) => (k ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
      ctx.closePath();
      ctx.setLineDash([5, 4]);
      ctx.strokeStyle = this.ink;
      ctx.lineWidth = 1.5;
      ctx.stroke();
      ctx.setLineDash([]);
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
      this.loop = this.pointers.size === 1 && (this.lassoing || event.shiftKey) ? [[event.offsetX, event.offsetY]] : null;
      this.$refs.canvas.setPointerCapture(event.pointerId);
    },
    move(event) {
      const before = this.pointers.get(event.pointerId);
      const now = [event.offsetX, event.offsetY];
      if (!before) return this.hover(now);
      this.pointers.set(event.pointerId, now);
      const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
      this.dragged += Math.abs(dx) + Math.abs(dy);
      if (this.loop) return this.loop.push(now), this.draw();
      if (this.pointers.size === 1) return this.dragged > 4 && this.pan(dx, dy);
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
      this.zoom(apart(now) / Math.max(1, apart(before)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    },
    up(event) {
      const clicked = this.pointers.delete(event.pointerId) && this.dragged <= 4;
      const { loop } = this;
      this.loop = null;
      const at = [event.offsetX, event.offsetY];
      if (loop && !clicked) return this.select(loop);
      const name = clicked && this.nameAt(at);
      if (name) return this.$emit("highlight", this.highlight === name.cluster.number ? null : name.cluster.number);
      const row = clicked ? this.find(at) : null;
      if (row !== null) this.$emit("pick", { row });
    },
    select(loop) {
      this.lassoing = false;
      this.draw();
      const { x, y, rows } = this.points;
      const { sx, sy, ox, oy } = this.frame();
      const chosen = rows.filter((_, k) => inside([ox + sx * x[k], oy + sy * y[k]], loop));
      if (chosen.length) this.$emit("lasso", chosen);
    },
    nameAt([x, y]) {
      return this.names.find((box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom);
    },
    cancel(event) {
      this.pointers.delete(event.pointerId);
      this.loop = null;
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
      const name = this.nameAt(at);
      const row = name ? null : this.find(at);
      this.$refs.canvas.style.cursor = name || row !== null ? "pointer" : this.lassoing ? "crosshair" : "grab";
      const hovered = name ? `cluster ${name.cluster.number}` : row;
      if (hovered === this.hovered) return;
      this.hovered = hovered;
      if (hovered === null) return (this.tip = null);
      const record = name ? null : await this.record(row);
      if (this.hovered !== hovered || (!name && !record)) return;
      const right = at[0] > this.width / 2;
      const below = at[1] > this.height / 2;
      this.tip = name
        ? { name: `${name.cluster.name}, ${name.cluster.size.toLocaleString("en")} records`, lines: name.cluster.traits }
        : { name: record.name, lines: Object.entries(record.fields).slice(0, 6) };
      this.tipStyle = {
        [right ? "right" : "left"]: (right ? this.width - at[0] : at[0]) + 14 + "px",
        [below ? "bottom" : "top"]: (below ? this.height - at[1] : at[1]) + 8 + "px",
      };
    },
    async record(row) {
      if (!this.records.has(row)) {
        const record = await get("/view/record/" + row).catch(() => null);
        if (!record) return null;
        if (this.records.size > 2000) this.records.clear();
        this.records.set(row, record);
      }
      return this.records.get(row);
    },
  },
};
