package history

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Turns in the database are most of what a run writes, so the database uses a short form
// for what nearly every turn contains:
//
//	{"v":1,"e":[{"k":"ran","c":1,"w":"shop/ab12","s":-2500},{"k":"done","c":1,"r":7,"t":-90},{"k":"call","c":2,"n":"charge","i":7}],"crc":1}
//
// Common kinds and fields have short names, listed below; all others have the names of the
// struct tags. Times are nanoseconds relative to the time of the turn. A JSON value stands
// unwrapped in "i" or "r"; any other value stands as a Payload, in "I" or "R". A started
// attempt omits its number if that is 1, and the time at which it was queued if that is
// when it started.

const shortBegin = `{"v":1,"e":[`

// shortKinds maps common kinds to short names. The name of a kind must never change.
var shortKinds = map[Kind]string{
	AttemptStarted: "ran", CallCompleted: "done", ActivityScheduled: "call", StepScheduled: "step",
	TimerStarted: "timer", TimerFired: "fired", SignalReceived: "signal", SideEffectRecorded: "effect", RunCompleted: "end",
}

var longKinds = func() map[string]Kind {
	long := make(map[string]Kind, len(shortKinds))
	for kind, name := range shortKinds {
		long[name] = kind
	}
	return long
}()

// appendShort appends the document of a turn taken at time base.
func appendShort(b []byte, base int64, events []Event) (_ []byte, err error) {
	b = append(b, shortBegin...)
	for i := range events {
		if i > 0 {
			b = append(b, ',')
		}
		b = events[i].appendShort(b, base, &err)
	}
	return append(b, "]}"...), err
}

func (e *Event) appendShort(b []byte, base int64, err *error) []byte {
	b = append(b, `{"k":`...)
	if name, is := shortKinds[e.Kind]; is {
		b = append(append(append(b, '"'), name...), '"')
	} else {
		b = appendString(b, string(e.Kind))
	}
	b = appendInt(b, `,"c":`, e.Call)
	b = appendText(b, `,"n":`, e.Name)
	b = appendBare(b, `,"i":`, `,"I":`, e.Input, err)
	b = appendBare(b, `,"r":`, `,"R":`, e.Result, err)
	started := e.Kind == AttemptStarted
	if e.Attempt != 0 && !started || e.Attempt != 1 && started {
		b = strconv.AppendInt(append(b, `,"a":`...), int64(e.Attempt), 10)
	}
	b = appendText(b, `,"w":`, e.Node)
	if started && e.Queued != e.Started {
		b = strconv.AppendInt(append(b, `,"q":`...), e.Queued-base, 10)
	} else if !started {
		b = appendTime(b, `,"q":`, e.Queued, base)
	}
	b = appendTime(b, `,"s":`, e.Started, base)
	b = appendTime(b, `,"t":`, e.Ended, base)
	b = appendTime(b, `,"d":`, e.Due, base)
	b = appendInt(b, `,"block":`, e.Block)
	b = e.appendOptions(b, err)
	b = e.appendRest(b, err)
	return append(b, '}')
}

// appendTime appends a time, unless it is 0. The difference may overflow; reading it
// overflows back.
func appendTime(b []byte, key string, v, base int64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), v-base, 10)
}

func appendBare(b []byte, bare, wrapped string, p Payload, err *error) []byte {
	switch {
	case p.Encoding == "" && p.Data == nil:
		return b
	case p.Encoding == EncodingJSON && len(p.Data) > 0:
		return append(append(b, bare...), p.Data...)
	}
	return appendValue(b, wrapped, p, err)
}

// readShort decodes what appendShort wrote, up to end. It returns false if the document
// deviates.
func (w *Words) readShort(data []byte, end string, base int64) ([]Event, bool) {
	r := reader{rest: data, words: w, base: base}
	if !r.take(shortBegin) {
		return nil, false
	}
	if string(r.rest) == end {
		return []Event{}, true // a run that begins with another one's history
	}
	return r.events(`},{"k":`, end)
}

// event decodes an event.
func (r *reader) event(e *Event) {
	r.expect(`{"k":`)
	name := r.string()
	kind, is := longKinds[name]
	if !is {
		kind = Kind(name)
	}
	e.Kind = kind
	attempt, queued := false, false
	for !r.strange && r.take(`,`) {
		key := r.key()
		attempt = attempt || string(key) == `"a"`
		queued = queued || string(key) == `"q"`
		r.shortField(e, key)
	}
	if kind == AttemptStarted && !attempt {
		e.Attempt = 1
	}
	if kind == AttemptStarted && !queued {
		e.Queued = e.Started
	}
	r.expect(`}`)
}

func (r *reader) shortField(e *Event, key []byte) {
	if len(key) != len(`"k"`) {
		r.field(e, key)
		return
	}
	switch key[1] {
	case 'c':
		readInt(r, &e.Call)
	case 'n':
		e.Name = r.string()
	case 'i':
		r.bare(&e.Input)
	case 'I':
		r.decode(r.raw(), &e.Input)
	case 'r':
		r.bare(&e.Result)
	case 'R':
		r.decode(r.raw(), &e.Result)
	case 'a':
		readInt(r, &e.Attempt)
	case 'w':
		e.Node = r.string()
	case 'q':
		r.time(&e.Queued)
	case 's':
		r.time(&e.Started)
	case 't':
		r.time(&e.Ended)
	case 'd':
		r.time(&e.Due)
	default:
		r.unknown()
	}
}

func (r *reader) time(v *int64) {
	readInt(r, v)
	*v += r.base
}

// bare decodes a JSON value. It copies the data, so that the whole turn is not kept in
// memory.
func (r *reader) bare(p *Payload) {
	data := r.raw()
	if len(data) == 0 || !json.Valid(data) || data[0] <= ' ' || data[len(data)-1] <= ' ' {
		r.strange = true
		return
	}
	*p = Payload{Encoding: EncodingJSON, Data: bytes.Clone(data)}
}
