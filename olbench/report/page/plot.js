"use strict";
// Curves as SVG, drawn here rather than by a library: a page needs axes, bands, lines with dashes and markers, and
// a cursor that reads them, which take less than a hundredth of the code of the libraries that offer them. As SVG,
// the drawing is sharp on paper and its parts can be found by a test.

const Plot = (() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
  const DASHES = { solid: "", dash: "8 4", dot: "2 3", dashdot: "9 3 2 3" };
  // Markers within a circle of radius 1, under matplotlib's names.
  const polygon = (corners, turn, inner = 1) => Array.from({ length: inner < 1 ? 2 * corners : corners }, (_, k) => {
    const angle = turn + (2 * Math.PI * k) / (inner < 1 ? 2 * corners : corners);
    const radius = inner < 1 && k % 2 ? inner : 1;
    return [radius * Math.sin(angle), -radius * Math.cos(angle)];
  });
  const cross = (turn) => [[-.35, -1], [.35, -1], [.35, -.35], [1, -.35], [1, .35], [.35, .35], [.35, 1], [-.35, 1],
    [-.35, .35], [-1, .35], [-1, -.35], [-.35, -.35]].map(([x, y]) => [
    x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)]);
  const MARKERS = {
    o: polygon(24, 0), s: polygon(4, Math.PI / 4), D: polygon(4, 0), d: polygon(4, 0).map(([x, y]) => [.6 * x, y]),
    "^": polygon(3, 0), v: polygon(3, Math.PI), "<": polygon(3, -Math.PI / 2), ">": polygon(3, Math.PI / 2),
    p: polygon(5, 0), h: polygon(6, 0), 8: polygon(8, Math.PI / 8), "*": polygon(5, 0, .45),
    P: cross(0), X: cross(Math.PI / 4),
  };

  function add(parent, name, attributes = {}, text = null) {
    const element = document.createElementNS(NAMESPACE, name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    if (text !== null) element.textContent = text;
    parent.append(element);
    return element;
  }

  // ---- Axes ----

  function linearTicks(low, high, most) {
    const raw = (high - low) / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 2.5, 5, 10].find((each) => each * power >= raw * (1 - 1e-9));
    const count = Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1;
    return Array.from({ length: Math.max(0, count) }, (_, k) => {
      const value = (Math.ceil(low / step - 1e-9) + k) * step;
      return Math.abs(value) < step / 1e6 ? 0 : value;
    });
  }

  function logTicks(low, high) {
    const decades = Math.log10(high / low);
    const digits = decades > 3 ? [1] : decades > 1 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      digits.map((digit) => digit * 10 ** power).forEach((tick) => {
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
      });
    }
    return ticks.length > 1 ? ticks : linearTicks(low, high, 5);
  }

  const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  function tickText(value) {
    const size = Math.abs(value);
    if (size && (size < 1e-4 || size >= 1e7)) {
      const power = Math.floor(Math.log10(size) + 1e-9);
      const digits = String(Math.abs(power)).split("").map((each) => POWERS[each]).join("");
      const factor = Number((value / 10 ** power).toPrecision(3));
      return `${factor === 1 ? "" : `${factor}·`}10${power < 0 ? "⁻" : ""}${digits}`;
    }
    return Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 8 });
  }

  // The start of a rate is steep and would flatten all the rest: its axis ignores the first tenth.
  function yRange(shown, options) {
    const values = shown.flatMap((each) => each.x.flatMap((x, i) => {
      if (options.isLevel && each.x.length > 3 && x < each.x.at(-1) / 10) return [];
      return options.bands ? [each.low[i], each.mean[i], each.high[i]] : [each.mean[i]];
    })).filter((value) => Number.isFinite(value) && (options.scale !== "log" || value > 0));
    if (!values.length) return [options.scale === "log" ? .1 : 0, 1];
    let low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    if (options.scale === "log") return low < high ? [low / 1.05, high * 1.05] : [low / 2, high * 2];
    if (!options.isLevel) low = Math.min(0, low);
    const room = (high - low || Math.abs(high) || 1) * .04;
    return [options.isLevel && low - room > 0 ? low - room : Math.min(0, low), high + room];
  }

  function scaleOf(low, high, from, to, log) {
    const turn = log ? Math.log : (value) => value;
    return (value) => from + ((turn(value) - turn(low)) / (turn(high) - turn(low) || 1)) * (to - from);
  }

  // ---- Drawing ----

  const place = (number) => number.toFixed(1);
  const pathOf = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${place(x)} ${place(y)}`).join("");

  function drawAxes(svg, frame, options) {
    const { left, right, top, bottom } = frame;
    const text = { fill: options.ink, "font-size": 12 };
    frame.yTicks.forEach((tick) => {
      const y = place(frame.y(tick));
      add(svg, "path", { d: `M${left} ${y}H${right}`, stroke: options.rule, fill: "none" });
      add(svg, "text", { ...text, x: left - 8, y: Number(y) + 4, "text-anchor": "end" }, tickText(tick));
    });
    add(svg, "path", { d: `M${left} ${top}V${bottom}H${right}`, stroke: options.strongRule, fill: "none" });
    frame.xTicks.forEach((tick) => {
      const x = place(frame.x(tick));
      add(svg, "path", { d: `M${x} ${bottom}v5`, stroke: options.strongRule, fill: "none" });
      add(svg, "text", { ...text, x, y: bottom + 18, "text-anchor": "middle" }, tickText(tick));
    });
    add(svg, "text", { ...text, class: "along", x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" },
      options.along);
    add(svg, "text", { ...text, class: "title", x: 4, y: 14, "font-weight": 600 }, options.title);
  }

  function drawBand(group, each, frame, log, many) {
    const floor = (i) => (log ? Math.max(each.low[i], each.mean[i] / 10) : each.low[i]);
    const kept = each.x.map((_, i) => i).filter((i) => (log ? floor(i) > 0 : Number.isFinite(each.mean[i])));
    const upper = kept.map((i) => [frame.x(each.x[i]), frame.y(each.high[i])]);
    const lower = kept.map((i) => [frame.x(each.x[i]), frame.y(floor(i))]).reverse();
    if (kept.length < 2) return;
    add(group, "path", { class: "band", d: `${pathOf([...upper, ...lower])}Z`, fill: each.colour, "fill-opacity": Math.min(.12, .7 / many).toFixed(3),
      "data-label": each.label });
  }

  function markerPath(name, x, y, radius) {
    return `${pathOf((MARKERS[name] || MARKERS.o).map(([dx, dy]) => [x + radius * dx, y + radius * dy]))}Z`;
  }

  // Some nine markers a line; each line begins elsewhere, so that those of close lines do not cover each other.
  function drawLine(group, each, frame, log, options, number) {
    const kept = each.x.map((_, i) => i).filter((i) => (log ? each.mean[i] > 0 : Number.isFinite(each.mean[i])));
    const points = kept.map((i) => [frame.x(each.x[i]), frame.y(each.mean[i])]);
    const own = add(group, "g", { class: "line", "data-label": each.label, stroke: each.colour });
    add(own, "path", { d: pathOf(points), fill: "none", "stroke-width": 1.6 * each.width, "stroke-linejoin": "round",
      "stroke-dasharray": DASHES[each.dash] });
    const every = Math.max(1, Math.ceil(points.length / 9));
    const marked = points.filter((_, k) => k % every === number % every || (points.length < 3 && k === 0));
    const radius = each.marker === "*" ? 5.5 : 4;
    add(own, "path", { d: marked.map(([x, y]) => markerPath(each.marker, x, y, radius)).join(""),
      fill: each.filled ? each.colour : options.ground, "stroke-width": 1.2 });
  }

  function makeFrame(shown, options, width, height) {
    const log = options.scale === "log";
    const [low, high] = yRange(shown, options);
    const room = height - 80;
    const yTicks = log ? logTicks(low, high) : linearTicks(low, high, room / 55);
    const left = 22 + 7 * Math.max(...yTicks.map((tick) => tickText(tick).length), 2);
    const frame = { left, right: width - 24, top: 30, bottom: height - 48, yTicks };
    const last = Math.max(...shown.map((each) => each.x.at(-1) || 1), options.last);
    frame.last = last;
    frame.x = scaleOf(0, last, left, frame.right, false);
    frame.y = scaleOf(low, high, frame.bottom, frame.top, log);
    frame.xTicks = linearTicks(0, last, (frame.right - left) / 90);
    return frame;
  }

  let drawn = 0;

  // Draw `shown`, curves with x, mean, low and high, into a host; return the frame for a cursor.
  function draw(host, shown, options) {
    const width = Math.max(260, host.clientWidth), height = width < 600 ? 380 : 480;
    const frame = makeFrame(shown, options, width, height);
    const svg = document.createElementNS(NAMESPACE, "svg");
    Object.entries({ viewBox: `0 0 ${width} ${height}`, "font-family": FONT, "data-scale": options.scale,
      "aria-hidden": "true" }).forEach(([key, value]) => svg.setAttribute(key, value));
    drawAxes(svg, frame, options);
    drawn += 1;
    const clip = add(add(svg, "defs"), "clipPath", { id: `panel-${drawn}` });
    add(clip, "rect", { x: frame.left, y: frame.top - 6, width: frame.right - frame.left + 8,
      height: frame.bottom - frame.top + 6 });
    const panel = add(svg, "g", { "clip-path": `url(#panel-${drawn})` });
    options.marks.forEach((row) => add(panel, "path", { class: "mark", "stroke-dasharray": "2 4", stroke: options.ink,
      "stroke-opacity": .6, fill: "none", d: `M${place(frame.x(row))} ${frame.top}V${frame.bottom}` }));
    const log = options.scale === "log";
    if (options.bands) shown.forEach((each) => drawBand(panel, each, frame, log, shown.length));
    shown.forEach((each, number) => drawLine(panel, each, frame, log, options, number));
    frame.cursor = add(svg, "path", { class: "cursor", stroke: options.strongRule, "stroke-dasharray": "3 3", d: "" });
    $$("svg", host).forEach((each) => each.remove());
    host.prepend(svg);
    return { ...frame, width, height, shown, along: options.along, isSingle: options.isSingle };
  }

  // ---- The cursor ----

  function nearest(values, wanted) {
    let best = 0;
    values.forEach((value, i) => { if (Math.abs(value - wanted) < Math.abs(values[best] - wanted)) best = i; });
    return best;
  }

  const number = (value) => {
    const size = Math.abs(value);
    if (size && (size < 1e-4 || size >= 1e7)) return value.toExponential(2).replace("e+", "e");
    return size >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 1 }) : value ? value.toPrecision(4) : "0";
  };

  // What all curves are at one place of the axis, highest first.
  function readAt(frame, wanted) {
    const shown = frame.shown.filter((each) => each.x.length);
    if (!shown.length) return null;
    const [first] = shown;
    const place = nearest(first.x, wanted);
    const at = first.x[place];
    const rows = shown.map((each) => {
      const i = nearest(each.x, at);
      return { label: each.label, colour: each.colour, mean: each.mean[i],
        text: number(each.mean[i]) + (frame.isSingle ? "" : ` ± ${number(each.deviation[i])}`) };
    }).sort((a, b) => b.mean - a.mean);
    return { at, where: first.where ? first.where(place) : at.toLocaleString("en"), rows };
  }

  // The file has colours of its own: outside the page, the names of the style sheet mean nothing.
  function save(host, name, ground) {
    const copy = $("svg", host).cloneNode(true);
    const [, , width, height] = copy.getAttribute("viewBox").split(" ");
    Object.entries({ xmlns: NAMESPACE, width, height, style: `background: ${ground}` })
      .forEach(([key, value]) => copy.setAttribute(key, value));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
    link.download = `${name.replaceAll(/[^\w.-]+/g, "-")}.svg`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // A sample of a line for the legend, so that it reads without colour too.
  function drawSample(host, style, colour, ground) {
    const svg = document.createElementNS(NAMESPACE, "svg");
    svg.setAttribute("viewBox", "0 0 34 14");
    add(svg, "path", { d: "M0 7H34", stroke: colour, fill: "none", "stroke-width": 1.6 * style.width,
      "stroke-dasharray": DASHES[style.dash] });
    add(svg, "path", { d: markerPath(style.marker, 17, 7, style.marker === "*" ? 5.5 : 4), stroke: colour,
      fill: style.filled ? colour : ground, "stroke-width": 1.2 });
    host.replaceChildren(svg);
  }

  return { draw, readAt, save, drawSample };
})();
