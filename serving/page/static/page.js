"use strict";

// Everything that the server says is put into the page as text. Nothing is ever
// parsed as HTML, so that no name of a model can become a part of the page.

const period = 2000; // between two looks at the server, in milliseconds
const history = 60;  // looks that the curve shows

const at = (id) => document.getElementById(id);

function element(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

// ---- models

let models = [];

function shapeText(shape) {
  return shape === null ? "any shape" : "[" + shape.map((n) => (n < 0 ? "?" : n)).join(", ") + "]";
}

function tensorRows(table, role, tensors) {
  for (const t of tensors) {
    const row = table.appendChild(element("tr"));
    row.append(element("td", role), element("td", t.name), element("td", t.dtype + shapeText(t.shape)));
  }
}

function signatureDetails(s, open) {
  const d = element("details");
  d.open = open;
  d.append(element("summary", s.key));
  const table = d.appendChild(element("table"));
  const head = table.appendChild(element("tr"));
  for (const title of ["", "Name", "Tensor"]) head.append(element("th", title));
  tensorRows(table, "input", s.inputs);
  tensorRows(table, "output", s.outputs);
  if (s.features) tensorRows(table, "feature", s.features);
  return d;
}

function modelCard(m) {
  const card = element("article");
  card.append(element("h3", m.name));
  const versions = card.appendChild(element("ul", undefined, "versions"));
  for (const v of m.versions) {
    const item = versions.appendChild(element("li", "version " + v.number + " "));
    item.append(element("span", v.state, "state " + v.state + (v.error ? " failed" : "")));
    if (v.error) item.append(element("p", v.error, "error"));
  }
  const served = m.versions.find((v) => v.signatures);
  for (const s of served ? served.signatures : []) card.append(signatureDetails(s, served.signatures.length < 3));
  return card;
}

// showModels replaces the list only if something has changed, so that what was
// opened and chosen stays.
function showModels(latest) {
  if (JSON.stringify(latest) === JSON.stringify(models)) return;
  models = latest;
  at("models").replaceChildren(...models.map(modelCard));
  if (!models.length) at("models").append(element("p", "No models.", "hint"));
  fill(at("model"), models.map((m) => m.name));
  chooseModel();
}

// ---- form

function fill(select, values) {
  const chosen = select.value;
  select.replaceChildren(...values.map((v) => element("option", v)));
  if (values.includes(chosen)) select.value = chosen;
}

const latest = "latest";

function chosenVersion() {
  const m = models.find((m) => m.name === at("model").value);
  if (!m) return undefined;
  return m.versions.find((v) => v.signatures && (at("version").value === latest || v.number === at("version").value));
}

function chosenSignature() {
  const v = chosenVersion();
  return v && v.signatures.find((s) => s.key === at("signature").value);
}

function chooseModel() {
  const m = models.find((m) => m.name === at("model").value);
  fill(at("version"), m ? [latest, ...m.versions.filter((v) => v.signatures).map((v) => v.number)] : []);
  chooseVersion();
}

function chooseVersion() {
  const v = chosenVersion();
  const keys = v ? v.signatures.map((s) => s.key) : [];
  const before = at("signature").value;
  fill(at("signature"), keys);
  if (!keys.includes(before) && keys.includes("serving_default")) at("signature").value = "serving_default";
  if (!at("body").value || at("body").value === exampleText) showExample();
}

let exampleText = ""; // the last one that was put into the form

function showExample() {
  const s = chosenSignature();
  exampleText = s ? exampleBody(s, at("method").value) : "";
  at("body").value = exampleText;
}

// zeros returns nested lists of a shape. Dimensions that may be any have one element.
function zeros(dtype, shape) {
  if (shape === null || shape.length === 0) return /string/.test(dtype) ? "" : /bool/.test(dtype) ? false : 0;
  return Array.from({ length: Math.min(shape[0] < 0 ? 1 : shape[0], 1024) }, () => zeros(dtype, shape.slice(1)));
}

function exampleBody(s, method) {
  const body = {};
  if (s.key !== "serving_default") body.signature_name = s.key;
  if (s.features || method !== "predict") {
    const one = {};
    for (const f of s.features || []) one[f.name] = zeros(f.dtype, f.shape);
    body.examples = [one];
  } else if (s.inputs.every((t) => t.shape && t.shape.length > 0 && t.shape[0] < 0)) {
    const row = {};
    for (const t of s.inputs) row[t.name] = zeros(t.dtype, t.shape.slice(1));
    body.instances = [s.inputs.length === 1 ? row[s.inputs[0].name] : row];
  } else {
    body.inputs = {};
    for (const t of s.inputs) body.inputs[t.name] = zeros(t.dtype, t.shape);
  }
  return layOut(body, "");
}

// layOut is JSON with a line for each row: lists of plain values stay in one line.
function layOut(v, indent) {
  const inner = indent + "  ";
  if (Array.isArray(v) && v.some((x) => typeof x === "object" && x !== null)) {
    return "[\n" + v.map((x) => inner + layOut(x, inner)).join(",\n") + "\n" + indent + "]";
  }
  if (typeof v === "object" && v !== null && !Array.isArray(v)) {
    return "{\n" + Object.keys(v).map((k) => inner + JSON.stringify(k) + ": " + layOut(v[k], inner)).join(",\n") + "\n" + indent + "}";
  }
  return JSON.stringify(v).replaceAll(",", ", ");
}

async function send(event) {
  event.preventDefault();
  const button = at("form").querySelector("button[type=submit]");
  if (button.disabled) return;
  button.disabled = true;
  const version = at("version").value;
  const path = "/v1/models/" + encodeURIComponent(at("model").value) + (version === latest ? "" : "/versions/" + version) + ":" + at("method").value;
  const began = performance.now();
  try {
    const r = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: at("body").value });
    const text = await r.text();
    const took = (performance.now() - began).toFixed(1);
    outcome(r.ok, (r.ok ? "Answered" : "Refused") + " with status " + r.status + " in " + took + " ms");
    at("answer").textContent = r.ok ? text : errorText(text);
  } catch (e) {
    outcome(false, "No answer");
    at("answer").textContent = String(e);
  }
  at("answer").hidden = false;
  button.disabled = false;
}

function outcome(good, text) {
  at("outcome").className = good ? "good" : "bad";
  at("outcome").textContent = text;
}

// errorText returns the message of an error's body.
function errorText(text) {
  try {
    return JSON.parse(text).error || text;
  } catch {
    return text;
  }
}

// ---- figures

// parseMetrics reads Prometheus' text format: a list of [name, labels, value].
function parseMetrics(text) {
  const samples = [];
  for (const line of text.split("\n")) {
    const parts = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!parts) continue;
    const labels = {};
    for (const l of (parts[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[l[1]] = l[2];
    samples.push([parts[1], labels, parts[3] === "+Inf" ? Infinity : Number(parts[3])]);
  }
  return samples;
}

// histogram adds up the buckets of a metric: counts by upper bound.
function histogram(samples, name, keep) {
  const sums = new Map();
  for (const [n, labels, value] of samples) {
    if (n !== name + "_bucket" || !keep(labels)) continue;
    const bound = labels.le === "+Inf" ? Infinity : Number(labels.le);
    sums.set(bound, (sums.get(bound) || 0) + value);
  }
  return sums;
}

function total(samples, name, keep) {
  let sum = 0;
  for (const [n, labels, value] of samples) if (n === name && keep(labels)) sum += value;
  return sum;
}

// quantile returns a quantile of what was added to a histogram between two looks.
function quantile(now, before, q) {
  const bounds = [...now.keys()].sort((a, b) => a - b);
  const counts = bounds.map((b) => now.get(b) - (before.get(b) || 0));
  const all = counts.length ? counts[counts.length - 1] : 0;
  if (!all) return undefined;
  const i = counts.findIndex((c) => c >= q * all);
  const low = i > 0 ? bounds[i - 1] : 0, below = i > 0 ? counts[i - 1] : 0;
  if (bounds[i] === Infinity) return low;
  return low + ((bounds[i] - low) * (q * all - below)) / (counts[i] - below);
}

const predictions = (labels) => /^(predict|classify|regress|multiinference)$/i.test(labels.method);
const every = () => true;
const span = 5;      // looks over which figures are taken
const looks = [];
const loads = [];

function look(samples, when) {
  return {
    when,
    requests: total(samples, "millrace_serving_requests_total", predictions),
    failed: total(samples, "millrace_serving_requests_total", (l) => predictions(l) && l.code !== "ok"),
    latency: histogram(samples, "millrace_serving_request_duration_seconds", predictions),
    queue: histogram(samples, "millrace_serving_batch_queue_seconds", every),
    rows: total(samples, "millrace_serving_batch_rows_sum", every),
    batches: total(samples, "millrace_serving_batch_rows_count", every),
    tensors: total(samples, "millrace_tensor_bytes", every),
    memory: total(samples, "process_resident_memory_bytes", every),
  };
}

const some = (v, text) => (v === undefined || Number.isNaN(v) ? "–" : text(v));
const milliseconds = (v) => some(v, (s) => (s * 1000).toFixed(s < 0.01 ? 2 : 0) + " ms");
const bytes = (n) => (n < 1e6 ? (n / 1e3).toFixed(0) + " kB" : n < 1e9 ? (n / 1e6).toFixed(1) + " MB" : (n / 1e9).toFixed(2) + " GB");

function showFigures(now) {
  looks.push(now);
  if (looks.length > span + 1) looks.shift();
  const first = looks[0], last = looks.length > 1 ? looks[looks.length - 2] : now;
  const seconds = (now.when - first.when) / 1000;
  const rate = seconds > 0 ? Math.max(now.requests - first.requests, 0) / seconds : undefined;
  const batches = now.batches - first.batches;
  const rows = [
    ["Requests", some(rate, (r) => r.toFixed(r < 10 ? 1 : 0) + " /s")],
    ["Failed", some(rate, () => ((now.failed - first.failed) / seconds).toFixed(1) + " /s")],
    ["Latency p50", milliseconds(quantile(now.latency, first.latency, 0.5))],
    ["Latency p99", milliseconds(quantile(now.latency, first.latency, 0.99))],
    ["Rows per batch", batches > 0 ? ((now.rows - first.rows) / batches).toFixed(1) : "–"],
    ["In the queue p99", milliseconds(quantile(now.queue, first.queue, 0.99))],
    ["Tensors", bytes(now.tensors)],
    ["Memory", bytes(now.memory)],
  ];
  at("figures").replaceChildren(...rows.map(([title, value]) => {
    const d = element("div");
    d.append(element("dt", title), element("dd", value));
    return d;
  }));
  if (now.when > last.when) loads.push(Math.max(now.requests - last.requests, 0) / ((now.when - last.when) / 1000));
  if (loads.length > history) loads.shift();
  const most = Math.max(1, ...loads);
  const points = loads.map((r, i) => ((i + history - loads.length) * 120) / (history - 1) + "," + (28 - (26 * r) / most).toFixed(2));
  at("load").firstElementChild.setAttribute("points", points.join(" "));
}

// ---- looking at the server

async function get(path) {
  const r = await fetch(path);
  if (!r.ok) throw new Error("status " + r.status);
  return r;
}

async function update() {
  try {
    showModels(await (await get("/page/models")).json());
    showFigures(look(parseMetrics(await (await get("/metrics")).text()), performance.now()));
    at("connection").textContent = "";
  } catch (e) {
    at("connection").textContent = "The server does not answer.";
  }
  setTimeout(update, period);
}

at("form").addEventListener("submit", send);
at("body").addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) send(e);
});
at("model").addEventListener("change", chooseModel);
at("version").addEventListener("change", chooseVersion);
for (const id of ["signature", "method"]) at(id).addEventListener("change", showExample);
at("example").addEventListener("click", showExample);
update();
