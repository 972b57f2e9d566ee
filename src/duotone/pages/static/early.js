// What was entered before the scripts were there, or what the browser put back by itself, is looked at too.
"use strict";

const entries = (form) => new URLSearchParams(new FormData(form)).toString();

addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[hx-trigger^=input]")) {
    const untouched = form.cloneNode(true);
    untouched.reset();
    if (entries(form) !== entries(untouched)) form.dispatchEvent(new Event("input", { bubbles: true }));
  }
});
