package workflow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

var (
	Translate = activity.New("translate", func(ctx context.Context, page string) (string, error) {
		return strings.ToUpper(page), nil
	})
	Book = workflow.New("book", func(wf *workflow.Context, pages []string) (string, error) {
		title := workflow.Async(wf, Translate, "title") // begins now
		body, err := workflow.Map(wf, pages, func(wf *workflow.Context, page string) (string, error) {
			return workflow.Call(wf, Translate, page)
		}, workflow.Limit(4)) // four at a time
		if err != nil {
			return "", err
		}
		first, err := title.Get(wf)
		return first + ": " + strings.Join(body, ", "), err
	})
)

// Calls run at the same time.
func ExampleMap() {
	eng := open(memory.New(), Book, Translate)
	defer eng.Close()
	fmt.Println(perdure.Run(context.Background(), eng, Book, "book-1", []string{"one", "two", "three"}))
	// Output: TITLE: ONE, TWO, THREE <nil>
}
