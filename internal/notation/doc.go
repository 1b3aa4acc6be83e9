// Package notation lists the keys of retry policies in text: what may stand in a
// bracket, and what it means. Package retry parses and prints by the list; the help
// of the CLI and the pages in docs show it.
package notation
