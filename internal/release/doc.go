// Command release builds the archives of a version: the command perdure for every
// system, and their checksums.
//
//	git tag v0.1.0
//	go run ./internal/release -out dist
//
// The build is reproducible: a checkout of the tag with the same version of Go
// gets the same bytes, wherever the checkout is. So binaries are built without cgo, paths
// and build IDs, and archives have the time of the commit and nobody's name. The version
// that the command shows is the tag, which go build records.
package main
