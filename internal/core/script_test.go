package core_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// TestScripts plays the scripts in testdata/scripts. A script is a sequence of
// commands, one a line, each followed by what it made the machine say, indented.
// After every step the driver also compares the machine with one made from the
// records (I5). Words of commands:
//
//	start NAME [input=JSON] [attempts=N [within=DURATION]] [run=DURATION] [chain=DURATION] [parent=CALL [detached]]
//	                          make the run of a workflow of programs_test.go, with a
//	                          policy for its failures, and so much time for each run
//	                          and for all of them, perhaps as a child
//	next                      the run begins for which the last turn closed one
//	step                      take a step without inputs
//	complete CALL[.ATTEMPT] [result=JSON] [transaction]
//	fail CALL[.ATTEMPT] [type=T] [message=M] [terminal] [after=DURATION] [declined] [canceled]
//	timeout CALL[.ATTEMPT]    the attempt ran too long
//	hand CALL[.ATTEMPT]       it goes on outside; "complete" and "fail" are said
//	                          there with the word "outside"
//	drain CALL[.ATTEMPT]      its process shuts down
//	beat CALL[.ATTEMPT] [details=JSON]  a heartbeat
//	grant CALL                a slot came free
//	trust CALL[.ATTEMPT]      it has run long enough to leave the probation lane
//	signal NAME [value=JSON] [id=ID]
//	update NAME ID [value=JSON] [asker=NAME]
//	cancel, terminate [reason=R] [chain=RUN]
//	child CALL STATUS [result=JSON] [run=RUN] [declined]
//	                          what became of a run that the call had started; one that
//	                          failed did so with an error as of fail
//	crash [code=NAME|none]    the process dies; another loads the run and takes over
//	evict [code=NAME|none]    the machine is dropped and loaded again
//	retry-now, skip, fail-now, pause, unpause, edit [CALL] [name=N] [id=ID] [why=W]
//	                          what a person does to calls
//	pause-run, resume-run, cancel-run, terminate-run, signal-run [name=N] [value=JSON] [id=ID] [why=W]
//	                          what a person does to the run
//	told CALL[.ATTEMPT]       the hook has told that the call waits for a person
//	hold STATUS, resume       the status of a run without code
//
// Any command that is an input can be written after "+": it then waits for the
// next step. All take now=DURATION (since the beginning) or now=+DURATION, and
// slots=N, which is how many attempts may start. An input takes at=DURATION, its moment, which else is now.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			have, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := playScript(t, string(have))
			goldenfile.Compare(t, path, want)
		})
	}
}

// playScript returns the script with the output of a fresh run.
func playScript(t *testing.T, text string) string {
	var out bytes.Buffer
	p := &player{t: t}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue // output of an earlier run
		}
		fmt.Fprintln(&out, strings.TrimRight(line, " "))
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		for said := range strings.Lines(p.play(words)) {
			fmt.Fprint(&out, "  ", said)
		}
	}
	return out.String()
}

// player is the state of one script.
type player struct {
	t       *testing.T
	d       *driver
	next    *history.Start // of the last turn
	pending []core.Input
}

// arguments are the words of a command after the verb.
type arguments struct {
	t     *testing.T
	words []string
	named map[string]string
}

func parseArguments(t *testing.T, words []string) *arguments {
	a := &arguments{t: t, named: map[string]string{}}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			a.named[name] = strings.ReplaceAll(value, "_", " ")
		} else {
			a.words = append(a.words, w)
		}
	}
	return a
}

func (a *arguments) word(i int) string {
	if i >= len(a.words) {
		a.t.Fatalf("argument %d is missing", i+1)
	}
	return a.words[i]
}

func (a *arguments) flag(name string) bool {
	return slices.Contains(a.words, name)
}

func (a *arguments) number(name string) int {
	n, _ := strconv.Atoi(a.named[name])
	return n
}

func (a *arguments) duration(name string) time.Duration {
	d, err := time.ParseDuration(a.named[name])
	if err != nil {
		a.t.Fatal(err)
	}
	return d
}

// timed gives an input its moment: the one that the command names, or now.
func (a *arguments) timed(in core.Input, now int64) core.Input {
	at := now
	if _, is := a.named["at"]; is {
		at = beginning + int64(a.duration("at"))
	}
	switch in := in.(type) {
	case core.AttemptEnded:
		in.Ended = at
		return in
	case core.Control, core.UpdateArrived, core.FromChild:
		return core.Timed{Input: in, At: at}
	}
	return in
}

func (a *arguments) payload(name string) history.Payload {
	text, ok := a.named[name]
	if !ok {
		return history.Payload{}
	}
	p, err := history.Encode(json.RawMessage(text))
	if err != nil {
		a.t.Fatal(err)
	}
	return p
}

// play plays one command and returns its output.
func (p *player) play(words []string) string {
	p.t.Helper()
	verb, later := strings.CutPrefix(words[0], "+")
	a := parseArguments(p.t, words[1:])
	switch verb {
	case "start":
		p.start(a)
	case "next":
		p.startNext()
	}
	if now, ok := a.named["now"]; ok {
		p.advance(now)
	}
	switch verb {
	case "start", "next", "step":
		return p.step(a)
	case "crash", "evict":
		return p.reload(verb, a)
	case "hold":
		p.d.run.Hold(core.Status(a.word(0)), core.Detail{})
		return p.step(a)
	case "resume":
		p.d.run.Resume()
		return p.step(a)
	}
	now := beginning
	if p.d != nil {
		now = p.d.now
	}
	p.pending = append(p.pending, a.timed(p.input(verb, a), now))
	if later {
		return ""
	}
	return p.step(a)
}

func (p *player) start(a *arguments) {
	p.d = newDriver(p.t, programOf(p.t, a.word(0)), nil)
	p.d.start.Input = a.payload("input")
	if n, ok := a.named["attempts"]; ok {
		attempts, err := strconv.Atoi(n)
		if err != nil {
			p.t.Fatal(err)
		}
		policy := exact(attempts)
		if _, ok := a.named["within"]; ok {
			policy.Within = a.duration("within")
		}
		p.d.start.Retry = &policy
	}
	if _, ok := a.named["run"]; ok {
		p.d.start.RunTimeout = a.duration("run")
	}
	if _, ok := a.named["chain"]; ok {
		p.d.start.ChainTimeout = a.duration("chain")
		p.d.start.ChainDeadline = beginning + int64(p.d.start.ChainTimeout)
	}
	if call, ok := a.named["parent"]; ok {
		p.d.start.Parent = &history.Parent{WorkflowID: "above", Run: "r0", Call: p.ref(call).Call, Detached: a.flag("detached")}
	}
	p.d.drop()
	p.d.run, p.d.instance = p.d.build(p.d.code)
}

// startNext makes the run that the last turn asks for. Nothing is left of the one
// before but that.
func (p *player) startNext() {
	if p.next == nil {
		p.t.Fatal("no run is to follow")
	}
	before := p.d
	p.d = newDriver(p.t, before.code, nil)
	p.d.start, p.d.now = *p.next, before.now
	p.next = nil
	p.d.drop()
	p.d.run, p.d.instance = p.d.build(p.d.code)
}

func (p *player) advance(now string) {
	relative, isRelative := strings.CutPrefix(now, "+")
	d, err := time.ParseDuration(relative)
	if err != nil {
		p.t.Fatal(err)
	}
	if isRelative {
		p.d.now += int64(d)
	} else {
		p.d.now = beginning + int64(d)
	}
}

func (p *player) step(a *arguments) string {
	p.t.Helper()
	slots := 1 << 30
	if s, ok := a.named["slots"]; ok {
		var err error
		if slots, err = strconv.Atoi(s); err != nil {
			p.t.Fatal(err)
		}
	}
	inputs := p.pending
	p.pending = nil
	turn, err := p.d.step(inputs, func(*core.Call) bool {
		slots--
		return slots >= 0
	})
	if err != nil {
		return firstLine(err)
	}
	p.next = turn.Next
	return renderTurn(turn, inputs...)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return "error: " + line + "\n"
}

func (p *player) reload(verb string, a *arguments) string {
	c := p.d.code
	if name, ok := a.named["code"]; ok {
		c = programOf(p.t, name)
	}
	if verb == "evict" {
		if err := p.d.reload(c); err != nil {
			return firstLine(err)
		}
		return "loaded\n" // the driver compared after the last step
	}
	if err := p.d.crash(c); err != nil {
		return firstLine(err)
	}
	p.pending = append([]core.Input{core.TakenOver{}}, p.pending...)
	return p.step(a)
}

// input makes the input a command describes.
func (p *player) input(verb string, a *arguments) core.Input {
	switch verb {
	case "signal":
		return core.Control{Operation: core.SignalTheRun, Signal: a.word(0), SignalID: a.named["id"], Value: a.payload("value")}
	case "update":
		return core.UpdateArrived{Name: a.word(0), ID: a.word(1), Asker: a.named["asker"], Value: a.payload("value")}
	case "cancel":
		return core.Control{Operation: core.CancelTheRun, Reason: a.named["reason"], Chain: a.named["chain"]}
	case "terminate":
		return core.Control{Operation: core.TerminateTheRun, Reason: a.named["reason"], Chain: a.named["chain"]}
	case "child":
		in := core.FromChild{Call: p.ref(a.word(0)).Call, Status: a.word(1), Run: a.named["run"], Result: a.payload("result")}
		if in.Status == string(core.StatusFailed) {
			in.Failure = history.FromError(failure(a))
		}
		return in
	case "grant":
		return core.Granted{Call: p.ref(a.word(0)).Call, Group: a.number("group")}
	case "told":
		return core.Told{AttemptRef: p.ref(a.word(0))}
	case "pause-run", "resume-run", "cancel-run", "terminate-run", "signal-run":
		return core.Control{
			ID: a.named["id"], By: "ann", Reason: a.named["why"], Signal: a.named["name"], Value: a.payload("value"),
			Operation: runOperations[verb],
		}
	case "retry-now", "skip", "fail-now", "pause", "unpause", "edit":
		return p.control(verb, a)
	case "trust":
		return core.OffProbation{AttemptRef: p.ref(a.word(0))}
	}
	ref := p.ref(a.word(0))
	if verb == "beat" {
		return core.Heartbeat{Call: ref.Call, Attempt: ref.Attempt, Details: a.payload("details"), At: p.d.now}
	}
	end := core.AttemptEnded{Call: ref.Call, Attempt: ref.Attempt, Ended: p.d.now, Outside: a.flag("outside")}
	switch verb {
	case "complete":
		end.Outcome, end.Result = core.Completed, a.payload("result")
		end.Transaction = a.flag("transaction")
	case "fail":
		end.Outcome, end.Failure = core.Failed, history.FromError(failure(a))
	case "timeout":
		end.Outcome = core.TimedOut
		end.Failure = history.FromError(&retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: time.Second})
	case "hand":
		end.Outcome = core.Pending
	case "drain":
		end.Outcome = core.Drained
	default:
		p.t.Fatalf("unknown command %q", verb)
	}
	return end
}

var runOperations = map[string]core.Operation{
	"pause-run": core.PauseTheRun, "resume-run": core.ResumeTheRun, "cancel-run": core.CancelTheRun,
	"terminate-run": core.TerminateTheRun, "signal-run": core.SignalTheRun,
}

// control makes the operation a command describes.
func (p *player) control(verb string, a *arguments) core.Input {
	in := core.Control{ID: a.named["id"], By: "ann", Reason: a.named["why"], Calls: core.Selection{Name: a.named["name"]}}
	if len(a.words) > 0 {
		in.Calls.Call = p.ref(a.word(0)).Call
	}
	switch verb {
	case "retry-now":
		in.Operation = core.RetryNow
	case "skip":
		in.Operation, in.Result = core.Skip, a.payload("result")
	case "fail-now":
		in.Operation, in.Failure = core.FailNow, history.FromError(failure(a))
	case "pause":
		in.Operation = core.PauseCall
	case "unpause":
		in.Operation = core.ResumeCall
	case "edit":
		attempts, err := strconv.Atoi(a.named["attempts"])
		if err != nil {
			p.t.Fatal(err)
		}
		in.Operation, in.Policy = core.EditPolicy, &retry.Policy{MaxAttempts: attempts, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}
	}
	return in
}

// ref reads CALL or CALL.ATTEMPT; without an attempt it is the one in flight.
func (p *player) ref(s string) core.AttemptRef {
	call, attempt, both := strings.Cut(s, ".")
	n, err := strconv.ParseInt(call, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	ref := core.AttemptRef{Call: n, Attempt: 1}
	if !both {
		for _, alive := range p.d.alive() {
			if alive.Call == n {
				ref.Attempt = alive.Attempt
			}
		}
		return ref
	}
	if ref.Attempt, err = strconv.Atoi(attempt); err != nil {
		p.t.Fatal(err)
	}
	return ref
}

// failure makes the error a fail command describes.
func failure(a *arguments) error {
	e := &scriptError{kind: retry.TypeError, text: "boom"}
	if s, ok := a.named["type"]; ok {
		e.kind = s
	}
	if s, ok := a.named["message"]; ok {
		e.text = s
	}
	var err error = e
	if a.flag("declined") {
		err = fmt.Errorf("charge: %w", errDeclined)
	}
	if a.flag("canceled") {
		err = context.Canceled
	}
	if _, ok := a.named["after"]; ok {
		err = retry.After(err, a.duration("after"))
	}
	if a.flag("terminal") {
		err = retry.Terminal(err)
	}
	return err
}
