// Files that were dropped or chosen, folders included, with their paths.
const TABLE = /\.(csv|tsv|tab|txt|parquet|pq|xlsx|xlsm|npy|npz)(\.gz)?$/i;
const IMAGE = /\.(png|jpe?g|gif|webp|bmp)$/i;

// Of everything dropped: one table with the images beside it, or images alone.
export function choose(files) {
  const tables = files.filter(({ path }) => TABLE.test(path));
  const images = files.filter(({ path }) => IMAGE.test(path));
  if (tables.length > 1) throw new Error(`One table at a time: ${tables.map((f) => f.path).join(", ")}`);
  if (!tables.length && !images.length) throw new Error("Drop a CSV, Parquet or Excel file, or images.");
  return [...tables, ...images];
}

// The name of a project: that of the table, else of the folder of the images.
export function nameOf(files) {
  const table = files.find(({ path }) => TABLE.test(path));
  const path = (table || files[0]).path;
  return table ? path.split("/").pop() : path.includes("/") ? path.split("/")[0] : "images";
}

// Paths without the folder that all of them are in: names in a table are relative to it.
export function trimmed(files) {
  const parts = files.map(({ path }) => path.split("/"));
  const common = parts.every((p) => p.length > 1 && p[0] === parts[0][0]) ? 1 : 0;
  return files.map((one, k) => ({ ...one, path: parts[k].slice(common).join("/") }));
}

export function chosen(list) {
  return [...list].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
}

export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return chosen(transfer.files);
  return (await Promise.all(entries.map((entry) => walk(entry, "")))).flat();
}

async function walk(entry, above) {
  const path = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    return [{ file, path }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) { // a reader gives at most 100 entries at a time
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) break;
    found.push(...some);
  }
  return (await Promise.all(found.map((one) => walk(one, path + "/")))).flat();
}

// Files to take home, formats of the same content together, in the order given.
export function byGroup(files) {
  const groups = new Map();
  for (const file of files) {
    if (!groups.has(file.group)) groups.set(file.group, { name: file.group, about: file.about, files: [] });
    groups.get(file.group).files.push(file);
  }
  return [...groups.values()];
}
