// Package errname is the table of error names of a process: the sentinels and
// error types that retry.RegisterError and retry.RegisterErrorType name.
//
// Package retry finds the type name of an error in it. The codec of history also
// goes back from a name to the sentinel, or to a new value of the type. Errors on record
// are trees; history and its readers search them in one way.
package errname
