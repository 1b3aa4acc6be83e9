// Package envelope defines the form of a document in the database that a codec has encoded.
//
// An envelope holds the codecs that encoded the document, their labels (such as the name of
// a key), where the document belongs, and its face: the document without its secrets. A
// program that cannot decode the document therefore still knows what happened, when and to
// which call. Of each value it knows only that there is one.
//
// A document without an envelope is JSON and begins with a brace. An envelope begins with a
// NUL, so the two cannot be confused.
package envelope
