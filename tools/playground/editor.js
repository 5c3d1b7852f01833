// The editor of stream programs: CodeMirror, with the language's words and the errors of its lines. `fetch-shim` bundles it.

import { autocompletion, completeFromList } from "@codemirror/autocomplete";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { basicSetup, EditorView } from "codemirror";
import { tags } from "@lezer/highlight";

const KEYWORDS = /^(?:let|stream|blocking|event|timed|device|pinned|pageable|for|in|graph)\b/;
const language = StreamLanguage.define({
  token(stream) {
    if (stream.match(/^\/\/.*/)) return "comment";
    if (stream.match(KEYWORDS)) return "keyword";
    if (stream.match(/^\d[\d_]*(?:\.\d+)?/)) return "number";
    if (stream.match(/^[A-Za-z_]\w*(?=<<<|\()/)) return "function";
    if (stream.match(/^[A-Za-z_]\w*/)) return "variableName";
    stream.next();
    return null;
  },
  tokenTable: { function: tags.function(tags.variableName) },
  languageData: { commentTokens: { line: "//" } },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--quiet)" },
  { tag: tags.keyword, color: "var(--h2d)", fontWeight: "600" },
  { tag: tags.number, color: "var(--d2h)" },
  { tag: tags.function(tags.variableName), color: "var(--kernel)" },
]);

// The words of the language, and the names that the program declares.
function completions(words) {
  const known = completeFromList(words.filter(({ word }) => !word.startsWith(".")).map((word) => option(word)));
  return (context) => {
    const call = context.matchBefore(/\.\w*/);
    if (call) {
      const calls = words.filter(({ word }) => word.startsWith("."));
      return { from: call.from + 1, options: calls.map((word) => option(word, word.word.slice(1))) };
    }
    const word = context.matchBefore(/\w+/);
    if (!word && !context.explicit) return null;
    const text = context.state.doc.toString();
    const declared = text.matchAll(/^\s*(?:let|stream|event|device|pinned|pageable|graph|timed event|blocking stream)\s+(.*)/gm);
    const names = [...declared].flatMap(([, rest]) => rest.match(/[A-Za-z_]\w*(?=[^\]]*(?:\[|$|,|=))/g) ?? []);
    const own = [...new Set(names)].map((name) => ({ label: name, type: "variable" }));
    const listed = known(context);
    return { from: word?.from ?? context.pos, options: [...own, ...(listed?.options ?? [])], validFor: /^\w*$/ };
  };
}

function option({ word, form, does }, label = word) {
  return { label, detail: form, info: does, type: word.startsWith(".") ? "method" : "keyword" };
}

// `errors(text)` resolves to what is wrong, as {line, message}; `changed(text)` is called behind each change.
export function editor(parent, { words, errors, changed }) {
  const lint = linter(async (view) => {
    const { doc } = view.state;
    const found = await errors(doc.toString());
    return found.map(({ line, message }) => {
      const { from, to } = doc.line(Math.min(line, doc.lines));
      return { from, to, severity: "error", message };
    });
  });
  const listener = EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString()));
  const label = EditorView.contentAttributes.of({ "aria-label": "Stream program" });
  const extensions = [basicSetup, language, syntaxHighlighting(colours), lintGutter(), lint, listener, label];
  extensions.push(autocompletion({ override: [completions(words)] }));
  const view = new EditorView({ parent, state: EditorState.create({ extensions }) });
  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    focus(line) {
      const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines));
      view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
      view.focus();
    },
  };
}
