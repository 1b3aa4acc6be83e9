package api

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// commentsFile has what the Go documentation says of the fields of results, which the OpenAPI
// document says as well. A test makes it from the source.
//
//go:embed comments.json
var commentsFile []byte

var comments = sync.OnceValue(func() (all map[string]string) {
	if err := json.Unmarshal(commentsFile, &all); err != nil {
		panic(err)
	}
	return all
})
