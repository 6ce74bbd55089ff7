// the answer of each table, the most important first
function answers() {
  const shown = facts.tables.map((t) => make("p", null, { dir: "auto", "data-outcome": t.outcome },
    facts.tables.length > 1 ? [make("strong", `${capital(t.attribute)}: `), t.answer] : [make("strong", t.answer)]));
  put("answers", ...shown);
  $("verdict").dataset.outcome = facts.tables[0].outcome;
  $("about").textContent = facts.about;
}

// a picture in a table, a row per group, and below it the figures
function comparison(t, place) {
  const rows = t.groups.map((g) => ({
    name: g.is_reference ? [g.name, "reference"] : g.name, before: null, after: g.rate, text: g.rate_text,
  }));
  const picture = arrows(`${capital(t.rate)} with 95 % intervals`, [t.attribute, "share"], rows, {}, t.limit);
  const cells = t.groups.map((g) => [g.name, g.people, g.selected, g.ratio, make("span", g.test, { class: "words" })]);
  const head = [t.attribute, "all", t.done, ["ratio", "to the reference's rate"], ["test", "of the difference"]];
  const figures = make("div", null, { class: "scroll", id: `figures-${place}` }, [table(null, head, cells, { class: "figures" })]);
  const verdicts = table("All groups together", ["", "figure", "limit", "verdict"],
    t.verdicts.map((v) => [v.name, v.text, v.limit, v.verdict]));
  const box = make("section", null, { "aria-labelledby": `h-table-${place}` }, [
    make("h2", t.heading, { id: `h-table-${place}`, dir: "auto" }), picture,
    make("p", `${t.reference} ${t.unknown}`, { class: "quiet", dir: "auto" }), figures,
    make("div", null, { class: "scroll" }, [verdicts]),
  ]);
  $("tables").append(box);
}

function outcomes() {
  if (!facts.outcomes.length) { $("outcomes").remove(); return; }
  for (const t of facts.outcomes)
    $("outcome-tables").append(
      make("h3", capital(t.attribute), { dir: "auto" }),
      make("div", null, { class: "scroll" }, [table(null, [t.attribute, ...t.head], t.rows)]),
      make("div", null, { class: "scroll" }, [table(null, ["difference between groups", "figure", "verdict"], t.gaps)]));
}

function thresholds() {
  if (!facts.thresholds.length) { $("thresholds").remove(); return []; }
  return facts.thresholds.flatMap((t) => {
    const chart = make("div", null, { class: "chart" });
    const head = [t.attribute, ...t.points.map((p) => [p.threshold, `decile ${p.decile}`])];
    const rows = t.groups.map((name, i) => [name, ...t.points.map((p) => (p.shares[i] === null ? "hidden" : percent(p.shares[i], 0)))]);
    const fold = make("details", null, {}, [make("summary", `By ${t.attribute} as a table`), make("div", null, { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table, scrolls" }, [table(null, head, rows)])]);
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
for (const box of document.querySelectorAll(".scroll"))
  if (box.scrollWidth > box.clientWidth + 1)
    for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": "Table, scrolls" })) box.setAttribute(name, value);
ready(thresholds());
