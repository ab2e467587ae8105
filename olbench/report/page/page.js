// What a report has beyond sortable tables: filters, the verdict map, curves. It follows common.js.

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

// ---- Filtering ----

function applyFilter() {
  const words = $("#filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const only = $("#only") ? $("#only").value : "";
  const rows = $$("#results-table tbody tr");
  rows.forEach((row) => {
    row.hidden = (only !== "" && row.cells[0].textContent !== only) || !matches(row, words);
  });
  const shown = rows.filter((row) => !row.hidden).length;
  $("#shown").textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
}

function setUpFilter() {
  const table = $("#results-table");
  const original = $$("tbody tr", table);
  $("#filter").addEventListener("input", applyFilter);
  if ($("#only")) $("#only").addEventListener("change", applyFilter);
  $("#reset").addEventListener("click", () => {
    $("#filter").value = "";
    if ($("#only")) $("#only").value = "";
    table.tBodies[0].append(...original);
    markSorted(table, null, "");
    setUpSortMenu(table);
    applyFilter();
  });
}

// Cards have no headings to press, so a menu offers the same.
function setUpSortMenu(table) {
  const menu = $("#sort-by");
  const headers = $$("th[aria-sort]", table);
  menu.replaceChildren(new Option("as listed", ""), ...headers.map((header, place) => {
    const button = $("button.sort", header);
    return new Option(button.dataset.full || button.textContent, String(place));
  }));
  menu.onchange = () => (menu.value === "" ? $("#reset").click() : sortBy(table, headers[menu.value]));
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
  if ($("#only")) $("#only").value = "";
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

function named(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A rate is a count per sample seen; everything else is as recorded. A window stands at its middle.
function seriesOf(curves, label, name, series, windowed) {
  const algorithm = curves.algorithms[label];
  const { t, w } = algorithm.t ? algorithm : curves;
  if (windowed) {
    const scaled = (values) => values.map((value) => (series.per_example ? series.factor : 1) * value);
    const [mean, deviation] = algorithm.windows[name].map(scaled);
    const from = (i) => (i ? w[i - 1] : 0);
    const where = (i) => `${(from(i) + 1).toLocaleString("en")}–${w[i].toLocaleString("en")}`;
    return { x: w.map((end, i) => (from(i) + end) / 2), mean, deviation, where };
  }
  // An undefined value is null, which counts as zero where it is multiplied.
  const per = (value, index) => (value === null ? NaN : (series.factor * value) / (series.per_example ? t[index] : 1));
  const [mean, deviation] = algorithm[name].map((values) => values.map(per));
  return { x: t, mean, deviation };
}

const colourOf = (style) => (isDark() ? style.dark : style.colour);

function chosen(group) {
  return $("[aria-pressed=true]", group).value;
}

function curveOf(data, curves, label, name, windowed) {
  const own = seriesOf(curves, label, name, data.series[name], windowed);
  const style = data.styles[label];
  return {
    ...own, label, colour: colourOf(style), dash: style.dash, width: style.width, marker: style.marker,
    filled: style.filled, low: own.mean.map((mean, i) => Math.max(0, mean - own.deviation[i])),
    high: own.mean.map((mean, i) => Math.min(data.series[name].top ?? Infinity, mean + own.deviation[i])),
  };
}

function titleOf(series, windowed, shared) {
  return (windowed ? series.windowed : series.title) + (shared ? ", measured shared" : "");
}

let frame = null;

function draw(data) {
  const curves = data.curves[$("#dataset").value];
  const name = chosen($("#quantity"));
  const series = data.series[name];
  const windowed = Boolean($("#window")) && chosen($("#window")) === "windows" && Boolean(series.windowed);
  const shared = series.timed && curves.shared_time;
  const buttons = $$(".series").filter((button) => button.dataset.label in curves.algorithms);
  const labels = buttons.filter(pressed).map((button) => button.dataset.label);
  $$(".series").forEach((button) => {
    button.disabled = !buttons.includes(button);
    const style = data.styles[button.dataset.label];
    Plot.drawSample($(".sample", button), style, colourOf(style), named("--ground"));
  });
  if ($("#window")) $("#window [value=windows]").disabled = !series.windowed;
  $("#shared-note").hidden = !shared;
  hideReading();
  frame = Plot.draw($("#plot"), labels.map((label) => curveOf(data, curves, label, name, windowed)), {
    title: titleOf(series, windowed, shared), along: data.along, scale: chosen($("#scale")),
    bands: pressed($("#bands")), isLevel: windowed || series.level, last: curves.t.at(-1) || 1, marks: curves.marks || [], isSingle: data.single,
    ink: named("--ink"), rule: named("--rule"), strongRule: named("--strong-rule"), ground: named("--ground"),
  });
}

// ---- Reading the curves ----

const MOST_READ = 14;
let reading = null;

function hideReading() {
  reading = null;
  $("#reading").hidden = true;
  if (frame) frame.cursor.setAttribute("d", "");
}

// Of many curves, those around the pointer are listed; without one, the lowest.
function around(found, height) {
  if (found.length <= MOST_READ) return found;
  const middle = height === null ? found.length : found.filter((each) => frame.y(each.mean) < height).length;
  const first = Math.max(0, Math.min(found.length - MOST_READ, middle - MOST_READ / 2));
  return found.slice(first, first + MOST_READ);
}

function readingRow(each) {
  const row = document.createElement("tr");
  const name = document.createElement("th");
  const swatch = document.createElement("span");
  const value = document.createElement("td");
  swatch.className = "swatch";
  swatch.style.background = each.colour;
  name.append(swatch, each.label);
  value.textContent = each.text;
  row.append(name, value);
  return row;
}

function readCurves(at, height = null) {
  const found = frame && Plot.readAt(frame, at);
  if (!found) return;
  reading = found.at;
  const x = frame.x(reading);
  frame.cursor.setAttribute("d", `M${x} ${frame.top}V${frame.bottom}`);
  const box = $("#reading");
  $("caption", box).textContent = `${frame.along}: ${found.where}`;
  $("tbody", box).replaceChildren(...around(found.rows, height).map(readingRow));
  box.hidden = false;
  const zoom = $("#plot").clientWidth / frame.width;
  const left = x * zoom + 14 + box.offsetWidth < $("#plot").clientWidth ? x * zoom + 14 : x * zoom - 14 - box.offsetWidth;
  box.style.left = `${Math.max(0, left)}px`;
}

const MOVES = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

// The arrow keys move the cursor from point to point, as the mouse does.
function moveReading(event) {
  if (event.key === "Escape") hideReading();
  if (!(event.key in MOVES) || !frame || !frame.shown.length) return;
  event.preventDefault();
  const points = frame.shown[0].x;
  const now = reading === null ? -1 : points.indexOf(reading);
  const next = Math.min(points.length - 1, Math.max(0, now + MOVES[event.key]));
  readCurves(points[next]);
}

function setUpReading() {
  const plot = $("#plot");
  const move = (event) => {
    const place = plot.getBoundingClientRect();
    const zoom = frame.width / place.width;
    const x = (event.clientX - place.left) * zoom;
    const share = (x - frame.left) / (frame.right - frame.left);
    readCurves(Math.max(0, Math.min(1, share)) * frame.last, (event.clientY - place.top) * zoom);
  };
  plot.addEventListener("pointermove", move);
  plot.addEventListener("pointerdown", move);
  plot.addEventListener("pointerleave", hideReading);
  plot.addEventListener("blur", hideReading);
  plot.addEventListener("keydown", moveReading);
}

// Pointing at a name in the legend, or reaching it with the keyboard, brings its curve forward.
function setUpEmphasis() {
  const emphasise = (label) => {
    $$("#plot [data-label]").forEach((each) => each.classList.toggle("faint", label !== null && each.dataset.label !== label));
  };
  $$(".series").forEach((button) => {
    const on = () => emphasise(pressed(button) ? button.dataset.label : null);
    ["mouseenter", "focus"].forEach((event) => button.addEventListener(event, on));
    ["mouseleave", "blur", "click"].forEach((event) => button.addEventListener(event, () => emphasise(null)));
  });
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
  $$("#quantity, #window, #scale").forEach((group) => setUpSwitch(group, redraw));
  $("#save").addEventListener("click", () => {
    Plot.save($("#plot"), `${$("#dataset").value}-${chosen($("#quantity"))}`, named("--ground"));
  });
  redraw();
  setUpReading();
  setUpEmphasis();
  let width = $("#plot").clientWidth;
  new ResizeObserver(() => {
    if ($("#plot").clientWidth === width) return;
    width = $("#plot").clientWidth;
    redraw();
  }).observe($("#plot"));
  return redraw;
}

// ---- Print ----

// Paper is light, narrow and cannot be unfolded; what was changed for it is put back afterwards.
function setUpPrint(redraw) {
  const before = { theme: undefined, folded: [] };
  addEventListener("beforeprint", () => {
    before.theme = document.documentElement.dataset.theme;
    before.folded = $$("details:not([open])");
    before.folded.forEach((each) => { each.open = true; });
    document.documentElement.dataset.theme = "light";
    redraw();
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
  if ($("#filter")) {
    setUpFilter();
    setUpSortMenu($("#results-table"));
  }
  setUpFit();
  $$("table.map").forEach(setUpMap);
  addEventListener("scroll", followScroll, { passive: true });
  const redraw = $("#plot") ? setUpCurves(data) : () => {};
  setUpTheme(redraw);
  setUpPrint(redraw);
}

start();
