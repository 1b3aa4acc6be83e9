package envelope

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// begin starts every envelope: a NUL, which no text begins with. The version of the form
// follows it.
const (
	begin = "\x00pc"
	magic = begin + "1"
)

// maxLayers is the maximum number of codecs that encoded a document.
const maxLayers = 16

// Envelope is an encoded document.
type Envelope struct {
	Layers []Layer // the codecs that encoded it, in the order of encoding
	Shown  string  // description for people, such as "encrypted, key 2026-11"
	Of     string  // the run that wrote it, if another run may have a copy
	Why    string  // why a reader could not decode it; never in a database
	Face   []byte  // the document without its secrets
	Body   []byte
}

// Layer is the work of one codec.
type Layer struct{ Codec, Label string }

// Is reports whether a document has an envelope.
func Is(doc []byte) bool { return len(doc) > len(begin) && string(doc[:len(begin)]) == begin }

// Bytes returns the encoded envelope.
func (e *Envelope) Bytes() []byte {
	size := len(magic) + len(e.Shown) + len(e.Of) + len(e.Why) + len(e.Face) + len(e.Body) + 8*(5+2*len(e.Layers))
	b := append(make([]byte, 0, size), magic...)
	b = binary.AppendUvarint(b, uint64(len(e.Layers)))
	for _, l := range e.Layers {
		b = appendText(appendText(b, l.Codec), l.Label)
	}
	b = appendText(appendText(appendText(b, e.Shown), e.Of), e.Why)
	b = appendText(b, string(e.Face))
	return append(b, e.Body...)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errCut = errors.New("its envelope ends too early: its bytes were changed; restore the database from a backup")

// Parse decodes an envelope. Face and Body share the bytes of doc.
func Parse(doc []byte) (*Envelope, error) {
	if first := doc[:min(len(doc), len(magic))]; string(first) != magic {
		return nil, fmt.Errorf("it begins with %q, as nothing does that this version reads; run a newer version, or the bytes are damaged", first)
	}
	p := parser{rest: doc[len(magic):]}
	layers := p.number()
	if layers > maxLayers {
		return nil, fmt.Errorf("its envelope names %d codecs, and %d is the limit: its bytes were changed; restore the database from a backup", layers, maxLayers)
	}
	e := &Envelope{}
	for range layers {
		e.Layers = append(e.Layers, Layer{string(p.text()), string(p.text())})
	}
	e.Shown, e.Of, e.Why, e.Face = string(p.text()), string(p.text()), string(p.text()), p.text()
	e.Body = p.rest
	if p.cut {
		return nil, errCut
	}
	return e, nil
}

type parser struct {
	rest []byte
	cut  bool
}

func (p *parser) number() uint64 {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 {
		p.cut, p.rest = true, nil
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *parser) text() []byte {
	n := p.number()
	if n > uint64(len(p.rest)) {
		p.cut, p.rest = true, nil
		return nil
	}
	s := p.rest[:n:n]
	p.rest = p.rest[n:]
	return s
}

// Reason returns why a reader does not have the document itself.
func (e *Envelope) Reason() string {
	if e.Why != "" {
		return e.Why
	}
	return fmt.Sprintf("it is %s, and this program has opened the database without the codec; wrap the store in codec.Over with the codecs that wrote it, or give the command --codec", e.Shown)
}
