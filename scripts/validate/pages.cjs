// Holds HTML files to html-validate, and Markdown files to it as a renderer of GitHub's
// kind shows them, of which tables and folded parts must come out as such:
//   node pages.cjs FILE...
"use strict";
const fs = require("fs");
const { HtmlValidate, FileSystemConfigLoader, formatterFactory } = require("html-validate");
const markdown = require("markdown-it")({ html: true });

const validator = new HtmlValidate(
  new FileSystemConfigLoader({
    root: true,
    extends: ["html-validate:standard", "html-validate:document", "html-validate:a11y"],
    rules: {
      "require-sri": "off", // the review page loads its own files from its own server
      "wcag/h32": "off", // its filters act at once, and have nothing to submit
    },
  }),
);

// render gives the page that a Markdown file becomes, and what is wrong with it.
function render(file) {
  const text = fs.readFileSync(file, "utf8");
  const body = markdown.render(text);
  const wrong = [];
  const count = (pattern, where) => (where.match(pattern) || []).length;
  const tables = count(/^\|(?:-+:?\|)+$|^\|(?::?-+:?\|)+$/gm, text);
  if (count(/<table>/g, body) !== tables) wrong.push(`${tables} tables are written, ${count(/<table>/g, body)} come out`);
  const folds = count(/<details>/g, text);
  if (count(/<details>/g, body) !== folds || count(/<\/details>/g, body) !== folds || count(/<summary>/g, body) !== folds) wrong.push("a folded part is not closed, or has no summary");
  if (/<p>\s*\|/.test(body) || /\n\|/.test(body)) wrong.push("a row of a table comes out as text");
  console.log(`${file}: ${tables} tables, ${folds} folded parts`);
  // A report stands in a page whose first heading is another's.
  return { page: `<!DOCTYPE html>\n<html lang="en"><head><title>report</title></head><body><h1>report</h1>\n${body}</body></html>\n`, wrong };
}

(async () => {
  let failed = false;
  for (const file of process.argv.slice(2)) {
    let page = fs.readFileSync(file, "utf8");
    if (file.endsWith(".md")) {
      const rendered = render(file);
      page = rendered.page;
      for (const text of rendered.wrong) {
        console.error(`${file}: ${text}`);
        failed = true;
      }
    }
    const report = await validator.validateString(page, file.replace(/\.md$/, ".html"));
    if (!report.valid) {
      failed = true;
      console.error(formatterFactory("text")(report.results));
    } else {
      console.log(`${file}: nothing found`);
    }
  }
  process.exit(failed ? 1 : 0);
})();
