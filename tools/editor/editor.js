// What ../../nvir/explore/static takes of CodeMirror and uPlot: the one place that names them.
export { EditorState, StateField, StateEffect, Compartment, RangeSet, Text, Transaction } from "@codemirror/state";
export {
  EditorView, Decoration, GutterMarker, ViewPlugin, WidgetType, gutter, keymap, lineNumbers,
  highlightActiveLine, highlightActiveLineGutter, drawSelection, highlightSpecialChars,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, syntaxHighlighting, bracketMatching } from "@codemirror/language";
export { highlightSelectionMatches, searchKeymap, search } from "@codemirror/search";
export { setDiagnostics, lintGutter, lintKeymap } from "@codemirror/lint";
export { unifiedMergeView } from "@codemirror/merge";
export { cppLanguage } from "@codemirror/lang-cpp";
export { tags } from "@lezer/highlight";
export { default as uPlot } from "uplot";
