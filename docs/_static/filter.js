// Above each long table of the reproductions: a box for words, and a choice for each column with few different values.
document.addEventListener("DOMContentLoaded", () => {
    const LONG = 40, FEW = 8;
    if (!location.pathname.includes("/reproductions/")) return;
    for (const table of document.querySelectorAll("article table")) {
        const rows = [...table.tBodies[0]?.rows ?? []];
        if (rows.length < LONG) continue;
        const bar = document.createElement("p");
        const count = document.createElement("span");
        const filters = [];
        const show = () => {
            let shown = 0;
            for (const row of rows) {
                row.hidden = !filters.every(fits => fits(row));
                shown += !row.hidden;
            }
            count.textContent = ` ${shown} of ${rows.length} lines`;
        };
        // What a cell begins with decides: "holds: by how much" is "holds".
        const value = (row, column) => (row.cells[column]?.textContent ?? "").split(":")[0].trim();
        [...table.tHead.rows[0].cells].forEach((head, column) => {
            const values = [...new Set(rows.map(row => value(row, column)))].sort();
            if (values.length < 2 || values.length > FEW) return;
            const select = document.createElement("select");
            select.setAttribute("aria-label", head.textContent);
            select.append(new Option(`${head.textContent}: all`, "*"));
            for (const one of values) select.append(new Option(one || "(none)", one));
            select.addEventListener("change", show);
            filters.push(row => select.value === "*" || value(row, column) === select.value);
            bar.append(select, " ");
        });
        const box = document.createElement("input");
        box.type = "search";
        box.placeholder = "words";
        box.setAttribute("aria-label", "words that a line must have");
        box.addEventListener("input", show);
        filters.push(row => row.textContent.toLowerCase().includes(box.value.toLowerCase()));
        bar.append(box, count);
        table.before(bar);
        show();
    }
});
