package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"testing"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
)

// Some tests need a second process: this test binary once more, told by its
// environment to play a part instead of running tests.
const partVariable, pathVariable = "PERDURE_TEST_PART", "PERDURE_TEST_PATH"

var parts = map[string]func(ctx context.Context, s store.Store) error{
	"commit": commitForEver,
	"hold":   holdTheLock,
	"post":   postOnce,
	"open":   readAndWrite,
}

// readAndWrite reads what there is, and returns the error of writing.
func readAndWrite(ctx context.Context, s store.Store) error {
	if _, err := s.List(ctx, store.Filter{Partitions: []int{0}}); err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	return s.Post(ctx, store.Message{WorkflowID: "w", Key: "k", Kind: "signal"})
}

func TestMain(m *testing.M) {
	part, ok := parts[os.Getenv(partVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	s, err := sqlite.File(os.Getenv(pathVariable)).Open(ctx)
	if err == nil {
		err = part(ctx, s)
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("done")
}

// child starts a part. Its lines come through the scanner; it is killed, if it
// still lives, when the test ends.
func child(t *testing.T, part, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return childOf(t, self, part, path, nil)
}

func childOf(t *testing.T, binary, part, path string, prepare func(*exec.Cmd)) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), partVariable+"="+part, pathVariable+"="+path)
	cmd.Stderr = os.Stderr
	if prepare != nil {
		prepare(cmd)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

// kill is kill -9, and waits until the process is gone.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
}

// line reads what a child says next.
func line(t *testing.T, out *bufio.Scanner) string {
	t.Helper()
	if !out.Scan() {
		t.Fatalf("the child process ended: %v", out.Err())
	}
	return out.Text()
}

// serve joins and claims the partition.
func serve(ctx context.Context, s store.Store, node string) (epoch int64, err error) {
	if err := s.Join(ctx, store.Node{ID: node, Name: node}); err != nil {
		return 0, err
	}
	owned, err := s.Claim(ctx, node, []int{0})
	if err != nil {
		return 0, err
	}
	return owned[0].Epoch, nil
}

// commitForEver commits batches and says after each which turn is durable.
func commitForEver(ctx context.Context, s store.Store) error {
	epoch, err := serve(ctx, s, fmt.Sprint("child-", os.Getpid()))
	if err != nil {
		return err
	}
	runs, err := s.List(ctx, store.Filter{Limit: 1})
	if err != nil {
		return err
	}
	run := newRun("eternal")
	number := int64(1)
	if len(runs) > 0 {
		record, err := s.Load(ctx, 0, run.ID)
		if err != nil {
			return err
		}
		number = int64(len(record.Turns)) + 1
	}
	for {
		var turns []store.Turn
		for range 7 {
			t := store.Turn{Epoch: epoch, Run: run.ID, Number: number, CommitID: number, Events: fmt.Append(nil, number),
				State: &store.RunState{Status: store.Running, Wake: number}}
			if number == 1 {
				t.Create = &run
			}
			turns = append(turns, t)
			number++
		}
		if err := commit(ctx, s, turns...); err != nil {
			return err
		}
		fmt.Println(number - 1)
	}
}

func holdTheLock(ctx context.Context, s store.Store) error {
	if _, err := serve(ctx, s, "holder"); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	fmt.Println("holding")
	<-ctx.Done()
	return ctx.Err()
}

func postOnce(ctx context.Context, s store.Store) error {
	return s.Post(ctx, store.Message{WorkflowID: "workflow-listener", Key: "from another process"})
}

func newRun(id string) store.Run {
	return store.Run{ID: id, WorkflowID: "workflow-" + id, Type: "test", Chain: id, Attempt: 1, RunState: store.RunState{Status: store.Running}}
}

// commit commits turns and answers the first error of any of them.
func commit(ctx context.Context, s store.Store, turns ...store.Turn) error {
	result, err := s.Commit(ctx, turns)
	if err != nil {
		return err
	}
	for _, err := range result.Errors {
		if err != nil {
			return err
		}
	}
	return nil
}
