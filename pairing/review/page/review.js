"use strict";

// Drafts are notes and severities, by pair, that no verdict holds yet.
const state = { from: 0, matching: 0, pair: null, since: 0, seconds: 0, drafts: new Map() };

// ---- rows of two columns ----

const who = { user: "user", agent: "agent says", call: "agent calls", assistant: "assistant", tool: "tool result", system: "system", summary: "written by the compactor", opaque: "opaque, by the compactor", nothing: "nothing here" };

function cell(c, sideName) {
  const side = el("span", { class: "side" }, sideName + ": ");
  if (!c) return el("div", { class: "cell empty" }, el("p", { class: "by" }, side, el("span", { class: "nothing" }, "nothing")));
  const by = [side, el("b", {}, who[c.who] || c.who, c.name ? " " + c.name : "")];
  if (c.turn) by.push(", turn " + c.turn);
  if (c.step) by.push(", step " + c.step);
  if (c.source) by.push(", answered by the " + c.source);
  return el("div", { class: "cell" },
    el("p", { class: "by" }, by),
    c.args && el("dl", { class: "args call" }, c.args.map((a) => [
      el("dt", { class: a.state }, a.key || "(value)", a.state === "only" && el("span", { class: "unseen" }, " only here"), a.state === "differs" && el("span", { class: "unseen" }, " differs")),
      el("dd", {}, text(a.value)),
    ])),
    text(c.text),
    text(c.result, "result"),
    (c.lost || []).map((item) => el("p", { class: "absent" }, "✗ " + item.id + " " + words(item.verdict) + " here: “", item.literal, "”")),
  );
}

function row(r, names) {
  const same = r.kind === "equal";
  return el("div", { class: "row " + r.kind + (r.parts ? " parts" : "") },
    same ? cell(r.left, "Both") : [cell(r.left, names[0]), cell(r.right, names[1])]);
}

const sideKinds = { equal: "the same on both sides", differs: "different", only_left: "only on the left", only_right: "only on the right" };
const contextKinds = { equal: "the same in both", differs: "changed", only_left: "not kept", only_right: "only there" };

function segments(list, names, more, kinds) {
  return list.map((s) => {
    if (s.row) return row(s.row, names);
    const parts = Object.entries(s.fold.kinds).map(([kind, n]) => n.toLocaleString("en") + " " + kinds[kind]);
    const holder = el("div", { class: "fold" });
    const open = async () => {
      const answer = await ask("/api/rows?" + more + "&" + query({ from: s.fold.from, count: s.fold.count }));
      const nodes = segments(answer.segments, names, more, kinds);
      holder.replaceWith(...nodes);
      const next = nodes[0];
      if (next) { next.setAttribute("tabindex", "-1"); next.focus({ preventScroll: true }); }
    };
    holder.append(el("button", { type: "button", onclick: () => inTurn(open) }, "⋯ " + parts.join(", ")));
    return holder;
  });
}

const head = (a, b) => el("div", { class: "head", "aria-hidden": "true" }, el("div", {}, a), el("div", {}, b));

// ---- the list ----

const filters = () => Object.fromEntries(new FormData(byId("filters")));

// showProgress counts what is the reviewer's: decided by them, or open for them.
function showProgress(p) {
  const all = p.decided + p.open;
  byId("bar").max = Math.max(1, all);
  byId("bar").value = p.decided;
  const minutes = p.time.minutes < 1 ? "under a minute" : "about " + many(Math.round(p.time.minutes), "minute");
  const from = p.time.verdicts ? ", from " + many(p.time.verdicts, "verdict") : " (no verdicts yet: assuming 2 minutes each)";
  byId("done").replaceChildren(p.decided.toLocaleString("en") + " of " + all.toLocaleString("en") + " decided", el("span", { class: "estimate" }, p.open && ", " + minutes + " left" + from));
}

const tag = (label, extra) => el("span", { class: "tag " + (extra || "") }, label);

function tags(r) {
  return el("span", { class: "tags" },
    r.assigned && tag("yours"),
    r.mine && tag("you: " + r.mine, "mine"),
    r.remembered && tag("decided on " + r.remembered, "mine"),
    r.stale && tag("stale verdict: what it rests on has changed", "stale"),
    tag(r.state), r.cell && tag(r.cell), r.label && tag(r.label),
    r.classes.length > 0 && tag("lost: " + r.classes.map(words).join(", ")));
}

async function showList(focus) {
  await leave();
  const answer = await ask("/api/queue?" + query({ ...filters(), from: state.from }));
  state.matching = answer.matching;
  showProgress(answer.progress);
  const to = answer.from + answer.rows.length;
  byId("matching").textContent = answer.matching === 0 ? "No pair matches." :
    many(answer.matching, "pair") + (answer.rows.length < answer.matching ? ", " + (answer.from + 1) + " to " + to + " shown" : "");
  byId("rows").replaceChildren(...answer.rows.map((r) =>
    el("li", {}, el("a", { href: "#pair=" + encodeURIComponent(r.id) },
      el("span", { class: "name" }, r.name, el("span", { class: "soft" }, r.group && r.group !== r.name && " in " + r.group)), tags(r), r.title && el("span", { class: "title" }, r.title)))));
  byId("rows").start = answer.from + 1;
  byId("earlier").disabled = answer.from === 0;
  byId("later").disabled = to >= answer.matching;
  byId("list").hidden = false;
  byId("pair").hidden = true;
  byId("pair").replaceChildren();
  state.pair = null;
  document.title = "doubletake review";
  if (focus) byId("list-title").focus();
}

function step(by) {
  const links = [...byId("rows").querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by];
  if (next) return next.focus();
  const from = state.from + by * 100;
  if (from < 0 || from >= state.matching || at < 0) return undefined;
  state.from = from;
  return inTurn(async () => {
    await showList(false);
    const now = byId("rows").querySelectorAll("a");
    if (now.length) now[by > 0 ? 0 : now.length - 1].focus();
  });
}

// ---- a pair ----

function names(p) {
  if (!p.sides) return ["Left", "Right"];
  const role = (s) => p.sides.candidate === s ? " (candidate)" : " (baseline)";
  return ["Left: " + p.sides.left.arm + role("left"), "Right: " + p.sides.right.arm + role("right")];
}

function divergence(p) {
  const d = p.divergence;
  const title = el("h3", { id: "part-title" }, d ? "Where they part: turn " + d.turn + ", in " + d.kind : "They did and said the same");
  if (!d) return [title];
  const [a, b] = names(p);
  return [title, el("div", { class: "view", id: "part" }, head(a, b),
    el("div", { class: "row parts differs" }, d.left ? cell(d.left, a) : ended(a), d.right ? cell(d.right, b) : ended(b)))];
}

const ended = (side) => el("div", { class: "cell" }, el("p", { class: "by" }, el("span", { class: "side" }, side + ": "), "had ended"));

function checks(p) {
  const [a, b] = names(p);
  const side = (v, name) => el("div", { class: "cell" },
    el("p", { class: "by" }, el("span", { class: "side" }, name + ": "), v.answer ? el("span", { class: "answer " + v.answer }, v.answer) : "looks at"), text(v.evidence));
  return [el("h3", {}, "Checks"),
    p.blind && el("p", { class: "hint" }, "What the checks found on each side is shown after your verdict: it would lead you."),
    el("div", { class: "view" }, head(a, b), p.checks.map((c) => [
      el("p", { class: "ask" }, el("b", {}, c.check), c.item && " (item " + c.item + ")", " ", el("code", {}, c.asks), c.differs && tag("the sides differ")),
      el("div", { class: "row " + (c.differs ? "differs" : "same") }, side(c.left, a), side(c.right, b)),
    ]))];
}

function items(p) {
  const fate = (f) => [["left", f.left], ["right", f.right]].filter(([, v]) => v)
    .map(([s, v]) => tag(words(v) + " on the " + s + " after turn " + f.after_turn, v === "absent" || v === "contradicted" ? "mine" : ""));
  return [el("h3", {}, "What must survive"), el("ul", { class: "items" }, p.items.map((i) => el("li", {},
    el("b", {}, words(i.class) + " " + i.id), el("span", { class: "soft" }, ", turn " + i.turn, i.status && ", " + i.status), ": ", el("q", {}, i.literal),
    i.fates && el("p", { class: "tags" }, i.fates.map(fate))))),
  p.blind && el("p", { class: "hint" }, "What became of each item is shown after your verdict: it would say which side was compacted.")];
}

function transcript(p) {
  const [a, b] = names(p);
  return [el("h3", {}, "What each side did after the fork"),
    el("div", { class: "view", id: "transcript" }, head(a, b), segments(p.transcript, [a, b], query({ pair: p.row.id }), sideKinds))];
}

function contexts(p) {
  const holder = el("section", { id: "contexts", "aria-label": "Contexts" }, el("h3", {}, "The context that each side saw"));
  if (p.blind) {
    holder.append(el("p", { class: "hint" }, "The contexts show by themselves which side was compacted. They are open after your verdict."),
      el("button", { type: "button", "aria-keyshortcuts": "Shift+V", onclick: unblind }, el("kbd", {}, "Shift V"), " Name the sides now; my verdict will not count as blind"));
    return holder;
  }
  const views = [["recorded", p.sides.candidate, "the recording against the candidate"], ["recorded", p.sides.candidate === "left" ? "right" : "left", "the recording against the baseline"], ["left", "right", "left against right"]];
  const chooser = el("select", { id: "context-view" }, views.map((v, i) => el("option", { value: i }, v[2])));
  const shown = el("div", {});
  const show = () => inTurn(async () => {
    const [a, b] = views[chooser.value];
    const answer = await ask("/api/context?" + query({ pair: p.row.id, a, b }));
    if (state.pair !== p) return;
    shown.replaceChildren(...contextView(p, answer));
  });
  chooser.addEventListener("change", show);
  holder.append(el("p", {}, el("label", {}, "Show ", chooser)), shown);
  show();
  return holder;
}

function contextView(p, c) {
  const [a, b] = names(p);
  const named = { recorded: "As recorded", left: a, right: b };
  const title = (col) => named[col.side] + ", " + (col.missing ? col.missing : many(col.messages, "message") + ", " + many(col.bytes, "byte"));
  const columns = [named[c.left.side], named[c.right.side]];
  return [
    el("div", { class: "scroll" }, el("table", {}, el("caption", {}, "Items in these contexts"),
      el("thead", {}, el("tr", {}, ["item", ...columns].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, c.items.map((i) => el("tr", {}, el("th", { scope: "row" }, i.id + " (" + words(i.class) + ", turn " + i.turn + ")"), el("td", {}, words(i.left)), el("td", {}, words(i.right))))))),
    el("p", { class: "soft" }, title(c.left)), el("p", { class: "soft" }, title(c.right)),
    el("div", { class: "view" }, head(columns[0], columns[1]), segments(c.segments, columns, query({ pair: p.row.id, a: c.left.side, b: c.right.side }), c.left.side === "recorded" ? contextKinds : sideKinds)),
  ];
}

function cost(p) {
  if (!p.sides) return null;
  const [a, b] = names(p);
  const n = (v) => v.toLocaleString("en");
  const lines = [
    ["compactor", (s) => s.compactor || "none"],
    ["episode", (s) => words(s.status) + (s.end ? ", " + words(s.end) : "")],
    ["tokens of the whole prefix", (s) => n(s.prefix_tokens)],
    ["tokens of the context it went on from", (s) => n(s.context_tokens)],
    ["compactions", (s) => s.compactions.map((k) => "after turn " + k.after_turn + ": " + words(k.status) + ", " + n(k.tokens_before) + " to " + n(k.tokens_after) + " tokens").join("; ") || "none"],
    ["model answers", (s) => n(s.requests) + ", " + n(s.prompt_tokens) + " prompt and " + n(s.completion_tokens) + " completion tokens"],
    ["cost", (s) => s.requests === 0 ? "nothing" : s.cost_usd === null ? "not known: no price" : "$" + s.cost_usd.toFixed(4)],
  ];
  return [el("h3", {}, "Cost and size"), el("div", { class: "scroll" }, el("table", {}, el("caption", { class: "unseen" }, "Cost and size of each side"),
    el("thead", {}, el("tr", {}, ["", a, b].map((h) => h ? el("th", { scope: "col" }, h) : el("td", {})))),
    el("tbody", {}, lines.map(([name, of]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, of(p.sides.left)), el("td", {}, of(p.sides.right)))))))];
}

function told(p) {
  const open = unsaved(p) ? (p.mine ? " The note or severity is not saved yet: it is when you leave the field or the pair." : " The note and severity are kept for your verdict.") : "";
  if (!p.mine) return (p.blind ? "" : "No verdict of yours yet.") + open;
  const s = p.sides;
  return "Saved: " + p.mine.choice + (p.mine.severity ? ", " + p.mine.severity : "") + (p.mine.blind ? "" : " (not blind)") +
    (s ? ". Left was " + s.left.arm + ", right was " + s.right.arm + (s.cell ? ": a " + s.cell : "") + "." : ".") +
    (p.mine.remains ? " But " + p.mine.remains + "." : "") + open;
}

// remembered tells what an earlier night said of the disagreement: while the pair is
// blind only that it did.
function remembered(p) {
  const m = p.remembered;
  return el("div", { class: "memory" }, "The same disagreement was decided on an earlier night (" + m.run + ")",
    m.choice && [": ", el("b", {}, m.choice), m.severity && ", " + m.severity, m.by && " by " + m.by, m.note && ": “" + m.note + "”"], ". ",
    el("button", { type: "button", "aria-keyshortcuts": "y", onclick: () => decide({ remembered: true }) }, el("kbd", {}, "y"), p.blind ? " take that verdict unseen; it will not count as blind" : " the same again"));
}

const stale = (v) => el("p", { class: "memory stale" }, el("b", {}, "Stale: "), (v.mine ? "your verdict" : v.by ? v.by + "’s verdict" : "a verdict") +
  (v.choice ? " (" + v.choice + (v.note ? ": “" + v.note + "”" : "") + ", " + v.at.slice(0, 10) + ")" : "") + " does not count any more, because " + v.why + ".");

const differing = (p) => p.checks.filter((c) => c.differs);

function verdictForm(p) {
  const options = (list, chosen) => list.map(([value, label]) => el("option", { value, selected: value === chosen }, label));
  const others = (p.verdicts || []).filter((v) => !v.mine);
  const fields = state.drafts.get(p.row.id) || kept(p);
  const leaving = { oninput: () => retell(), onfocusout: () => inTurn(correct) };
  return el("section", { class: "verdict", "aria-labelledby": "verdict-title" },
    el("p", { class: "told" }, ""),
    el("div", { class: "line choices" }, el("h3", { id: "verdict-title", tabindex: "-1" }, "Verdict"),
      el("button", { type: "button", class: "menu", "aria-expanded": "false", onclick: unfold }, "Verdict ▴"),
      p.choices.map((c, i) => el("button", { type: "button", "data-choice": c.value, "aria-keyshortcuts": c.key + " " + (i + 1), "aria-pressed": String(Boolean(p.mine) && p.mine.choice === c.label), onclick: () => choose(c.value) }, el("kbd", {}, c.key), el("span", { class: "label" }, " " + c.label))),
      el("button", { type: "button", id: "next", "aria-keyshortcuts": "n", onclick: next }, el("kbd", {}, "n"), el("span", { class: "label" }, " next"))),
    el("div", { class: "line more" },
      differing(p).length > 1 && el("span", { id: "which-check", class: "group", role: "group", "aria-label": "Wrong checks", hidden: !(p.mine && p.mine.checks) },
        "Wrong:", differing(p).map((c) => el("label", {}, el("input", { type: "checkbox", name: "wrong-check", value: c.id, checked: !(p.mine && p.mine.checks) || p.mine.checks.includes(c.check), "aria-describedby": "which-hint", onkeydown: enter }), c.check)),
        el("button", { type: "button", id: "which", onclick: wrongChecks }, "these are wrong"), el("span", { id: "which-hint", class: "hint" }, "or Enter")),
      el("label", {}, el("span", {}, "Severity ", el("kbd", {}, "s")), el("select", { id: "severity", "aria-keyshortcuts": "s", ...leaving }, options([["", "none"], ["minor", "minor"], ["major", "major"], ["critical", "critical"]], fields.severity))),
      el("label", { class: "wide" }, el("span", {}, "Note ", el("kbd", {}, "a")), el("textarea", { id: "note", rows: "1", maxlength: "4000", "aria-keyshortcuts": "a", ...leaving }, fields.note)),
      p.disputed && el("label", {}, el("input", { type: "checkbox", id: "settles" }), "this settles the dispute"),
      el("span", { class: "group" },
        el("button", { type: "button", "aria-keyshortcuts": "u", onclick: undo }, el("kbd", {}, "u"), " undo"))),
    others.length > 0 && el("p", { class: "soft more" }, "Others: " + others.map((v) => v.by + ": " + v.choice + (v.note ? " (“" + v.note + "”)" : "")).join("; ")));
}

// unfold opens the bar of a small window, or folds it again to one row.
function unfold(event) {
  const opened = event.currentTarget.closest(".verdict").classList.toggle("opened");
  event.currentTarget.setAttribute("aria-expanded", String(opened));
}

// ---- notes and severities ----

// kept is what the reviewer's verdict holds; written is what stands in the fields.
const kept = (p) => ({ note: (p.mine && p.mine.note) || "", severity: (p.mine && p.mine.severity) || "" });
const written = () => ({ note: byId("note").value.trim(), severity: byId("severity").value });

function unsaved(p) {
  if (!p || !byId("note")) return false;
  const now = written(), held = kept(p);
  return now.note !== held.note.trim() || now.severity !== held.severity;
}

function retell() {
  const line = byId("pair").querySelector(".told");
  if (line && state.pair) line.textContent = told(state.pair);
}

// correct adds a line to the log where the note or the severity of a decided pair was
// changed; what was written on an undecided one waits for its verdict.
async function correct() {
  const p = state.pair;
  if (!p || !byId("note")) return;
  if (!unsaved(p)) { state.drafts.delete(p.row.id); return; }
  const sent = written();
  state.drafts.set(p.row.id, sent);
  if (!p.mine) return;
  const answer = await write(p, { corrects: true, ...sent });
  state.drafts.delete(p.row.id);
  if (state.pair !== p) return;
  // The fields stay as they are: somebody may be writing in them again.
  Object.assign(p, { mine: answer.mine, row: answer.row, verdicts: answer.verdicts, progress: answer.progress, last: answer.last });
  byId("pair").querySelector(".crumb .tags").replaceWith(tags(p.row));
  retell();
  hear(told(p));
}

// write sends a verdict, and with it on which line of the reviewer's it follows. Where
// another page of theirs was quicker the pair is shown as it is now.
async function write(p, what) {
  try {
    return await ask("/api/decide", { pair: p.row.id, last: p.last, ...what });
  } catch (error) {
    if (error.pair && state.pair === p) {
      if (unsaved(p)) state.drafts.set(p.row.id, written());
      draw(error.pair, "verdict-title");
    }
    throw error;
  }
}

// leave saves what is unsaved before the page goes on to something else.
const leave = () => correct();

window.addEventListener("beforeunload", (event) => {
  if (state.drafts.size > 0 || unsaved(state.pair)) event.preventDefault();
});
window.addEventListener("pagehide", () => { correct().catch(() => {}); });

// hear has a screen reader say what changed.
const hear = (what) => { byId("heard").textContent = what; };

// ---- drawing ----

function draw(p, focus) {
  state.pair = p;
  showProgress(p.progress);
  const at = window.scrollY;
  byId("pair").replaceChildren(
    el("p", { class: "crumb" }, el("a", { href: "#", "aria-keyshortcuts": "q" }, "All pairs"), tags(p.row)),
    el("h2", { id: "pair-title", tabindex: "-1" }, p.row.name),
    ...[p.row.title && el("p", { class: "title" }, p.row.title), p.remembered && !p.mine && remembered(p), ...(p.stale || []).map(stale)].filter(Boolean),
    ...divergence(p).concat(checks(p), items(p), transcript(p)).filter(Boolean),
    contexts(p), ...(cost(p) || []), verdictForm(p));
  byId("list").hidden = true;
  byId("pair").hidden = false;
  document.title = p.row.name + " in doubletake review";
  retell();
  if (focus) {
    window.scrollTo(0, at);
    // What had the focus is gone: go on from where it makes sense.
    byId(focus).focus({ preventScroll: true });
    hear(told(p));
    return;
  }
  hear("");
  state.seconds = 0;
  state.since = document.hidden ? 0 : performance.now();
  window.scrollTo(0, 0);
  byId("pair-title").focus({ preventScroll: true });
}

async function showPair(id) {
  await leave();
  try {
    draw(await ask("/api/pair?" + query({ pair: id })), "");
  } catch (error) {
    nowhere();
    throw error;
  }
}

// nowhere is what an address shows that leads to no pair: what stood there before would be
// taken for it, and decided.
function nowhere() {
  state.pair = null;
  byId("pair").replaceChildren(el("p", { class: "crumb" }, el("a", { href: "#", "aria-keyshortcuts": "q" }, "All pairs")), el("h2", { id: "pair-title", tabindex: "-1" }, "No such pair"));
  byId("list").hidden = true;
  byId("pair").hidden = false;
  document.title = "doubletake review";
  byId("pair-title").focus();
}

function looked() {
  return state.seconds + (state.since ? (performance.now() - state.since) / 1000 : 0);
}
document.addEventListener("visibilitychange", () => {
  state.seconds = looked();
  state.since = document.hidden ? 0 : performance.now();
});

function decide(what) {
  return inTurn(async () => {
    const p = state.pair;
    if (!p) return;
    const body = { seconds: Math.min(86400, looked()), ...written(), ...what };
    if (byId("settles") && byId("settles").checked) body.settles = true;
    const answer = await write(p, body); // on the disk once it is here
    state.drafts.delete(p.row.id);
    say("");
    draw(answer, "next");
  });
}

// choose is what a button or key of a choice does.
function choose(choice) {
  if (choice !== "check_wrong") return decide({ choice });
  const list = differing(state.pair);
  if (list.length === 1) return decide({ choice, checks: [list[0].id] });
  if (list.length === 0) return say("Not done: no check differs here.");
  byId("which-check").hidden = false;
  byId("which-check").querySelector("input").focus();
  return undefined;
}

function enter(event) {
  if (event.key !== "Enter") return;
  event.preventDefault();
  wrongChecks();
}

// wrongChecks decides that the checks that are ticked are wrong.
function wrongChecks() {
  const checks = [...byId("which-check").querySelectorAll("input:checked")].map((box) => box.value);
  if (checks.length === 0) return say("Tick the checks that are wrong, then press Enter.");
  return decide({ choice: "check_wrong", checks });
}

function undo() {
  return inTurn(async () => {
    const fields = state.pair && written();
    const open = unsaved(state.pair);
    const answer = await ask("/api/undo", {});
    say("");
    const here = state.pair && state.pair.row.id === answer.row.id;
    const noted = here ? fields : { note: answer.undone.note || "", severity: answer.undone.severity || "" };
    // What was noted waits for the next verdict, unless the one that stands again has a note.
    if ((noted.note || noted.severity) && (here && open || !answer.mine || !answer.mine.note && !answer.mine.severity)) state.drafts.set(answer.row.id, noted);
    if (here) return draw(answer, "verdict-title");
    location.hash = "#pair=" + encodeURIComponent(answer.row.id);
    return undefined;
  });
}

function unblind() {
  return inTurn(async () => {
    if (!state.pair || !state.pair.blind) return;
    await leave();
    draw(await ask("/api/unblind", { pair: state.pair.row.id }), "verdict-title");
  });
}

function move(fields) {
  return inTurn(async () => {
    await leave();
    const answer = await ask("/api/next?" + query({ ...filters(), after: state.pair ? state.pair.row.id : "", ...fields }));
    if (answer.id === null) {
      say("");
      if (state.pair) { history.pushState(null, "", "#"); await showList(true); }
      byId("matching").textContent = "Nothing is left to decide here.";
      return;
    }
    history.pushState(null, "", "#pair=" + encodeURIComponent(answer.id));
    say("");
    await showPair(answer.id);
  });
}
const next = () => move({});

// ---- keys ----

const keyHelp = [
  ["l / r", "left is worse / right is worse (with named sides: w candidate worse, b candidate better)"], ["f, x", "both fine, both wrong"],
  ["i, c, t", "fixture is wrong, check is wrong, can’t tell; where several checks differ, c goes to their boxes: Space ticks, and Enter decides"], ["1 to 7", "the same, in the order of the buttons"], ["y", "the same verdict as on an earlier night, which then is not blind"],
  ["s", "severity: none, minor, major, critical"], ["a", "write a note; Escape leaves it. On a decided pair a changed note or severity is saved when you leave the field or the pair"], ["u", "take your last verdict back; what you noted stays in its fields"],
  ["n", "next undecided pair"], ["j, k", "the pair after, the pair before; in the list: down, up"], ["d", "to where they part"], ["v", "to the contexts"],
  ["Shift V", "name the sides before the verdict, which then is not blind"], ["q", "back to the list"], ["?", "this help"],
];

function act(key) {
  if (key === "?") return byId("keys").showModal();
  if (key === "n") return next();
  if (key === "u") return undo();
  if (!state.pair) {
    if (key === "q") location.hash = "#";
    if (key === "j") return step(1);
    if (key === "k") return step(-1);
    return undefined;
  }
  const choice = state.pair.choices.find((c, i) => c.key === key || String(i + 1) === key);
  if (choice) return choose(choice.value);
  switch (key) {
    case "y": return state.pair.remembered && !state.pair.mine ? decide({ remembered: true }) : undefined;
    case "s": { const s = byId("severity"); s.selectedIndex = (s.selectedIndex + 1) % s.options.length; retell(); hear("Severity: " + (s.value || "none")); return undefined; }
    case "a": return byId("note").focus();
    case "j": return move({ any: 1 });
    case "k": return move({ any: 1, back: 1 });
    case "d": return byId("part-title").scrollIntoView();
    case "v": return byId("contexts").scrollIntoView();
    case "V": return unblind();
    case "q": location.hash = "#"; return undefined;
    default: return undefined;
  }
}

// ---- where we are ----

// named is the pair that an address names; what can't be read names none.
function named(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function route() {
  const hash = location.hash;
  return inTurn(async () => {
    say("");
    if (hash.startsWith("#pair=")) await showPair(named(hash.slice(6)));
    else if (hash !== "#main") await showList(true);
  });
}

byId("help").addEventListener("click", () => byId("keys").showModal());
singleKeys(keyHelp, act);
byId("filters").addEventListener("input", () => { state.from = 0; inTurn(() => showList(false)); });
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("earlier").addEventListener("click", () => { state.from = Math.max(0, state.from - 100); inTurn(() => showList(true)); });
byId("later").addEventListener("click", () => { state.from += 100; inTurn(() => showList(true)); });
window.addEventListener("hashchange", route);
route();
