// Package see holds the sections of the documents to which errors lead. An error whose next
// step needs more than a line has one of these constants in its text, for which the word after
// "see" can be opened in a checkout, in the module cache and on the site of the repository.
//
// A text that workflow code gets, and makes again when it replays, has no address: the code may
// pass it on, and a renamed heading would then be another input. The one exception is a value that
// is too large, of which nobody else could say what to do: the heading of Limits keeps its name.
//
// docs/errors.md lists the texts by section. A test makes it, and holds each address to a
// heading and each constant to an error (internal/docs/errors_test.go).
package see
