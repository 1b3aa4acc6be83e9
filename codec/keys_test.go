package codec_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

var (
	goOn    = workflow.NewSignal[string]("go-on")
	patient = workflow.New("patient", func(wf *workflow.Context, in string) (string, error) {
		said, err := workflow.Receive(wf, goOn)
		return in + said, err
	})
)

// shop is an SQLite file and what opens it.
type shop struct {
	t    *testing.T
	path string
}

func newShop(t *testing.T) *shop { return &shop{t, filepath.Join(t.TempDir(), "shop.db")} }

func (s *shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// with runs f with an engine that serves the file, through codecs.
func (s *shop) with(f func(ctx context.Context, eng *perdure.Engine), codecs ...codec.Codec) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second) // as something that hangs
	defer cancel()
	db := sqlite.File(s.path)
	if codecs != nil {
		db = codec.Over(db, codecs...)
	}
	eng, err := perdure.Open(ctx, db, perdure.Register(patient), perdure.Logger(slog.New(slog.DiscardHandler)))
	s.must(err)
	s.must(eng.Start(ctx))
	f(ctx, eng)
	s.must(eng.Close())
}

func (s *shop) start(codecs ...codec.Codec) func(ids ...string) {
	return func(ids ...string) {
		s.t.Helper()
		s.with(func(ctx context.Context, eng *perdure.Engine) {
			for _, id := range ids {
				_, err := perdure.Start(ctx, eng, patient, id, "in ")
				s.must(err)
				s.await(ctx, eng, id, view.StatusRunning)
			}
		}, codecs...)
	}
}

// await looks at a run until it has a status. A run is parked by nothing that a caller could
// wait for.
func (s *shop) await(ctx context.Context, eng *perdure.Engine, id, status string) *view.Description {
	s.t.Helper()
	var last *view.Description
	for {
		d, err := eng.Workflow(id).Describe(ctx)
		if err != nil {
			s.t.Fatalf("%s did not become %s: %v %+v", id, status, err, last)
		}
		if d.Status == status && (status != view.StatusRunning || len(d.Pending) > 0) {
			return d
		}
		last = d
		runtime.Gosched()
	}
}

func (s *shop) finish(ctx context.Context, eng *perdure.Engine, id, want string) {
	s.t.Helper()
	s.must(goOn.SendOnce(ctx, eng.Workflow(id), "once", "on"))
	out, err := perdure.Attach[string](eng, id).Result(ctx)
	if err != nil || out != want {
		s.t.Errorf("%s: %q, %v", id, out, err)
	}
}

// TestE115_ARunWithoutItsKeyIsParkedAndGoesOn: the reason names the key and what to do; other
// runs go on, a signal that comes meanwhile is kept, and with the key the run completes.
func TestE115_ARunWithoutItsKeyIsParkedAndGoesOn(t *testing.T) {
	s := newShop(t)
	s.start(keys(t, "2026-05"))("old")
	s.with(func(ctx context.Context, eng *perdure.Engine) {
		_, err := perdure.Start(ctx, eng, patient, "new", "in ")
		s.must(err)
		s.must(goOn.SendOnce(ctx, eng.Workflow("old"), "once", "on"))
		d := s.await(ctx, eng, "old", view.StatusParked)
		for _, text := range []string{`"2026-05"`, "codec.AES", "start again"} {
			if !strings.Contains(d.Reason, text) || d.Damage == nil || !strings.Contains(d.Damage.Problem, text) {
				t.Errorf("the reason does not say %s: %q, %+v", text, d.Reason, d.Damage)
			}
		}
		if d.Damage != nil && !d.Damage.Coded {
			t.Error("it is taken for damage")
		}
		s.finish(ctx, eng, "new", "in on")
	}, keys(t, "2026-11"))
	s.with(func(ctx context.Context, eng *perdure.Engine) { // the signal is there: to send it again might come too late
		if out, err := perdure.Attach[string](eng, "old").Result(ctx); err != nil || out != "in on" {
			t.Errorf("%q, %v", out, err)
		}
	}, keys(t, "2026-11", "2026-05"))
}

// TestE113_KeysRotateAndCodecsAreTurnedOnAndOff: a run that began in clear goes on encrypted, under
// one key after the other, and in clear again; what was written in between is read.
func TestE113_KeysRotateAndCodecsAreTurnedOnAndOff(t *testing.T) {
	s := newShop(t)
	ids := []string{"clear", "first", "second", "off"}
	steps := [][]codec.Codec{
		nil, {keys(t, "2026-05")}, {codec.Compress(1), keys(t, "2026-11", "2026-05")},
		{codec.Reading(codec.Compress(1)), codec.Reading(keys(t, "2026-11", "2026-05"))},
	}
	for i, codecs := range steps {
		s.start(codecs...)(ids[i])
	}
	s.with(func(ctx context.Context, eng *perdure.Engine) {
		for _, id := range ids {
			s.finish(ctx, eng, id, "in on")
		}
		// The same start again is the same run, though its input has other bytes on record.
		h, err := perdure.Start(ctx, eng, patient, "first", "in ")
		if s.must(err); !h.Attached() {
			t.Error("the same start began another run")
		}
		if _, err := perdure.Start(ctx, eng, patient, "first", "other "); err == nil {
			t.Errorf("another start of the same ID: %v", err)
		}
	}, steps[3]...)
	if raw := string(files(t, filepath.Dir(s.path))); !strings.Contains(raw, "in on") {
		t.Error("what is written with codecs that only read is not in clear")
	}
}

// TestE115_WhatIsTamperedWithIsNotTaken: a turn with other bytes, a turn of another run in the place of one, and
// a key of the same name park the run with a reason that says so.
func TestE115_WhatIsTamperedWithIsNotTaken(t *testing.T) {
	wrong, err := codec.AES("2026-11", map[string][]byte{"2026-11": []byte("another key of thirty-two bytes!")})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sql    string
		codecs []codec.Codec
		want   string
	}{
		"another key":     {codecs: []codec.Codec{wrong}, want: `does not decrypt with the key "2026-11"`},
		"another byte":    {sql: `UPDATE turns SET events = CAST(substr(events, 1, length(events)-1) || CASE WHEN substr(events, -1) = X'00' THEN X'01' ELSE X'00' END AS BLOB) WHERE run = (SELECT seq FROM runs WHERE workflow_id = 'a')`, want: "does not decrypt"},
		"exchanged turns": {sql: `UPDATE turns SET events = (SELECT events FROM turns WHERE run = (SELECT seq FROM runs WHERE workflow_id = 'b') AND number = 1) WHERE run = (SELECT seq FROM runs WHERE workflow_id = 'a') AND number = 1`, want: "belongs to run"},
		"exchanged start": {sql: `UPDATE runs SET start = (SELECT start FROM runs WHERE workflow_id = 'b') WHERE workflow_id = 'a'`, want: "belongs to run"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.start(keys(t, "2026-11"))("a", "b")
			if c.sql != "" {
				db, err := sql.Open("sqlite", s.path)
				s.must(err)
				_, err = db.Exec(c.sql)
				s.must(errors.Join(err, db.Close()))
			}
			if c.codecs == nil {
				c.codecs = []codec.Codec{keys(t, "2026-11")}
			}
			s.with(func(ctx context.Context, eng *perdure.Engine) {
				s.must(goOn.Send(ctx, eng.Workflow("a"), "on"))
				d := s.await(ctx, eng, "a", view.StatusParked)
				if d.Damage == nil || !strings.Contains(d.Damage.Problem, c.want) {
					t.Errorf("the reason is %q, %+v", d.Reason, d.Damage)
				}
				if name != "another key" {
					s.finish(ctx, eng, "b", "in on")
				}
			}, c.codecs...)
		})
	}
}

// TestE115_AMissingBlobParksItsRun: it goes on when the blob is back.
func TestE115_AMissingBlobParksItsRun(t *testing.T) {
	s := newShop(t)
	s.start(keys(t, "2026-11"), codec.Offload(1, blobs(t)))("a")
	s.with(func(ctx context.Context, eng *perdure.Engine) {
		s.must(goOn.Send(ctx, eng.Workflow("a"), "on"))
		d := s.await(ctx, eng, "a", view.StatusParked)
		if !strings.Contains(d.Reason, "blob") || !strings.Contains(d.Reason, "missing") || !strings.Contains(d.Reason, "restore") {
			t.Errorf("the reason is %q", d.Reason)
		}
	}, keys(t, "2026-11"), codec.Offload(1<<20, blobs(t)))
}

// TestE113_ForksAndResetsReadWhatTheyCopied: turns are bound to the run that wrote them, and
// a run that was forked or reset reads its copies.
func TestE113_ForksAndResetsReadWhatTheyCopied(t *testing.T) {
	s := newShop(t)
	c := keys(t, "2026-11")
	s.start(c)("a")
	s.with(func(ctx context.Context, eng *perdure.Engine) {
		s.finish(ctx, eng, "a", "in on")
		_, err := ops.Fork(ctx, eng, ops.ForkSpec{WorkflowID: "a", Call: 1, NewID: "b"})
		s.must(err)
		_, err = perdure.Attach[string](eng, "b").Result(ctx) // with the signal of the other
		s.must(err)
		_, err = perdure.Start(ctx, eng, patient, "c", "in ")
		s.must(err)
		s.await(ctx, eng, "c", view.StatusRunning)
		record, err := ops.ControlRun(ctx, eng, "c", ops.ResetRun(1))
		if s.must(err); record.Outcome != view.Applied {
			t.Error(record)
		}
		s.await(ctx, eng, "c", view.StatusRunning)
	}, c)
	s.with(func(ctx context.Context, eng *perdure.Engine) {
		s.finish(ctx, eng, "c", "in on")
		events, err := eng.Workflow("b").History(ctx)
		if s.must(err); len(events) < 3 || strings.Contains(string(events[1].Record), "locked") {
			t.Error(events)
		}
	}, c)
}

// TestE114_AProgramWithoutCodecsSeesFaces: it lists, describes and shows what happened, with
// a placeholder for each value, and a result is an error that says what to do.
func TestE114_AProgramWithoutCodecsSeesFaces(t *testing.T) {
	s := newShop(t)
	c := keys(t, "2026-11")
	s.start(c)("open", "done")
	s.with(func(ctx context.Context, eng *perdure.Engine) { s.finish(ctx, eng, "done", "in on") }, c)
	ctx := t.Context()
	eng, err := perdure.Open(ctx, sqlite.File(s.path))
	s.must(err)
	defer eng.Close()
	runs, err := eng.List(ctx, view.Filter{})
	if s.must(err); len(runs) != 2 {
		t.Error(runs)
	}
	const locked = "encrypted, key 2026-11, 5 bytes"
	for _, id := range []string{"open", "done"} {
		h := eng.Workflow(id)
		d, err := h.Describe(ctx)
		if s.must(err); d.Input.Locked != locked || d.Input.String() != "("+locked+")" || d.Damage == nil || !d.Damage.Coded {
			t.Errorf("%s: %+v, %+v", id, d.Input, d.Damage)
		}
		if err := d.Input.Decode(new(string)); err == nil || !strings.Contains(err.Error(), "2026-11") {
			t.Error(err)
		}
		if id == "done" && (d.Result == nil || !strings.HasPrefix(d.Result.Locked, "encrypted, key 2026-11")) {
			t.Errorf("%+v", d.Result)
		}
		if id == "open" && (len(d.Pending) != 1 || d.Pending[0].Name != "go-on") {
			t.Errorf("%+v", d.Pending)
		}
		events, err := h.History(ctx)
		if s.must(err); len(events) < 2 || events[0].Kind != "RunStarted" || events[1].Kind == "TurnDamaged" {
			t.Errorf("%s: %+v", id, events)
		}
		if _, err := h.Record(ctx); err == nil || !strings.Contains(err.Error(), "codec.Over") {
			t.Error(err)
		}
	}
	if _, err := eng.Workflow("done").Result(ctx); err == nil || !strings.Contains(err.Error(), "codec.Over") {
		t.Errorf("the result is %v", err)
	}
	check, err := ops.Doctor(ctx, eng, view.DoctorFilter{})
	if s.must(err); check.OK || len(check.Findings) != 1 || check.Findings[0].Kind != view.FindingCoded || !strings.Contains(check.Findings[0].Problem, "so it is with") {
		t.Errorf("%+v", check)
	}
}

// TestASealedDocumentBeginsWithItsNonce, as all that are in databases do, and those of later versions.
func TestASealedDocumentBeginsWithItsNonce(t *testing.T) {
	c, at, text := keys(t, "k"), codec.Place{Kind: codec.KindState, Run: "r"}, []byte("text")
	block, err := aes.NewCipher(key("k"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	place, nonce := []byte(at.String()+"k"), bytes.Repeat([]byte{7}, plain.NonceSize())
	before := codec.Encoded{Data: plain.Seal(bytes.Clone(nonce), nonce, text, place), Label: "k"}
	if got, err := c.Decode(t.Context(), at, before); err != nil || !bytes.Equal(got, text) {
		t.Errorf("it is opened as %q, %v", got, err)
	}
	now, err := c.Encode(t.Context(), at, text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := plain.Open(nil, now.Data[:len(nonce)], now.Data[len(nonce):], place); err != nil || !bytes.Equal(got, text) {
		t.Errorf("what is sealed now is opened as %q, %v", got, err)
	}
}
