package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestF11_WhatDiedIsToldFromWhatStopped: nodes by name, those that died first, and who is back.
func TestF11_WhatDiedIsToldFromWhatStopped(t *testing.T) {
	s, in := scene(t)
	join := func(id, name, build string, lease time.Duration) {
		s.Must(s.DB.Join(t.Context(), store.Node{ID: id, Name: name, Lease: lease, Build: build, Supersede: true}))
	}
	join("old", "old", "build-0", time.Hour)
	s.Must(s.DB.Leave(t.Context(), "old"))
	s.Pass(90 * time.Minute)
	for i := range 7 { // it dies again and again, and is restarted
		join(fmt.Sprint("web-", i), "web", "build-2", time.Hour)
		s.Pass(time.Second)
	}
	join("tidy", "tidy", "build-1", time.Hour)
	s.Must(s.DB.Leave(t.Context(), "tidy"))
	join("cut", "cut", "build-1", time.Minute)
	s.Pass(2 * time.Minute)
	attend(s, "w", "gpu", "render")
	status, _ := statusOf(t, in)
	var told []string
	for _, n := range status.Changes.Nodes {
		told = append(told, fmt.Sprint(n.Name, " died ", n.Died, " left ", n.Left, " live ", n.Live, " ", n.Build))
	}
	if want := []string{"web died 6 left 0 live true build-2", "cut died 1 left 0 live false build-1", "tidy died 0 left 1 live false build-1"}; !slices.Equal(told, want) {
		t.Errorf("the nodes are %q, not %q", told, want)
	}
	if c := status.Changes; c.Joined != 1 || c.Forgotten || !c.Since.Equal(s.Time().Add(-time.Hour)) {
		t.Errorf("the changes are %+v", c)
	}
	states := map[string]string{}
	nodes, err := in.Nodes(t.Context())
	s.Must(err)
	for _, n := range nodes {
		states[n.ID] = n.State
		if n.Gone() != (n.Ended != nil) {
			t.Errorf("%s is %s and ended %v", n.ID, n.State, n.Ended)
		}
	}
	for id, want := range map[string]string{"web-5": view.NodeDied, "web-6": view.NodeLive, "tidy": view.NodeLeft, "cut": view.NodeExpired} {
		if states[id] != want {
			t.Errorf("%s is %s, not %s", id, states[id], want)
		}
	}
	for i := range 120 {
		join(fmt.Sprint("again-", i), "web", "build-2", time.Hour)
	}
	if status, _ = statusOf(t, in); status.Changes.Nodes[0].Died < 90 || !status.Changes.Forgotten {
		t.Errorf("of many deaths it tells %+v", status.Changes)
	}
	for i := range 120 {
		join(fmt.Sprint("name-", i), fmt.Sprint("name-", i), "build-2", time.Hour)
		s.Must(s.DB.Leave(t.Context(), fmt.Sprint("name-", i)))
	}
	if c := mustStatus(t, in).Changes; len(c.Nodes) != changedNodes || c.MoreNodes < 80 || !c.Forgotten {
		t.Errorf("of many names it tells %d, and %d more; forgotten %v", len(c.Nodes), c.MoreNodes, c.Forgotten)
	}
}

func mustStatus(t *testing.T, in *Inspector) *view.Status {
	t.Helper()
	s, _ := statusOf(t, in)
	return s
}

// TestF11_BuildsSideBySideAreTold: since when each serves, by how many nodes.
func TestF11_BuildsSideBySideAreTold(t *testing.T) {
	s, in := scene(t)
	if b := mustStatus(t, in).Changes.Builds; b != nil {
		t.Errorf("of one build it tells %+v", b)
	}
	s.Pass(time.Minute)
	for _, id := range []string{"b", "c"} {
		s.Must(s.DB.Join(t.Context(), store.Node{ID: id, Name: id, Lease: time.Hour, Build: "build-2"}))
		s.Pass(time.Minute)
	}
	got := fmt.Sprint(mustStatus(t, in).Changes.Builds)
	if want := fmt.Sprint([]view.ServingBuild{{Build: "build-1", Nodes: 1, Since: roomtest.Began}, {Build: "build-2", Nodes: 2, Since: roomtest.Began.Add(time.Minute)}}); got != want {
		t.Errorf("the builds are %s, not %s", got, want)
	}
}

// TestF11_LostAttemptsAreAmongTheErrors: they ended with no error, and were told nowhere. Calls
// that are lost again soon are suspects.
func TestF11_LostAttemptsAreAmongTheErrors(t *testing.T) {
	s, in := scene(t)
	s.Define("order", charges(roomtest.Retry(retry.Policy{MaxAttempts: 3, CrashLimit: 5})))
	r := s.Begin("order", "order-17")
	s.Begin("order", "order-18")
	lose := func() { r.Step(core.TakenOver{}) }
	lose()
	s.Pass(90 * time.Minute)
	lose()
	if status := mustStatus(t, in); len(status.Changes.Suspects) != 0 {
		t.Errorf("after two losses long apart the suspects are %+v", status.Changes.Suspects)
	}
	s.Pass(time.Second)
	lose()
	status := mustStatus(t, in)
	if len(status.Errors) != 1 {
		t.Fatalf("the errors are %+v", status.Errors)
	}
	if e := status.Errors[0]; e.Outcome != view.OutcomeLost || e.Name != "charge" || e.Attempts != 2 || e.Before != 1 || e.Calls != 1 || e.ErrorType != "" || !e.Last.Equal(s.Time()) || e.Example.WorkflowID != "order-17" {
		t.Errorf("the lost attempts are %+v", e)
	}
	if got := fmt.Sprintf("%+v", status.Changes.Suspects); got != fmt.Sprintf("%+v", []view.Suspect{{Activity: "charge", Workflow: "order", Count: 1, WorkflowID: "order-17", RunID: r.ID, Call: 1}}) {
		t.Errorf("the suspects are %s", got)
	}
}

// TestF11_TheLastOperationsAreTold: on activities, builds, gates and schedules, latest first.
func TestF11_TheLastOperationsAreTold(t *testing.T) {
	s, in := scene(t)
	s.Define("bank", charges(roomtest.Through(spec.Spec{Name: "door", Limit: 1, Mode: spec.Hold})))
	pauseActivity(s, "long ago")
	s.Pass(2 * time.Hour)
	s.Begin("bank", "a")
	s.Serve()
	tellGate(s, core.ToGate{Word: core.GatePause})
	s.Pass(time.Minute)
	for i := range 6 {
		pauseActivity(s, fmt.Sprint("a", i))
		s.Pass(time.Second)
	}
	c := mustStatus(t, in).Changes
	var told []string
	for _, r := range c.Operations {
		told = append(told, strings.Join([]string{r.Operation, r.Kind, r.Name, r.By}, " "))
	}
	if want := []string{"pause activity a5 eve", "pause activity a4 eve", "pause activity a3 eve", "pause activity a2 eve", "pause activity a1 eve"}; !slices.Equal(told, want) || c.MoreOperations != 2 {
		t.Errorf("it tells %q and %d more", told, c.MoreOperations)
	}
	s.Pass(time.Hour - 7*time.Second)
	if c := mustStatus(t, in).Changes; len(c.Operations) != 5 || c.MoreOperations != 1 { // the gate's was a minute earlier
		t.Errorf("an hour later it tells %+v", c.Operations)
	}
}

// TestF11_PinnedRunsAreToldBeforeTheirBuildIsGone: while its last node drains, and once it is
// gone, before they are due; not while another node of the build stays.
func TestF11_PinnedRunsAreToldBeforeTheirBuildIsGone(t *testing.T) {
	s, in := scene(t)
	has := `{"workflows":[{"name":"letter","pinned":true}]}`
	join := func(id string) {
		s.Must(s.DB.Join(t.Context(), store.Node{ID: id, Name: "node-" + id, Lease: time.Hour, Build: "build-2", Definitions: has}))
	}
	join("two")
	s.Config = func(c *core.Config) { c.Build = "build-2" }
	s.Define("letter", charges(roomtest.Seconds(3)))
	s.Begin("letter", "first").Fails(1, "Busy", "no")
	s.Begin("letter", "second")
	s.Config = nil
	s.Begin("letter", "not pinned").Fails(1, "Busy", "no")
	waits := func() string {
		status := mustStatus(t, in)
		for _, w := range status.Waiting {
			if w.For == view.WaitBuild {
				return fmt.Sprintf("%d %s %s %s %v: %s; attention %v", w.Count, w.Name, w.Build, w.WorkflowID, w.Until != nil, w.Why, status.Attention)
			}
		}
		return fmt.Sprint("attention ", status.Attention)
	}
	if got := waits(); got != "attention false" {
		t.Errorf("while its node is there: %s", got)
	}
	_, err := s.DB.Renew(t.Context(), store.Renewal{Node: "two", Next: 7, Draining: true})
	s.Must(err)
	if got, want := waits(), "2 letter build-2 first true: it stays on build build-2, whose last node, node-two, is leaving; attention true"; got != want {
		t.Errorf("while it leaves: %s, not %s", got, want)
	}
	join("three")
	if got := waits(); got != "attention false" {
		t.Errorf("with another node: %s", got)
	}
	s.Must(s.DB.Leave(t.Context(), "three"))
	s.Must(s.DB.Leave(t.Context(), "two"))
	want := "2 letter build-2 first true: it stays on build build-2, which was seen last on the node node-three, 2027-01-15T08:00:00Z; attention true"
	if got := waits(); got != want {
		t.Errorf("once it is gone: %s, not %s", got, want)
	}
}
