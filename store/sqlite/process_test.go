package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
)

func TestE1_KillLosesNothingAcknowledged(t *testing.T) {
	path := t.TempDir() + "/test.db"
	acknowledged := int64(0)
	for life := range 4 {
		cmd, out := child(t, "commit", path)
		for range 10 + 13*life {
			n, err := strconv.ParseInt(line(t, out), 10, 64)
			if err != nil {
				t.Fatalf("the child said %q", out.Text())
			}
			acknowledged = n
		}
		kill(t, cmd)
		for out.Scan() { // said before it died
			acknowledged, _ = strconv.ParseInt(out.Text(), 10, 64)
		}
		s := open(t, sqlite.File(path))
		record, err := s.Load(t.Context(), 0, "eternal")
		if err != nil {
			t.Fatal(err)
		}
		durable := int64(len(record.Turns))
		if durable < acknowledged || durable%7 != 0 {
			t.Fatalf("life %d: %d turns were acknowledged in batches of 7, %d are there", life, acknowledged, durable)
		}
		for i, turn := range record.Turns {
			if turn.Number != int64(i+1) || string(turn.Events) != fmt.Sprint(turn.Number) {
				t.Fatalf("turn %d is %+v", i+1, turn)
			}
		}
		if record.Run.Wake != durable {
			t.Fatalf("the state is that of turn %d, the history that of turn %d", record.Run.Wake, durable)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLockSaysWhoHasItAndDiesWithItsProcess(t *testing.T) {
	path := t.TempDir() + "/test.db"
	cmd, out := child(t, "hold", path)
	if said := line(t, out); said != "holding" {
		t.Fatal(said)
	}
	s := open(t, sqlite.File(path))
	err := s.Join(t.Context(), store.Node{ID: "us"})
	var inUse *store.InUseError
	if !errors.As(err, &inUse) || store.Unavailable(err) {
		t.Fatalf("got %v, want an InUseError", err)
	}
	host, _ := os.Hostname()
	for _, fact := range []string{"holder", fmt.Sprint("process ", cmd.Process.Pid), host, "since 20", path} {
		if !strings.Contains(err.Error(), fact) {
			t.Errorf("the refusal does not say %q: %v", fact, err)
		}
	}
	// A client works beside the engine.
	if err := s.Create(t.Context(), newRun("a")); err != nil {
		t.Error(err)
	}
	live := func() bool {
		t.Helper()
		members, err := s.Nodes(t.Context())
		if err != nil || len(members) != 1 {
			t.Fatalf("the nodes are %+v, %v", members, err)
		}
		return members[0].Live
	}
	if !live() {
		t.Error("the engine is not shown as there")
	}
	kill(t, cmd)
	if live() {
		t.Error("the dead engine is shown as there")
	}
	if err := s.Join(t.Context(), store.Node{ID: "us"}); err != nil {
		t.Errorf("the lock of a dead process is still held: %v", err)
	}
	owned, err := s.Claim(t.Context(), "us", []int{0})
	if err != nil || owned[0].Epoch != 2 {
		t.Errorf("claimed %+v, %v; want epoch 2, after that of the dead process", owned, err)
	}
	owners, err := s.Owners(t.Context(), 0)
	if err != nil || len(owners) != 2 || owners[0].Node != "holder" || owners[0].Survived {
		t.Errorf("the owners are %+v, %v; want the first dead", owners, err)
	}
	members, err := s.Nodes(t.Context())
	if err != nil || len(members) != 2 || members[0].Live || members[0].Left == 0 || !members[1].Live {
		t.Errorf("the nodes are %+v, %v; want the first gone and the second there", members, err)
	}
}

func TestListenHearsAnotherProcess(t *testing.T) {
	path := t.TempDir() + "/test.db"
	s := open(t, sqlite.File(path))
	if err := s.Create(t.Context(), newRun("listener")); err != nil {
		t.Fatal(err)
	}
	before, err := s.Inbox(t.Context(), []int{0}, store.InboxRead{})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan struct{}, 1000)
	go s.Listen(t.Context(), func(store.News) { heard <- struct{}{} })
	_, out := child(t, "post", path)
	if said := line(t, out); said != "done" {
		t.Fatal(said)
	}
	timeout := time.After(20 * time.Second)
	for {
		select {
		case <-heard:
		case <-timeout:
			t.Fatal("nothing was heard of another process's post")
		}
		// What was heard before may be news of other things.
		inbox, err := s.Inbox(t.Context(), []int{0}, store.InboxRead{After: before[len(before)-1].Sequence})
		if err != nil {
			t.Fatal(err)
		}
		if len(inbox) == 1 && inbox[0].Key == "from another process" {
			return
		}
	}
}

func open(t *testing.T, opener store.Opener) store.Store {
	t.Helper()
	s, err := opener.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}
