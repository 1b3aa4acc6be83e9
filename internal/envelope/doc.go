// Package envelope is the form of a document in the database that a codec has encoded.
//
// An envelope says which codecs encoded the document and with which labels (the name of a
// key, say), where the document belongs, and shows its face: the document without what is
// secret in it. So a program that cannot decode it still knows what happened, when and to
// which call, and says of each value only that there is one.
//
// A document without an envelope is JSON and begins with a brace. An envelope begins with a
// NUL, so none is taken for the other.
package envelope
