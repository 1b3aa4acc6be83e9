package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
)

// One engine serves a file; the next one is told who has it.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	file := sqlite.File(filepath.Join(dir, "shop.db"))

	engine, err := file.Open(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	fmt.Println("first:", engine.Join(ctx, store.Node{ID: "n1", Name: "shop-1"}))

	rival, err := file.Open(ctx) // to look, to create runs, to post: always
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rival.Close()
	var inUse *store.InUseError
	fmt.Println("second refused:", errors.As(rival.Join(ctx, store.Node{ID: "n2"}), &inUse))

	fmt.Println("first leaves:", engine.Leave(ctx, "n1"))
	fmt.Println("second:", rival.Join(ctx, store.Node{ID: "n2"}))
	// Output:
	// first: <nil>
	// second refused: true
	// first leaves: <nil>
	// second: <nil>
}
