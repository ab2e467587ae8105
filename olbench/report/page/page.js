"use strict";
// Tables and text are in the page already; this sorts, filters and draws. Nothing here leaves the page.

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const pressed = (button) => button.getAttribute("aria-pressed") === "true";
const press = (button, on) => button.setAttribute("aria-pressed", String(on));

// ---- Unpacking ----

// A large page keeps its tables compressed: each takes its place when it is first looked at.
async function unpack(script) {
  const bytes = Uint8Array.from(atob(script.textContent), (sign) => sign.charCodeAt(0));
  script.classList.remove("packed");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  script.outerHTML = await new Response(stream).text();
}

const unpackAll = (root) => Promise.all($$("script.packed", root).map(unpack));

function setUpUnpacking() {
  $$("details").filter((each) => $("script.packed", each)).forEach((each) => {
    if (each.open) unpackAll(each);
    else each.addEventListener("toggle", () => unpackAll(each), { once: true });
  });
}

// ---- Sorting ----

function cellKey(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value === undefined) return cell.textContent.trim();
  return cell.dataset.value === "" ? null : Number(cell.dataset.value);
}

// Cells without a number come last in either direction: they are not small, they are missing.
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  return direction * String(a).localeCompare(String(b), "en", { numeric: true });
}

function sortBy(table, header) {
  const ascending = header.getAttribute("aria-sort") !== "ascending";
  const rows = $$("tbody tr", table);
  const keys = new Map(rows.map((row) => [row, cellKey(row, header.cellIndex)]));
  rows.sort((a, b) => compare(keys.get(a), keys.get(b), ascending ? 1 : -1));
  markSorted(table, header, ascending ? "ascending" : "descending");
  table.tBodies[0].append(...rows);
}

function markSorted(table, header, order) {
  $$("th[aria-sort]", table).forEach((each) => each.setAttribute("aria-sort", each === header ? order : "none"));
  table.classList.toggle("sorted", header !== null);
}

function setUpSorting(table) {
  $$("button.sort", table).forEach((button) => {
    button.addEventListener("click", () => sortBy(table, button.closest("th")));
  });
}

// ---- Filtering ----

// Every word must begin a word of the row: "cw" finds cw and not scw1; "=synthetic" finds no synthetic-noise.
function matches(row, words) {
  const content = row.textContent.toLowerCase().split(/\s+/);
  const begins = (word) => content.some((each) => each.startsWith(word));
  return words.every((word) => (word.startsWith("=") ? content.includes(word.slice(1)) : begins(word)));
}

function applyFilter() {
  const words = $("#filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = $$("#results-table tbody tr");
  rows.forEach((row) => { row.hidden = !matches(row, words); });
  $("#shown").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
}

function setUpFilter() {
  const table = $("#results-table");
  const original = $$("tbody tr", table);
  $("#filter").addEventListener("input", applyFilter);
  $("#reset").addEventListener("click", () => {
    $("#filter").value = "";
    table.tBodies[0].append(...original);
    markSorted(table, null, "");
    applyFilter();
  });
}

// ---- The verdict map ----

let tipped = null;

function showTip(cell) {
  const tip = $("#tip");
  tipped = cell;
  tip.textContent = cell.getAttribute("aria-label");
  tip.hidden = false;
  placeTip(tip, cell);
}

function placeTip(tip, cell) {
  const place = cell.getBoundingClientRect();
  const left = Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
  const below = place.bottom + 6 + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below ? place.bottom + 6 : place.top - tip.offsetHeight - 6}px`;
}

function hideTip() {
  tipped = null;
  $("#tip").hidden = true;
}

// The keyboard scrolls the page to the cell that it reaches: the tip goes along.
function followScroll() {
  if (tipped) placeTip($("#tip"), tipped);
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// One cell of a map is in the tab order, the arrow keys move it: 72 stops would be a trap.
function moveInMap(map, event) {
  if (event.key === "Escape") hideTip();
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  const from = event.target.closest("td");
  const row = map.tBodies[0].rows[from.parentNode.sectionRowIndex + step[0]];
  const next = row && row.cells[from.cellIndex + step[1]] && $(".cell", row.cells[from.cellIndex + step[1]]);
  if (next) next.focus();
}

function showRow(cell) {
  const filter = $("#filter");
  filter.value = `=${cell.dataset.dataset} =${cell.dataset.label}`;
  applyFilter();
  hideTip();
  $("#results").scrollIntoView();
  filter.focus({ preventScroll: true });
}

function setUpMap(map) {
  const cells = $$(".cell", map);
  if (cells.length) cells[0].tabIndex = 0;
  cells.forEach((cell) => {
    cell.addEventListener("mouseenter", () => showTip(cell));
    cell.addEventListener("mouseleave", hideTip);
    cell.addEventListener("blur", hideTip);
    cell.addEventListener("focus", () => {
      cells.forEach((each) => { each.tabIndex = each === cell ? 0 : -1; });
      showTip(cell);
    });
    cell.addEventListener("click", () => showRow(cell));
  });
  map.addEventListener("keydown", (event) => moveInMap(map, event));
}

// ---- Curves ----

const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark";

function named(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A rate is a count per sample seen; everything else is as recorded.
function seriesOf(curves, label, name, series) {
  const algorithm = curves.algorithms[label];
  const t = algorithm.t || curves.t;
  const per = (value, index) => (series.factor * value) / (series.per_example ? t[index] : 1);
  const [mean, deviation] = algorithm[name].map((values) => values.map(per));
  return { t, mean, deviation };
}

const colourOf = (style) => (isDark() ? style.dark : style.colour);

// Plotly reads a little HTML in names.
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function lineTrace(label, series, style, visible) {
  return {
    name: escaped(label), x: series.t, y: series.mean, visible, mode: "lines+markers", type: "scatter",
    line: { color: colourOf(style), dash: style.dash, width: 1.7 * style.width },
    marker: { symbol: style.marker, size: 7, maxdisplayed: 9 },
    customdata: series.deviation,
    hovertemplate: "%{y:.4~g} ± %{customdata:.2~g}<extra>%{fullData.name}</extra>",
  };
}

// A logarithm has no place for mean - deviation <= 0: there the band ends at a tenth of the mean.
function bandTrace(label, series, style, visible, log) {
  const low = series.mean.map((mean, i) => Math.max(mean - series.deviation[i], log ? mean / 10 : 0));
  const high = series.mean.map((mean, i) => mean + series.deviation[i]);
  const kept = series.t.map((_, i) => i).filter((i) => !log || low[i] > 0);
  const back = [...kept].reverse();
  return {
    name: `${escaped(label)} band`, visible, type: "scatter", mode: "lines", hoverinfo: "skip", fill: "toself",
    x: [...kept, ...back].map((i) => series.t[i]),
    y: [...kept.map((i) => high[i]), ...back.map((i) => low[i])],
    line: { width: 0 }, fillcolor: `${colourOf(style)}1c`,
  };
}

function layout(title, along, fromZero, scale) {
  const axis = {
    gridcolor: named("--rule"), linecolor: named("--strong-rule"), zeroline: false, ticks: "outside",
    tickcolor: named("--strong-rule"), automargin: true,
  };
  return {
    xaxis: { ...axis, title: { text: along }, rangemode: "tozero" },
    yaxis: { ...axis, title: { text: title, standoff: 12 }, type: scale, rangemode: fromZero ? "tozero" : "normal",
      ...(scale === "log" ? { dtick: "D2", exponentformat: "power" } : {}) },
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: named("--ink") },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    modebar: { bgcolor: "rgba(0,0,0,0)", color: named("--quiet"), activecolor: named("--ink") },
    margin: { l: 64, r: 12, t: 12, b: 52 }, showlegend: false, hovermode: "closest", dragmode: false,
    hoverlabel: { bgcolor: named("--ground"), bordercolor: named("--strong-rule"), font: { color: named("--ink") } },
  };
}

function chosen(group) {
  return $("[aria-pressed=true]", group).value;
}

function draw(data) {
  const curves = data.curves[$("#dataset").value];
  const name = chosen($("#quantity"));
  const series = data.series[name];
  const scale = chosen($("#scale"));
  const shared = series.timed && curves.shared_time;
  const buttons = $$(".series").filter((button) => button.dataset.label in curves.algorithms);
  const drawn = buttons.map((button) => {
    const label = button.dataset.label;
    return { label, series: seriesOf(curves, label, name, series), style: data.styles[label], on: pressed(button) };
  });
  const bands = pressed($("#bands"))
    ? drawn.map((each) => bandTrace(each.label, each.series, each.style, each.on, scale === "log")) : [];
  const lines = drawn.map((each) => lineTrace(each.label, each.series, each.style, each.on));
  $$(".series").forEach((button) => {
    button.disabled = !buttons.includes(button);
    drawSample(button, data.styles[button.dataset.label]);
  });
  $("#shared-note").hidden = !shared;
  const title = series.title + (shared ? ", measured shared" : "");
  return Plotly.react("plot", [...bands, ...lines], layout(title, data.along, !series.per_example, scale), {
    responsive: true, displaylogo: false, modeBarButtons: [["toImage"]],
  });
}

// Filled and open, as plotly names them: circle and circle-open.
const GLYPHS = {
  circle: "●○", square: "■□", diamond: "◆◇", "diamond-tall": "♦♢", star: "★☆", cross: "✚✚", x: "✖✖",
  "triangle-up": "▲△", "triangle-down": "▼▽", "triangle-left": "◀◁", "triangle-right": "▶▷",
  pentagon: "⬟⬠", hexagon: "⬢⬡", hexagon2: "⬢⬡", octagon: "⯃⯃",
};

function glyph(marker) {
  const [filled, open] = GLYPHS[marker.replace("-open", "")] || "";
  return (marker.endsWith("-open") ? open : filled) || "";
}

// The swatch of a button is a small drawing of its line, so that the legend reads without colour too.
function drawSample(button, style) {
  const gaps = { dash: "6 3", dot: "2 3", dashdot: "6 3 2 3" }[style.dash] || "";
  const sample = $(".sample", button);
  sample.innerHTML = `<svg viewBox="0 0 30 14"><path d="M0 7H30" fill="none"/><text x="15" y="11"></text></svg>`;
  sample.style.color = colourOf(style);
  $("path", sample).setAttribute("stroke-dasharray", gaps);
  $("text", sample).textContent = glyph(style.marker);
}

function setUpSwitch(group, redraw) {
  $$("button", group).forEach((button) => button.addEventListener("click", () => {
    $$("button", group).forEach((each) => press(each, each === button));
    redraw();
  }));
}

function setUpCurves(data) {
  const redraw = () => draw(data);
  const series = $$(".series");
  series.forEach((button) => {
    button.addEventListener("click", () => { press(button, !pressed(button)); redraw(); });
  });
  const setAll = (on) => { series.forEach((button) => press(button, on)); redraw(); };
  $("#all").addEventListener("click", () => setAll(true));
  $("#none").addEventListener("click", () => setAll(false));
  $("#bands").addEventListener("click", (event) => { press(event.target, !pressed(event.target)); redraw(); });
  $("#dataset").addEventListener("change", redraw);
  [$("#quantity"), $("#scale")].forEach((group) => setUpSwitch(group, redraw));
  redraw();
  return redraw;
}

// ---- Theme and print ----

function setUpTheme(redraw) {
  const button = $("#theme");
  const show = () => { press(button, isDark()); redraw(); };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  press(button, isDark());
}

// Paper is light, narrow and cannot be unfolded; what was changed for it is put back afterwards.
function setUpPrint(redraw) {
  const before = { theme: undefined, folded: [] };
  addEventListener("beforeprint", () => {
    before.theme = document.documentElement.dataset.theme;
    before.folded = $$("details:not([open])");
    before.folded.forEach((each) => { each.open = true; });
    document.documentElement.dataset.theme = "light";
    redraw();
    if ($("#plot")) Plotly.relayout("plot", { width: 690, height: 400, autosize: false });
  });
  addEventListener("afterprint", () => {
    before.folded.forEach((each) => { each.open = false; });
    if (before.theme === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = before.theme;
    redraw();
  });
}

async function start() {
  const data = JSON.parse($("#data").textContent);
  setUpUnpacking();
  if ($("#results-table")) await unpackAll($("#results-table"));
  $$("table.sortable").forEach(setUpSorting);
  if ($("#filter")) setUpFilter();
  $$("table.map").forEach(setUpMap);
  addEventListener("scroll", followScroll, { passive: true });
  const redraw = $("#plot") ? setUpCurves(data) : () => {};
  setUpTheme(redraw);
  setUpPrint(redraw);
}

start();
