// Package param makes fields of structs into what people and programs give to a command or a
// list: flags and arguments of the command line, fields of bodies and addresses over HTTP, and
// fields of forms. Names, help and bounds stand once, in the tags of the field.
package param
