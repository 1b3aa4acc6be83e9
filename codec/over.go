package codec

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/envelope"
	"github.com/perdure/perdure/store"
)

// Over returns an opener that adds codecs to a database. Documents are encoded by the
// codecs in order, and decoded in reverse order by the codecs whose names they carry.
// Every process that reads or writes inputs and results needs the codecs: an engine or a
// worker without them does not start. A client without them can list, pause and cancel;
// starts, signals, queries and updates return a *store.CodecError. A client that was open
// before the first engine with codecs is refused only after it opens the database again.
//
// To turn codecs on for a database that is in use, stop its programs and start them with
// codecs: existing documents stay as they are and remain readable. To turn encoding off,
// see Reading.
func Over(db store.Opener, codecs ...Codec) store.Opener {
	if m, is := db.(store.Migrator); is {
		return &migrator{opener{db, codecs}, m}
	}
	return &opener{db, codecs}
}

// migrator is an opener of a database whose schema has versions.
type migrator struct {
	opener
	m store.Migrator
}

// Schema implements store.Migrator.
func (m *migrator) Schema(ctx context.Context) (store.Schema, error) { return m.m.Schema(ctx) }

// AsIs implements store.Migrator.
func (m *migrator) AsIs() store.Opener { return &opener{m.m.AsIs(), m.codecs} }

// Reading returns a codec that decodes what c encoded and encodes nothing: new documents
// are plain text, and existing ones stay readable.
func Reading(c Codec) Codec { return reading{c} }

type reading struct{ Codec }

func (reading) open() {}

func (reading) Encode(context.Context, Place, []byte) (Encoded, error) { return Encoded{}, nil }

type opener struct {
	db     store.Opener
	codecs []Codec
}

// Open implements store.Opener.
func (o *opener) Open(ctx context.Context) (store.Store, error) {
	if o.db == nil {
		return nil, errors.New("codec.Over: there is no store; give it sqlite.File, for example")
	}
	if err := check(o.codecs); err != nil {
		return nil, err
	}
	inner, err := o.db.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &coded{transaction{chain{o.codecs}, inner}, passed{inner}}, nil
}

// maxCodecs is how many an envelope names.
const maxCodecs = 16

func check(codecs []Codec) error {
	var names []string
	if len(codecs) > maxCodecs {
		return fmt.Errorf("codec.Over: there are %d codecs; the limit is %d", len(codecs), maxCodecs)
	}
	for i, c := range codecs {
		if c == nil {
			return fmt.Errorf("codec.Over: codec %d is nil; leave it out", i+1)
		}
		switch name := c.Name(); {
		case name == "":
			return fmt.Errorf("codec.Over: codec %d has no name; give it one that never changes", i+1)
		case slices.Contains(names, name):
			return fmt.Errorf("codec.Over: two codecs have the name %q; give one of them, with all keys", name)
		default:
			names = append(names, name)
		}
	}
	return nil
}

// chain is some codecs, one after the other.
type chain struct{ codecs []Codec }

// private reports whether a codec hides something. Those of others are taken to.
func (c chain) private() bool {
	return slices.ContainsFunc(c.codecs, func(c Codec) bool { _, open := c.(interface{ open() }); return !open })
}

// encode returns a document in its envelope, or as it is if no codec encodes it.
func (c chain) encode(ctx context.Context, at Place, doc []byte) ([]byte, error) {
	if len(doc) == 0 {
		return doc, nil
	}
	if envelope.Is(doc) {
		return nil, errors.New("a document that could not be decoded is not written again; report it")
	}
	e := envelope.Envelope{Body: doc, Of: at.Run}
	for _, codec := range c.codecs {
		err := guarded(codec, "encode", func() error {
			out, err := codec.Encode(ctx, at, e.Body)
			if err == nil && out.Data != nil {
				e.Body, e.Layers = out.Data, append(e.Layers, envelope.Layer{Codec: codec.Name(), Label: out.Label})
				e.Shown = both(e.Shown, out.Shown)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(e.Layers) == 0 {
		return doc, nil
	}
	e.Face = envelope.Face(doc, e.Shown)
	return e.Bytes(), nil
}

func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// decode returns what was given to encode. If that cannot be had, it is the envelope with
// the reason in it, from which readers take the face and the reason. An error says that the
// document may be had later.
func (c chain) decode(ctx context.Context, at Place, doc []byte) ([]byte, error) {
	if !envelope.Is(doc) {
		return doc, nil
	}
	e, err := envelope.Parse(doc)
	if err != nil || e.Why != "" {
		return doc, nil // readers say so
	}
	if e.Of != at.Run {
		return without(e, fmt.Errorf("it belongs to run %q and stands at run %q; restore the database from a backup", e.Of, at.Run)), nil
	}
	body := e.Body
	for _, layer := range slices.Backward(e.Layers) {
		i := slices.IndexFunc(c.codecs, func(c Codec) bool { return c.Name() == layer.Codec })
		if i < 0 {
			return without(e, fmt.Errorf("the codec %q has encoded it, which this program does not have; give it to codec.Over", layer.Codec)), nil
		}
		err := guarded(c.codecs[i], "decode", func() (err error) {
			body, err = c.codecs[i].Decode(ctx, at, Encoded{Data: body, Label: layer.Label})
			return err
		})
		if err != nil && (ctx.Err() != nil || store.Unavailable(err)) {
			return nil, err
		}
		if err != nil {
			return without(e, err), nil
		}
	}
	if envelope.Is(body) {
		return without(e, errors.New("it is encoded twice; report it")), nil
	}
	return body, nil
}

// without returns the envelope without its content, and why.
func without(e *envelope.Envelope, why error) []byte {
	left := *e
	left.Why, left.Body = why.Error(), nil
	return left.Bytes()
}
