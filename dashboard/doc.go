// Package dashboard serves web pages to inspect and operate the workflows of an engine.
//
// A request runs through three steps. A row of the table of pages (pages.go) says what
// the page is called, where it stands in the menu and whether it changes something. Its
// function reads the engine by the public verbs (perdure and ops) and returns a view
// model, a struct of texts, times and links. The template of the page turns that into
// HTML inside the layout that all pages share.
//
// What holds for every page is in one place each:
//
//   - All pages are in one directory, and all links are relative. So the handler works
//     under any prefix and behind any proxy without being told.
//   - Texts of users are text nodes or attributes, never markup; and what is written
//     passes escape.go, which makes control characters and those that turn the direction
//     of writing visible. Long texts are folded, and the whole is a page of plain text.
//   - A page works without its script. The script fetches the page again and changes
//     what is different, counts down, and says how old the page is.
//   - What changes something is a form of its own (operate.go) that first says what it
//     will do; it is sent by POST with the key of the request, so sending it twice does
//     it once.
package dashboard
