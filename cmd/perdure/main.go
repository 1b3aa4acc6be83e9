package main

import (
	"os"

	"github.com/perdure/perdure/cmd/perdure/internal/cli"
)

func main() { os.Exit(cli.Main()) }
