"use strict";
// Curves as SVG, drawn here rather than by a library: a page needs axes, bands, lines with dashes and markers, and
// a cursor that reads them, which take less than a hundredth of the code of the libraries that offer them. As SVG,
// the drawing is sharp on paper and its parts can be found by a test. It follows page.js.

const data = JSON.parse($("#curve-data").textContent);
const plot = $("#plot");
const DASHES = { solid: "", dash: "8 4", dot: "2 3", dashdot: "9 3 2 3" };
// Markers within a circle of radius 1, under matplotlib's names: stars, of which polygons are the fattest.
const star = (corners, turn, inner = Math.cos(Math.PI / corners)) => Array.from({ length: 2 * corners }, (_, k) => {
  const angle = turn + (Math.PI * k) / corners, radius = k % 2 ? inner : 1;
  return [radius * Math.sin(angle), -radius * Math.cos(angle)];
});
const MARKERS = {
  o: star(24, 0), s: star(4, Math.PI / 4), D: star(4, 0), d: star(4, 0).map(([x, y]) => [.6 * x, y]),
  "^": star(3, 0), v: star(3, Math.PI), "<": star(3, -Math.PI / 2), ">": star(3, Math.PI / 2), p: star(5, 0),
  h: star(6, 0), 8: star(8, Math.PI / 8), "*": star(5, 0, .45), P: star(4, 0, .4), X: star(4, Math.PI / 4, .4),
};

const named = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colourOf = (style) => (isDark() ? style.dark : style.colour);

function add(parent, name, attributes = {}, ...children) {
  const element = fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  if (parent) parent.append(element);
  return element;
}

// ---- Axes ----

function linearTicks(low, high, most) {
  const raw = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((each) => each * power >= raw * (1 - 1e-9));
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, k) => (first + k) * step);
}

function logTicks(low, high) {
  const digits = high / low > 1000 ? [1] : [1, 2, 5], first = Math.floor(Math.log10(low));
  const powers = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, k) => 10 ** (first + k));
  const ticks = powers.flatMap((power) => digits.map((digit) => digit * power));
  const inside = ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
  return inside.length > 2 ? inside : linearTicks(low, high, 5);
}

function numberText(value, digits) {
  const size = Math.abs(value);
  if (!size || (size >= 1e-4 && size < 1e7)) {
    return Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 8 });
  }
  const power = Math.floor(Math.log10(size) + 1e-9);
  const raised = String(Math.abs(power)).replace(/\d/g, (each) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[each]);
  return `${Number((value / 10 ** power).toPrecision(3))}·10${power < 0 ? "⁻" : ""}${raised}`.replace(/^1·/, "");
}

const tickText = (value) => numberText(value, 6);

// The start of a rate is steep and would flatten all the rest: its axis ignores the first tenth.
function yRange(shown, options) {
  const values = shown.flatMap((each) => each.x.flatMap((x, i) => {
    if (options.isLevel && each.x.length > 3 && x < each.x.at(-1) / 10) return [];
    return options.bands && !each.isGrey ? [each.low[i], each.mean[i], each.high[i]] : [each.mean[i]];
  })).filter((value) => Number.isFinite(value) && (!options.log || value > 0));
  if (!values.length) return [options.log ? .1 : 0, 1];
  let low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  if (options.log) return low < high ? [low / 1.05, high * 1.05] : [low / 2, high * 2];
  if (!options.isLevel) low = Math.min(0, low);
  const room = (high - low || Math.abs(high) || 1) * .04;
  return [options.isLevel && low - room > 0 ? low - room : Math.min(0, low), high + room];
}

function makeFrame(shown, options, width, height) {
  const [low, high] = yRange(shown, options);
  const yTicks = options.log ? logTicks(low, high) : linearTicks(low, high, (height - 80) / 55);
  const left = 22 + 7 * Math.max(...yTicks.map((tick) => tickText(tick).length), 2);
  const [right, top, bottom] = [width - 24, 30, height - 48];
  const last = Math.max(...shown.map((each) => each.x.at(-1) || 1), options.curves.t.at(-1) || 1);
  const turn = options.log ? Math.log : (value) => value;
  const share = (value) => (turn(value) - turn(low)) / (turn(high) - turn(low) || 1);
  return {
    shown, width, height, left, right, top, bottom, last, yTicks, xTicks: linearTicks(0, last, (right - left) / 90),
    x: (value) => left + (value / last) * (right - left), y: (value) => bottom - share(value) * (bottom - top),
  };
}

// ---- Drawing ----

const place = (number) => number.toFixed(1);
const strokeOf = (style) => ({ stroke: colourOf(style), "stroke-width": 1.6 * style.width, "stroke-dasharray": DASHES[style.dash] });
const pathOf = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${place(x)} ${place(y)}`).join("");

function drawAxes(svg, { left, right, top, bottom, x, y, xTicks, yTicks }, title) {
  const [ink, rule, strong] = ["--ink", "--rule", "--strong-rule"].map(named);
  const text = { fill: ink, "font-size": 12 };
  yTicks.forEach((tick) => {
    add(svg, "path", { d: `M${left} ${place(y(tick))}H${right}`, stroke: rule, fill: "none" });
    add(svg, "text", { ...text, x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, tickText(tick));
  });
  add(svg, "path", { d: `M${left} ${top}V${bottom}H${right}`, stroke: strong, fill: "none" });
  xTicks.forEach((tick) => {
    add(svg, "path", { d: `M${place(x(tick))} ${bottom}v5`, stroke: strong, fill: "none" });
    add(svg, "text", { ...text, x: x(tick), y: bottom + 18, "text-anchor": "middle" }, tickText(tick));
  });
  add(svg, "text", { ...text, x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" }, data.along);
  add(svg, "text", { ...text, class: "title", x: 4, y: 14, "font-weight": 600 }, title);
}

const pointsOf = (each, frame, values) => values.map((value, i) => [frame.x(each.x[i]), frame.y(value)])
  .filter(([, y]) => Number.isFinite(y));

function drawBand(panel, each, frame, log, opacity) {
  const floor = each.low.map((low, i) => (log ? Math.max(low, each.mean[i] / 10) : low));
  const points = [...pointsOf(each, frame, each.high), ...pointsOf(each, frame, floor).reverse()];
  add(panel, "path", { class: "band", d: `${pathOf(points)}Z`, fill: each.colour, "fill-opacity": opacity.toFixed(3),
    "data-label": each.label });
}

function drawMarkers(group, style, points) {
  const radius = style.marker === "*" ? 5.5 : 4, colour = colourOf(style);
  const shape = ([x, y]) => `${pathOf((MARKERS[style.marker] || MARKERS.o).map(([dx, dy]) => [x + radius * dx, y + radius * dy]))}Z`;
  add(group, "path", { d: points.map(shape).join(""), stroke: colour, fill: style.filled ? colour : named("--ground"),
    "stroke-width": 1.2 });
}

// Some nine markers a line; each line begins elsewhere, so that those of close lines do not cover each other.
function drawLine(panel, each, frame, number) {
  const points = pointsOf(each, frame, each.mean);
  const own = add(panel, "g", { class: "line", "data-label": each.label });
  add(own, "path", { d: pathOf(points), fill: "none", "stroke-linejoin": "round",
    ...(each.isGrey ? { stroke: named("--grey") } : strokeOf(each)) });
  const every = Math.max(1, Math.ceil(points.length / 9));
  const marked = points.filter((_, k) => k % every === number % every || (points.length < 3 && k === 0));
  if (!each.isGrey) drawMarkers(own, each, marked);
}

// A sample of a line for the legend, so that it reads without colour too.
function drawSample(host, style) {
  const svg = add(null, "svg", { viewBox: "0 0 34 14" });
  add(svg, "path", { d: "M0 7H34", ...strokeOf(style) });
  drawMarkers(svg, style, [[17, 7]]);
  host.replaceChildren(svg);
}

// A rate is a count per sample seen; everything else is as recorded. A window stands at its middle.
function pointsAlong(curves, algorithm, name, series, windowed) {
  const { t, w } = algorithm.t ? algorithm : curves;
  if (windowed) {
    const factor = series.per_example ? series.factor : 1;
    const [mean, deviation] = algorithm.windows[name].map((values) => values.map((value) => factor * value));
    const starts = [0, ...w];
    const where = (i) => `${(starts[i] + 1).toLocaleString("en")}–${w[i].toLocaleString("en")}`;
    return { x: w.map((end, i) => (starts[i] + end) / 2), mean, deviation, where };
  }
  // An undefined value is null, which counts as zero where it is multiplied.
  const per = (value, i) => (value === null ? NaN : (series.factor * value) / (series.per_example ? t[i] : 1));
  const [mean, deviation] = algorithm[name].map((values) => values.map(per));
  return { x: t, mean, deviation, where: (i) => t[i].toLocaleString("en") };
}

function curveOf(button, { curves, name, series, windowed }) {
  const { label } = button.dataset, style = data.styles[label], top = series.top ?? Infinity;
  const own = pointsAlong(curves, curves.algorithms[label], name, series, windowed);
  const floor = Math.min(0, ...own.mean.filter(Number.isFinite)); // kappa can be negative
  return {
    ...own, ...style, label, colour: colourOf(style), isGrey: !pressed(button),
    low: own.mean.map((mean, i) => Math.max(floor, mean - own.deviation[i])),
    high: own.mean.map((mean, i) => Math.min(top, mean + own.deviation[i])),
  };
}

function drawPanel(svg, frame, { curves, log, bands }) {
  const { left, right, top, bottom, shown } = frame;
  const clip = add(add(svg, "defs"), "clipPath", { id: "panel" });
  add(clip, "rect", { x: left, y: top - 6, width: right - left + 8, height: bottom - top + 6 });
  const panel = add(svg, "g", { "clip-path": "url(#panel)" });
  (curves.marks || []).forEach((row) => add(panel, "path", { class: "mark", "stroke-dasharray": "2 4",
    stroke: named("--ink"), "stroke-opacity": .6, d: `M${place(frame.x(row))} ${top}V${bottom}` }));
  const coloured = bands ? shown.filter((each) => !each.isGrey) : [];
  coloured.forEach((each) => drawBand(panel, each, frame, log, Math.min(.12, .7 / coloured.length)));
  shown.forEach((each, number) => drawLine(panel, each, frame, number));
}

const chosen = (selector) => $(`${selector} [aria-pressed=true]`)?.value;
let frame = null;

function readControls() {
  const [curves, name] = [data.curves[$("#dataset").value], chosen("#quantity")];
  const series = data.series[name];
  const windowed = chosen("#window") === "windows" && series.windowed !== "";
  return { curves, name, series, windowed, shared: series.timed && curves.shared_time, log: chosen("#scale") === "log",
    bands: pressed($("#bands")), isLevel: windowed || series.level };
}

function draw() {
  const options = readControls();
  const { curves, series, windowed, shared } = options;
  $$(".series").forEach((button) => {
    button.disabled = !(button.dataset.label in curves.algorithms);
    drawSample($(".sample", button), data.styles[button.dataset.label]);
  });
  $$("#window [value=windows]").forEach((button) => { button.disabled = !series.windowed; });
  $("#shared-note").hidden = !shared;
  hideReading();
  // Those in colour are drawn over the grey ones.
  const shown = $$(".series").filter((each) => !each.disabled && (pressed(each) || pressed($("#others"))))
    .map((button) => curveOf(button, options)).sort((a, b) => b.isGrey - a.isGrey);
  const width = Math.max(260, plot.clientWidth), height = width < 600 ? 380 : 480;
  const svg = add(null, "svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  frame = makeFrame(shown, options, width, height);
  drawAxes(svg, frame, (windowed ? series.windowed : series.title) + (shared ? ", measured shared" : ""));
  drawPanel(svg, frame, options);
  frame.cursor = add(svg, "path", { stroke: named("--strong-rule"), "stroke-dasharray": "3 3", d: "" });
  $$("svg", plot).forEach((each) => each.remove());
  plot.prepend(svg);
}

// Bring a curve forward: thick, in its own colour, above the others.
function emphasise(label, isAlone = false) {
  const isDrawn = frame.shown.some((each) => each.label === label);
  $$("[data-label]", plot).forEach((each) => {
    const isOwn = each.dataset.label === label;
    each.classList.toggle("faint", isAlone && isDrawn && !isOwn);
    if (!each.classList.contains("line")) return;
    $("path", each).style.cssText = isOwn ? `stroke: ${colourOf(data.styles[label])}; stroke-width: 3` : "";
    if (isOwn) each.parentNode.append(each);
  });
}

// ---- The cursor ----

const MOST_READ = 14;
let reading = null;

function hideReading() {
  reading = null;
  $("#reading").hidden = true;
  if (frame) frame.cursor.setAttribute("d", "");
}

function nearest(values, wanted) {
  return values.reduce((best, value, i) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? i : best), 0);
}

function readingRow(each, isNearest) {
  const swatch = make("span", { class: "swatch" });
  swatch.style.background = each.isGrey && !isNearest ? named("--grey") : each.colour;
  return make("tr", isNearest ? { class: "highlighted" } : {}, make("th", {}, swatch, each.label), make("td", {}, each.text));
}

// Show what all curves are at one place of the axis, highest first, and bring the one at the pointer forward.
function readCurves(wanted, height = null) {
  const shown = frame.shown.filter((each) => each.x.length);
  if (!shown.length) return;
  const at = nearest(shown[0].x, wanted);
  reading = shown[0].x[at];
  const rows = shown.map((each) => {
    const i = nearest(each.x, reading);
    const text = numberText(each.mean[i], 4) + (data.single ? "" : ` ± ${numberText(each.deviation[i], 4)}`);
    return { label: each.label, colour: each.colour, isGrey: each.isGrey, mean: each.mean[i], text };
  }).filter((each) => Number.isFinite(each.mean)).sort((a, b) => b.mean - a.mean);
  const closest = height === null || !rows.length ? null : rows[nearest(rows.map((each) => frame.y(each.mean)), height)];
  emphasise(closest && Math.abs(frame.y(closest.mean) - height) < 20 ? closest.label : null);
  const x = frame.x(reading), box = $("#reading");
  frame.cursor.setAttribute("d", `M${x} ${frame.top}V${frame.bottom}`);
  $("caption", box).textContent = `${data.along}: ${shown[0].where(at)}`;
  // Of many curves, those in colour and the one at the pointer are listed.
  const listed = rows.filter((each) => rows.length <= MOST_READ || !each.isGrey || each === closest);
  $("tbody", box).replaceChildren(...listed.map((each) => readingRow(each, each === closest)));
  box.hidden = false;
  const right = (x * plot.clientWidth) / frame.width + 14;
  box.style.left = `${Math.max(0, right + box.offsetWidth < plot.clientWidth ? right : right - 28 - box.offsetWidth)}px`;
}

const MOVES = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

// The arrow keys move the cursor from point to point, as the mouse does.
function moveReading(event) {
  if (event.key === "Escape") hideReading();
  if (!(event.key in MOVES) || !frame.shown.length) return;
  event.preventDefault();
  const points = frame.shown[0].x;
  const now = reading === null ? -1 : points.indexOf(reading);
  readCurves(points[Math.min(points.length - 1, Math.max(0, now + MOVES[event.key]))]);
}

function pointAt(event) {
  const { left, top, width } = plot.getBoundingClientRect();
  const zoom = frame.width / width;
  const share = ((event.clientX - left) * zoom - frame.left) / (frame.right - frame.left);
  readCurves(Math.max(0, Math.min(1, share)) * frame.last, (event.clientY - top) * zoom);
}

// ---- Controls ----

const on = (selector, event, act) => $$(selector).forEach((each) => each.addEventListener(event, () => act(each)));
on(".series, #bands, #others", "click", (button) => { press(button, !pressed(button)); draw(); });
on("#all, #none", "click", ({ id }) => { $$(".series").forEach((each) => press(each, id === "all")); draw(); });
on(".switch button", "click", (button) => {
  $$("button", button.parentNode).forEach((each) => press(each, each === button));
  draw();
});
on("#dataset", "change", draw);
// Pointing at a name in the legend, or reaching it with the keyboard, brings its curve forward.
["mouseenter", "focus"].forEach((event) => on(".series", event, ({ dataset }) => emphasise(dataset.label, true)));
["mouseleave", "blur"].forEach((event) => on(".series", event, () => emphasise(null)));
["pointermove", "pointerdown"].forEach((event) => plot.addEventListener(event, pointAt));
on("#plot", "pointerleave", () => { hideReading(); emphasise(null); });
on("#plot", "blur", hideReading);
plot.addEventListener("keydown", moveReading);
document.addEventListener("recolour", draw);
new ResizeObserver(() => { if (plot.clientWidth !== frame.width) draw(); }).observe(plot);
draw();
