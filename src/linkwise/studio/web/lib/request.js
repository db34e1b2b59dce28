// Requests to the studio: JSON in, JSON out; an error has the text that the studio gives.
export async function send(path, value, settings = {}) {
  const reply = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(value ?? {}),
    ...settings,
  });
  return read(reply);
}

export async function get(path) {
  return read(await fetch(path));
}

// The session was closed; the page reloads in a moment.
export class Closed extends Error {}

async function read(reply) {
  if (reply.status === 204) throw new Closed();
  const text = await reply.text();
  if (reply.ok) return JSON.parse(text);
  throw new Error(explain(text, reply.status));
}

export function explain(text, status) {
  try {
    const { detail } = JSON.parse(text);
    if (typeof detail === "string") return detail;
    return detail.map((one) => one.msg).join("; ");
  } catch {
    return text || `The studio answered with ${status}.`;
  }
}

// A file of a POST, saved under its name.
export async function save(path, name) {
  const reply = await fetch(path, { method: "POST" });
  if (!reply.ok) throw new Error(explain(await reply.text(), reply.status));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await reply.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
