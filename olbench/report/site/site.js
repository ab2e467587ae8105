// What the site has beyond sortable tables: filters of the index, and commands that can be copied. It follows common.js.

// ---- Filters ----

// A row lists the numbers of its values, one list per facet: "0 3|7||1|2".
function fits(row, chosen, words) {
  const lists = row.dataset.facets.split("|").map((list) => list.split(" "));
  return chosen.every((value, facet) => value === "" || lists[facet].includes(value)) && matches(row, words);
}

function applyFilters(menus) {
  const words = $("#find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = [];
  menus.forEach((menu) => { chosen[menu.dataset.facet] = menu.value; });
  const counts = $$("table.filtered").map((table) => {
    const rows = $$("tbody tr", table);
    rows.forEach((row) => { row.hidden = !fits(row, chosen, words); });
    return `${rows.filter((row) => !row.hidden).length} of ${rows.length} ${table.dataset.things}`;
  });
  $("#matches").textContent = `Shown: ${counts.join(", ")}.`;
}

function setUpFilters() {
  const menus = $$("select[data-facet]");
  const apply = () => applyFilters(menus);
  $("#find").addEventListener("input", apply);
  menus.forEach((menu) => menu.addEventListener("change", apply));
  $("#reset").addEventListener("click", () => {
    [$("#find"), ...menus].forEach((each) => { each.value = ""; });
    apply();
    $("#find").focus();
  });
  $(".filters").hidden = false;
  apply();
}

// ---- Commands ----

async function copyCommand(button) {
  const code = $("code", button.parentElement);
  try {
    await navigator.clipboard.writeText(code.textContent);
    $("#said").textContent = "Copied.";
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } catch {
    // A page without a secure address may not write to the clipboard: the command is selected instead.
    getSelection().selectAllChildren(code);
    $("#said").textContent = "The command is selected.";
  }
}

function setUpCopying() {
  $$("td > code").map((code) => code.parentElement).filter((cell) => cell.textContent.startsWith("olbench ")).forEach((cell) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copy", textContent: "Copy" });
    button.setAttribute("aria-label", `Copy: ${$("code", cell).textContent}`);
    button.addEventListener("click", () => copyCommand(button));
    cell.prepend(button);
  });
}

$$("table.sortable").forEach(setUpSorting);
if ($(".filters")) setUpFilters();
setUpCopying();
setUpFit();
$("#theme").hidden = false;
setUpTheme(() => {});
