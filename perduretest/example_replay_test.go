package perduretest_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/workflow"
)

// The history of an order that was placed last week does not fit code that reminds
// the customer before it charges the card.
func ExampleReplay() {
	recorded, err := os.ReadFile("testdata/order-17.json") // perdure history order-17 --record
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(perduretest.Replay(recorded, checkout))

	changed := checkout.Impl(func(wf *workflow.Context, o order) (string, error) {
		if _, err := workflow.Call(wf, remind, o.ID); err != nil {
			return "", err
		}
		return workflow.Call(wf, charge, o)
	})
	var difference *perduretest.Difference
	if err := perduretest.Replay(recorded, changed); errors.As(err, &difference) {
		fmt.Println(difference)
	}
	// Output:
	// <nil>
	// the code does not fit the history: turn 1, command 1: history has ActivityScheduled "charge", the code asks for ActivityScheduled "remind" (the name differs) (see docs/deploying.md#changes-that-do-not-fit)
}

// Each history that is kept beside the tests must fit the code, whoever changes it.
func TestExampleReplayAll(t *testing.T) {
	files, err := filepath.Glob("testdata/order-*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no histories", err)
	}
	for _, file := range files {
		recorded, err := os.ReadFile(file)
		if err == nil {
			err = perduretest.Replay(recorded, checkout)
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
