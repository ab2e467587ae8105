"use strict";
// Shared by the page of a report and the site. Tables and text are in the page already; this sorts them, fits them
// and switches colours. Nothing here leaves the page.

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const pressed = (button) => button.getAttribute("aria-pressed") === "true";
const press = (button, on) => button.setAttribute("aria-pressed", String(on));

// ---- Sorting ----

// A number stands in the cell's data or, below a heading of numbers, at the beginning of its text.
function cellKey(row, column, numeric) {
  const cell = row.cells[column];
  const text = cell.textContent.trim();
  if (cell.dataset.value !== undefined) return cell.dataset.value === "" ? null : Number(cell.dataset.value);
  if (!numeric) return text;
  const number = parseFloat(text.replaceAll(",", "").replace("\u2212", "-").replace("=", ""));
  return Number.isNaN(number) ? null : number;
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
  const numeric = header.classList.contains("num");
  const keys = new Map(rows.map((row) => [row, cellKey(row, header.cellIndex, numeric)]));
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

// ---- Searching ----

// Every word must begin a word of the row: "cw" finds cw and not scw1; "=synthetic" finds no synthetic-noise.
function matches(row, words) {
  const content = row.textContent.toLowerCase().split(/\s+/);
  const begins = (word) => content.some((each) => each.startsWith(word));
  return words.every((word) => (word.startsWith("=") ? content.includes(word.slice(1)) : begins(word)));
}

// ---- Fitting ----

// A table as wide as the page has a heading that stays below the navigation; a wider one scrolls in a box of its own.
function setUpFit() {
  const boxes = $$(".scroll").filter((box) => $(":scope > table", box));
  const measure = () => {
    document.documentElement.style.setProperty("--nav", `${$("nav").offsetHeight}px`);
    boxes.forEach((box) => {
      const table = $("table", box);
      box.classList.toggle("fits", table.offsetWidth <= box.clientWidth + 1);
    });
  };
  const observer = new ResizeObserver(measure);
  [$("nav"), ...boxes].forEach((each) => observer.observe(each));
  measure();
}

// ---- Theme ----

const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark";

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
