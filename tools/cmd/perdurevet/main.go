// Perdurevet finds what workflow code must not do; see package determinism.
//
//	go -C tools install ./cmd/perdurevet   # in a checkout
//	go vet -vettool=$(which perdurevet) ./...
//
// It also runs by itself: perdurevet ./...
package main

import (
	"github.com/perdure/perdure/tools/determinism"
	"golang.org/x/tools/go/analysis/singlechecker"
)

func main() { singlechecker.Main(determinism.Analyzer) }
