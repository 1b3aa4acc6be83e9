package workflow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Import reads files one after the other, and says how far it is.
var (
	Progress = workflow.NewQuery[struct{}, string]("progress")
	Import   = workflow.New("import", func(wf *workflow.Context, files []string) (int, error) {
		done := 0
		workflow.HandleQuery(wf, Progress, func(struct{}) (string, error) {
			return fmt.Sprintf("%d of %d", done, len(files)), nil
		})
		for range files {
			if err := workflow.DoErr(wf, "read", func(ctx context.Context) error {
				return nil // ordinary Go: opens a file, stores its rows
			}); err != nil {
				return done, err
			}
			done++
		}
		return done, nil
	})
)

// A query reads variables of the code, also when the run has ended.
func ExampleHandleQuery() {
	ctx := context.Background()
	eng := open(memory.New(), Import)
	defer eng.Close()
	if _, err := perdure.Run(ctx, eng, Import, "import-1", []string{"a.csv", "b.csv"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(Progress.Ask(ctx, eng.Workflow("import-1"), struct{}{}))
	// Output: 2 of 2 <nil>
}
