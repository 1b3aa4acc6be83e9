// Package dashboard serves web pages to inspect and operate the workflows of an engine.
//
// A request passes three steps. A row of the table of pages (pages.go) defines the page's
// name, its place in the menu and whether it changes something. The row's function reads
// the engine through the public verbs (perdure and ops) and returns what the page shows: values
// of package view, and texts and links that are computed of them. The page's template turns that
// into HTML inside the layout that all pages share, with functions that format (text.go).
//
// What applies to every page is in one place each:
//
//   - All pages are in one directory, and all links are relative. The handler therefore
//     works under any prefix and behind any proxy without configuration.
//   - Texts of users are text nodes or attributes, never markup. Everything that is written
//     passes visible (text.go), which makes control characters and those that change the
//     direction of writing visible. Long texts are folded; a page of plain text has the
//     whole.
//   - A page works without its script. The script fetches the page again and changes the
//     differences, counts down, and shows how old the page is.
//   - Every change is a form of its own (confirm.go) that first says what it will do. It is
//     sent by POST with the request's idempotency key, so sending it twice does it once.
package dashboard
