(() => {
  "use strict";
  const whole = [...document.querySelectorAll("details.whole")];
  const tools = document.getElementById("tools");
  const setAll = (open) => { for (const d of whole) d.open = open; };
  if (tools && whole.length > 1) {
    tools.hidden = false;
    document.getElementById("open-all").addEventListener("click", () => setAll(true));
    document.getElementById("close-all").addEventListener("click", () => setAll(false));
  }
  // A pair that is opened shows where its sides part.
  for (const d of whole) {
    d.querySelector("summary").addEventListener("click", () => requestAnimationFrame(() => {
      const parts = d.querySelector(".parts");
      if (!d.open || !parts) return;
      const room = window.innerHeight - parts.getBoundingClientRect().top;
      if (room < window.innerHeight / 3) parts.scrollIntoView({ block: "center" });
    }));
  }
  // A link to a pair opens it.
  const reveal = () => {
    const at = document.getElementById(location.hash.slice(1));
    const d = at && at.classList.contains("pair") && at.querySelector("details.whole");
    if (d) { d.open = true; at.scrollIntoView(); }
  };
  window.addEventListener("hashchange", reveal);
  reveal();
  // On paper nothing can be unfolded.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const d of folded) d.open = true;
  });
  window.addEventListener("afterprint", () => { for (const d of folded) d.open = false; });
})();
