// Package openapi holds the HTTP API to its description: its test starts the command's
// server and lets a validator that others keep judge the document and the answers. It is in
// this module because users of perdure need no validator.
package openapi
