// the answers to the question; those about scores stand with their tables if there are decisions too
const first = facts.tables.filter((t) => t.rate === facts.tables[0].rate);

function answers() {
  const shown = first.map((t) => make("p", null, { dir: "auto" },
    first.length > 1 ? [make("strong", `${capital(t.attribute)}: ${t.lead}`), t.answer.slice(t.lead.length)] : [make("strong", t.answer)]));
  put("answers", ...shown);
  $("verdict").dataset.outcome = facts.outcome;
  $("about").textContent = facts.about;
}

// a picture in a table, a row per group, with its ratio and test
function comparison(t, place) {
  const rows = t.groups.map((g) => ({ name: [g.name, g.counts], before: null, after: g.rate, text: g.rate_text }));
  const picture = arrows(null, [t.attribute, "share"], rows, {}, t.limit);
  picture.classList.add("tested");
  const cell = (tag, [text, small], more = {}) => make(tag, text || null, more, small ? [make("small", small)] : []);
  const [head, ...body] = picture.querySelectorAll("tr");
  head.append(cell("th", ["ratio", "to the reference"], { scope: "col" }), cell("th", ["test", "how often a difference this large comes by chance"], { scope: "col" }));
  body.forEach((row, i) => row.append(cell("td", t.groups[i].ratio), cell("td", t.groups[i].test)));
  const box = make("section", null, { "aria-labelledby": `h-table-${place}` }, [
    make("h2", t.heading, { id: `h-table-${place}`, dir: "auto" }),
    ...(first.includes(t) ? [] : [make("p", t.answer, { dir: "auto" })]), picture,
    make("p", `${t.reference} ${t.unknown}`, { class: "quiet", dir: "auto" }),
    make("ul", null, {}, t.verdicts.map((text) => make("li", text))),
  ]);
  $("tables").append(box);
}

const scrolling = (...children) => make("div", null, { class: "scroll" }, children);

function outcomes() {
  if (!facts.outcomes.length) { $("outcomes").remove(); return; }
  facts.outcomes.forEach((t, i) => {
    const fold = make("details", null, i ? { "data-print": "no" } : { open: "" }, [
      make("summary", `By ${t.attribute}`, { dir: "auto" }),
      scrolling(table(null, [t.attribute, ...t.head], t.rows)),
      scrolling(table(null, ["difference between groups", "figure", "verdict"], t.gaps))]);
    fold.addEventListener("toggle", () => fold.querySelectorAll(".scroll").forEach(reach));
    $("outcome-tables").append(fold);
  });
}

function thresholds() {
  if (!facts.thresholds.length) { $("thresholds").remove(); return []; }
  return facts.thresholds.flatMap((t) => {
    const chart = make("div", null, { class: "chart" });
    const head = [t.attribute, ...t.points.map((p) => [p.threshold, `decile ${p.decile}`])];
    const rows = t.groups.map((name, i) => [name, ...t.points.map((p) => (p.shares[i] === null ? "hidden" : percent(p.shares[i], 0)))]);
    const fold = make("details", null, { "data-print": "no" }, [make("summary", `By ${t.attribute} as a table`), scrolling(table(null, head, rows))]);
    fold.addEventListener("toggle", () => fold.querySelectorAll(".scroll").forEach(reach));
    $("threshold-tables").append(make("h3", capital(t.attribute), { dir: "auto" }), chart, fold);
    if (!(`thresholds-${t.attribute}` in charts)) { chart.remove(); return []; }
    const points = t.points.flatMap((p) => t.groups.map((group, i) => ({
      group, decile: p.decile, share: p.shares[i], tip: `${group}: about ${percent(p.shares[i] || 0, 0)} above ${p.threshold}`,
    })).filter((row) => row.share !== null));
    return [draw(`thresholds-${t.attribute}`, { points }, chart)];
  });
}

const list = (id, texts) => put(id, ...texts.map((text) => make("li", text, { dir: "auto" })));

answers();
facts.tables.forEach(comparison);
outcomes();
list("method", facts.method);
list("limits", facts.limits);
put("done", table(null, null, facts.done, { class: "plain" }));
document.querySelectorAll(".scroll").forEach(reach);
ready(thresholds());
