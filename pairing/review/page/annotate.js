"use strict";

const state = { step: null, adding: false, from: 0 };
const form = byId("item");

function showMessages(list) {
  byId("messages").replaceChildren(...list.map((m) => el("div", { class: "row" }, el("div", { class: "cell wide" },
    el("p", { class: "by" }, el("b", {}, m.role), ", turn " + m.turn), text(m.text)))));
}

function fill(item) {
  for (const name of ["turn", "class", "literal", "probe", "expect"]) form.elements[name].value = item[name] ?? "";
}

function draw(answer, focus) {
  const { step, counts } = answer;
  state.step = step;
  state.adding = false;
  byId("bar").max = Math.max(1, counts.proposed);
  byId("bar").value = step ? step.number - 1 : counts.proposed;
  byId("done").textContent = counts.confirmed + " confirmed, " + counts.rejected + " rejected of " + counts.proposed + "; " + counts.added + " added, " + many(counts.checks, "check");
  for (const id of ["yes", "no", "edit", "more"]) byId(id).disabled = !step;
  byId("undo").disabled = false;
  form.hidden = !step || Boolean(step.check);
  byId("check").hidden = !step || !step.check;
  if (!step) {
    byId("title").textContent = "All is decided";
    byId("why").textContent = "Write the fixture, or add an item that was not proposed.";
    byId("messages").replaceChildren();
  } else {
    byId("title").textContent = (step.check ? "A check for the " : "A ") + words(step.item.class) + " of turn " + step.item.turn + "? " + step.number + " of " + step.of;
    byId("why").textContent = step.check ? "It guards: " + step.item.literal : "Why: " + step.why;
    byId("check").textContent = step.check || "";
    state.from = Math.max(1, step.item.turn - 1);
    showMessages(step.messages);
    fill(step.item);
    form.elements.turn.readOnly = true;
  }
  byId("told").textContent = answer.wrote ? "Written to " + answer.wrote : "";
  say("");
  if (focus) byId("title").focus({ preventScroll: true });
}

const item = () => {
  const f = Object.fromEntries(new FormData(form));
  return { turn: Number(f.turn) || 0, class: f.class, literal: f.literal.replaceAll("\r\n", "\n"), probe: f.probe, expect: f.expect };
};

const send = (path, body) => inTurn(async () => draw(await ask(path, body()), true));

const actions = {
  y: () => state.adding ? send("/api/add", () => ({ item: item() })) : state.step && send("/api/confirm", () => ({ id: state.step.id, item: item() })),
  n: () => state.adding ? inTurn(async () => draw(await ask("/api/step"), true)) : state.step && send("/api/reject", () => ({ id: state.step.id })),
  e: () => { if (!form.hidden) form.elements.literal.focus(); },
  // What is selected on the page becomes the literal of the new item.
  a: () => {
    const selected = String(getSelection());
    state.adding = true;
    form.hidden = false;
    byId("check").hidden = true;
    byId("yes").disabled = byId("no").disabled = byId("edit").disabled = false;
    fill({ turn: state.step ? state.step.item.turn : "", class: "constraint", literal: selected, probe: "", expect: "yes" });
    form.elements.turn.readOnly = false;
    byId("title").textContent = "An item of your own";
    byId("why").textContent = "Confirm adds it, reject leaves it.";
    form.elements[selected ? "probe" : "literal"].focus();
  },
  c: () => state.step && inTurn(async () => {
    state.from = Math.max(1, state.from - 4);
    showMessages((await ask("/api/messages?" + query({ from: state.from, to: state.step.item.turn }))).messages);
  }),
  u: () => send("/api/undo", () => ({})),
  w: () => send("/api/write", () => ({})),
  "?": () => byId("keys").showModal(),
};

for (const [id, key] of [["yes", "y"], ["no", "n"], ["edit", "e"], ["add", "a"], ["more", "c"], ["undo", "u"], ["write", "w"], ["help", "?"]])
  byId(id).addEventListener("click", () => actions[key]());

singleKeys([
  ["y", "confirm the item or check as it stands in the form"], ["n", "reject it"], ["e", "edit the item; Escape leaves the field"],
  ["a", "add an item; text selected on the page becomes its literal"], ["c", "more of what came before"], ["u", "take the last decision back"], ["w", "write the fixture"], ["?", "this help"],
], (key) => actions[key]?.());
form.addEventListener("submit", (event) => event.preventDefault());
inTurn(async () => draw(await ask("/api/step"), true));
