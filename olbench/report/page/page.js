"use strict";
// Tables and text are in the page already. This sorts and filters the tables, shows the tips of cells and switches
// colours; plot.js draws the curves. Nothing here leaves the page.

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const pressed = (button) => button.getAttribute("aria-pressed") === "true";
const press = (button, on) => button.setAttribute("aria-pressed", String(on));

function fill(element, attributes, children) {
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}

const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

// ---- Sorting ----

const cellKey = ({ dataset, textContent }) => (dataset.value === undefined ? textContent.trim() || null : Number(dataset.value));

// Cells without a value come last in either direction: they are not small, they are missing.
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  return direction * String(a).localeCompare(String(b), "en", { numeric: true });
}

const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

// A third click brings the first order back.
function sortBy(table, header, original) {
  const order = NEXT[header.getAttribute("aria-sort")];
  const keys = new Map(original.map((row) => [row, cellKey(row.cells[header.cellIndex])]));
  const rows = [...original];
  if (order !== "none") rows.sort((a, b) => compare(keys.get(a), keys.get(b), order === "ascending" ? 1 : -1));
  $$("thead th", table).forEach((each) => each.setAttribute("aria-sort", each === header ? order : "none"));
  table.tBodies[0].append(...rows);
}

function setUpSorting(table) {
  const original = $$("tbody tr", table);
  if (original.length < 2) return;
  $$("thead th", table).filter((header) => header.textContent).forEach((header) => {
    const button = make("button", { type: "button", class: "sort" }, ...header.childNodes);
    header.append(button);
    header.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sortBy(table, header, original));
  });
}

// ---- Filtering ----

const FEW_ROWS = 20;

// Every word must begin a word of the row: "cw" finds cw and not scw1; "=synthetic" finds no synthetic-noise.
function matches(row, words) {
  const content = [...row.cells].flatMap((cell) => cell.textContent.toLowerCase().split(/\s+/));
  const begins = (word) => content.some((each) => each.startsWith(word));
  return words.every((word) => (word.startsWith("=") ? content.includes(word.slice(1)) : begins(word)));
}

// A long table gets a field that filters its rows and, if it has blocks, a menu of them.
function setUpFilter(figure) {
  const rows = $$("tbody tr", figure);
  if (rows.length <= FEW_ROWS) return;
  const group = $("th[data-group]", figure);
  const blockOf = (row) => row.cells[group.cellIndex].textContent;
  const menu = make("select", {}, new Option("all", ""));
  if (group) menu.append(...[...new Set(rows.map(blockOf))].map((block) => new Option(block, block)));
  const field = make("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter rows" });
  const count = make("output");
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row) => { row.hidden = (menu.value !== "" && blockOf(row) !== menu.value) || !matches(row, words); });
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  };
  field.addEventListener("input", apply);
  menu.addEventListener("change", apply);
  const title = group && group.textContent.replace(/^./, (letter) => letter.toUpperCase());
  $(".scroll", figure).before(make("div", { class: "controls" },
    ...(menu.length > 2 ? [make("label", {}, `${title} `, menu)] : []), field, count));
  apply();
}

// ---- Fitting ----

// A table that fits has a heading that stays below the navigation; a wider one scrolls in a box of its own.
function setUpFit() {
  const boxes = $$(".scroll");
  const measure = () => {
    if ($("nav")) document.documentElement.style.setProperty("--nav", `${$("nav").offsetHeight}px`);
    const fits = boxes.map((box) => $("table", box).offsetWidth <= box.clientWidth + 1);
    boxes.forEach((box, place) => box.classList.toggle("fits", fits[place]));
  };
  const observer = new ResizeObserver(measure);
  boxes.forEach((each) => observer.observe(each));
  measure();
}

// ---- The verdict map ----

const tip = make("div", { id: "tip", role: "tooltip", hidden: "" });
let tipped = null;

function showTip(cell) {
  tipped = cell;
  tip.hidden = cell === null;
  if (cell) tip.textContent = cell.getAttribute("aria-label");
  placeTip();
}

// The keyboard scrolls the page to the cell that it reaches: the tip goes along.
function placeTip() {
  if (!tipped) return;
  const place = tipped.getBoundingClientRect();
  const left = Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
  const below = place.bottom + 6 + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below ? place.bottom + 6 : place.top - tip.offsetHeight - 6}px`;
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function moveInMap(map, event) {
  if (event.key === "Escape") showTip(null);
  const step = STEPS[event.key];
  const from = event.target.closest("td");
  if (!step || !from) return;
  event.preventDefault();
  const row = map.tBodies[0].rows[from.parentNode.sectionRowIndex + step[0]];
  const next = row && row.cells[from.cellIndex + step[1]];
  if (next && $(".cell", next)) $(".cell", next).focus();
}

// One cell of a map is in the tab order, the arrow keys move it: 72 stops would be a trap.
function setUpMap(map) {
  const cells = $$(".cell", map);
  cells.forEach((cell, place) => {
    cell.tabIndex = place ? -1 : 0;
    cell.addEventListener("mouseenter", () => showTip(cell));
    ["mouseleave", "blur"].forEach((event) => cell.addEventListener(event, () => showTip(null)));
    cell.addEventListener("focus", () => {
      cells.forEach((each) => { each.tabIndex = each === cell ? 0 : -1; });
      showTip(cell);
    });
  });
  map.addEventListener("keydown", (event) => moveInMap(map, event));
}

// ---- Colours ----

const root = document.documentElement;
const isDark = () => getComputedStyle(root).colorScheme === "dark";

// What is drawn in colours of the page listens for this.
function setTheme(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  if ($("#theme")) press($("#theme"), isDark());
  document.dispatchEvent(new Event("recolour"));
}

document.body.append(tip);
addEventListener("scroll", placeTip, { passive: true });
$$("figure.table table").forEach(setUpSorting);
$$("figure.table").forEach(setUpFilter);
$$("figure.map table").forEach(setUpMap);
setUpFit();
if ($("#theme")) $("#theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(root.dataset.theme));
setTheme(root.dataset.theme);
// Paper is light, whatever the screen is.
let beforePrint;
addEventListener("beforeprint", () => { beforePrint = root.dataset.theme; setTheme("light"); });
addEventListener("afterprint", () => setTheme(beforePrint));
