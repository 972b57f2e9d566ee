// What was entered before the scripts were there, or what the browser put back by itself, is looked at too. And a mistake
// goes when its field is mended; on the ask page, when the server finds none there any more.
"use strict";

const entries = (form) => new URLSearchParams(new FormData(form)).toString();

addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[hx-trigger^=input]")) {
    const untouched = form.cloneNode(true);
    untouched.reset();
    if (entries(form) !== entries(untouched)) form.dispatchEvent(new Event("input", { bubbles: true }));
  }
});

addEventListener("input", ({ target }) => {
  const slot = document.getElementById(target.getAttribute("aria-describedby")?.split(" ")[0]);
  if (!slot?.matches(".wrong") || target.form.matches("[hx-trigger^=input]")) return;
  slot.textContent = "";
  target.removeAttribute("aria-invalid");
});
