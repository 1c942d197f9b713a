// The page builds everything from text nodes: nothing from a recording is ever parsed as
// markup, and the server's content-security policy forbids it besides.
"use strict";

const token = document.querySelector('meta[name="doubletake-token"]').content;
const byId = (id) => document.getElementById(id);

// el makes an element; attributes that are false or null are left out.
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return node;
}

async function ask(path, body) {
  // Each request shows whose page it comes from; keepalive lets it outlive the page.
  const options = body === undefined ? { headers: { "X-Doubletake-Token": token } } : {
    method: "POST", headers: { "Content-Type": "application/json", "X-Doubletake-Token": token }, body: JSON.stringify(body), keepalive: true,
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("the server does not answer: is doubletake still running?");
  }
  const answer = await response.json().catch(() => ({ error: "the server answered with no JSON (" + response.status + ")" }));
  if (!response.ok) throw Object.assign(new Error(answer.error || "refused (" + response.status + ")"), { pair: answer.pair });
  return answer;
}

const query = (fields) => new URLSearchParams(Object.entries(fields).filter(([, v]) => v !== "" && v !== null && v !== undefined)).toString();
const words = (text) => String(text).replaceAll("_", " ");
const many = (n, one) => n.toLocaleString("en") + " " + one + (n === 1 ? "" : "s");
const say = (text) => { byId("said").textContent = text; };

// Changes are made one after the other, in the order of the keys pressed.
let last = Promise.resolve();
function inTurn(action) {
  last = last.then(action).then(() => {}, (error) => say("Not done: " + error.message));
  return last;
}

// ---- texts ----

function pieces(list) {
  return (list || []).map((p) => {
    if (p.gap) return gapButton(p.gap);
    if (!p.mark) return document.createTextNode(p.text);
    const told = { kept: " [kept] ", lost: " [lost] ", stale: " [no longer holds] ", differs: "" }[p.mark];
    return el("mark", { class: p.mark }, told && el("span", { class: "unseen" }, told), p.text);
  });
}

function gapButton(gap) {
  const button = el("button", { type: "button", class: "gap" }, "… " + many(gap.bytes, "more byte") + " …");
  button.addEventListener("click", () => inTurn(async () => {
    const answer = await ask("/api/text?" + gap.query + "&" + query({ at: gap.at, bytes: gap.bytes }));
    const shown = el("span", { tabindex: "-1" }, pieces(answer.pieces));
    button.replaceWith(shown);
    shown.focus({ preventScroll: true });
  }));
  return button;
}

const text = (list, extra) => list && list.length ? el("div", { class: "text " + (extra || "") }, pieces(list)) : null;

// ---- keys ----

// singleKeys lets single keys act, unless that was turned off or something is written,
// and lists them in the help.
function singleKeys(help, act) {
  byId("key-list").append(...help.flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)]));
  const single = byId("single");
  single.checked = localStorage.getItem("doubletake-single-keys") !== "off";
  single.addEventListener("change", () => localStorage.setItem("doubletake-single-keys", single.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, dialog");
    if (event.key === "Escape" && typing && typing.tagName !== "DIALOG" && !typing.closest("dialog")) typing.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing || !single.checked) return;
    if (!/^[a-zA-Z0-9?]$/.test(event.key)) return;
    event.preventDefault();
    // Shift makes a capital letter, and Caps Lock none.
    const key = event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase();
    last.then(() => act(key)); // what comes while a change is being saved waits for it
  });
}
