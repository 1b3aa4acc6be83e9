package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// output is where records are written, by several goroutines.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *output) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Reset()
}

// lines returns the records that were written.
func lines(t *testing.T, b *output) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(b.String()) {
		record := map[string]any{}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		all = append(all, record)
	}
	b.Reset()
	return all
}

func logger(b *output) *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// TestE63_EachMethodWritesOneEvent: every method of Log writes one record, with the name,
// level and keys of an event of the table, and every event has a method.
func TestE63_EachMethodWritesOneEvent(t *testing.T) {
	var b output
	l := New(logger(&b), false)
	written := map[string]bool{more.Name: true} // by bursts
	typ := reflect.TypeOf(l)
	for i := range typ.NumMethod() {
		m := typ.Method(i)
		if m.Name == "Close" || m.Name == "WantsAttempts" {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(l)}
		for n := 1; n < m.Type.NumIn(); n++ {
			in := m.Type.In(n)
			if in == reflect.TypeFor[error]() {
				args = append(args, reflect.ValueOf(fmt.Errorf("no %s", m.Name)))
				continue
			}
			args = append(args, reflect.Zero(in))
		}
		m.Func.Call(args)
		all := lines(t, &b)
		if len(all) != 1 {
			t.Fatalf("%s writes %d records", m.Name, len(all))
		}
		record := all[0]
		at := slices.IndexFunc(Events(), func(e *Event) bool { return e.Name == record["event"] })
		if at < 0 {
			t.Fatalf("%s writes %v", m.Name, record)
		}
		e := Events()[at]
		for _, key := range e.Keys {
			if _, has := record[key]; !has {
				t.Errorf("%s: the key %s is missing", m.Name, key)
			}
		}
		if len(record) != len(e.Keys)+4 || record["level"] != e.Level.String() || record["msg"] != "perdure: "+e.Message {
			t.Errorf("%s writes %v", m.Name, record)
		}
		if written[e.Name] {
			t.Errorf("%s is written by two methods", e.Name)
		}
		written[e.Name] = true
	}
	for _, e := range Events() {
		if !written[e.Name] {
			t.Errorf("nothing writes %s", e.Name)
		}
	}
}

// TestE63_BurstsAreSummedUp: of one event twenty records are written in ten seconds, and
// then how many there were besides. Other events and records for debugging are not held
// up by that.
func TestE63_BurstsAreSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b output
		l := New(logger(&b), false)
		for range 25 {
			l.GateResumed("bank")
			l.InputsLate("run", 1)
		}
		l.BreakerClosed("bank", "")
		if n := strings.Count(b.String(), gateResumed.Name); n != burstSize {
			t.Errorf("%d records of one burst", n)
		}
		if strings.Count(b.String(), inputsLate.Name) != 25 || strings.Count(b.String(), breakerClosed.Name) != 1 {
			t.Error("the burst holds up other events")
		}
		b.Reset()
		time.Sleep(burstTime)
		synctest.Wait()
		all := lines(t, &b)
		if len(all) != 1 || all[0]["event"] != more.Name || all[0]["of"] != gateResumed.Name || all[0]["count"] != 5.0 {
			t.Errorf("after the burst: %v", all)
		}
		for range 21 {
			l.GateResumed("bank")
		}
		l.Close()
		if all := lines(t, &b); len(all) != burstSize+1 || all[burstSize]["count"] != 1.0 {
			t.Errorf("at the end: %v", all)
		}
		l.GateResumed("bank")
		if len(lines(t, &b)) != 1 {
			t.Error("nothing is written after Close")
		}
	})
}
