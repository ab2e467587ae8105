
// ---- The search of a site ----

// A row is shown if each word that is searched for begins a word of the row: "cw" finds cw and not scw1.
function setUpSearch(box) {
  const split = (text) => text.toLowerCase().split(/[^\p{L}\p{N}.]+/u).filter(Boolean);
  const rows = [...document.querySelectorAll("main tbody tr")].map((row) => (
    { row, words: split([...row.cells].map((cell) => cell.textContent).join(" ")) }
  ));
  const search = () => {
    const wanted = split(box.value);
    rows.forEach(({ row, words }) => {
      row.hidden = !wanted.every((word) => words.some((each) => each.startsWith(word)));
    });
    document.querySelectorAll("main section").forEach((section) => {
      section.hidden = !section.querySelector("tbody tr:not([hidden])");
    });
    const shown = rows.filter(({ row }) => !row.hidden).length;
    document.querySelector("#matches").textContent = `${shown} of ${rows.length} rows`;
  };
  box.addEventListener("input", search);
  document.querySelector("#search").hidden = false;
  search();
}

if (document.querySelector("#find")) setUpSearch(document.querySelector("#find"));
