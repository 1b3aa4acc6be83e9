// Command site makes a static site of the documents of this repository.
//
//	go -C tools run ./site -out ../site
//
// Every Markdown file of the root, of docs and of the examples becomes a page; links
// between them become links between pages, and links to other files lead to the
// repository. Links that lead nowhere, and anchors that no heading has, are errors. The
// Markdown is rendered by goldmark, as a repository's pages usually are; nothing on a
// page is loaded from elsewhere.
package main
