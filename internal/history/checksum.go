package history

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"strconv"
)

// Whatever this package and those above it write into a database as a document ends with
// a checksum, CRC-32C, as its last field:
//
//	{"v":1,"events":[...],"crc":2774895331}
//
// So a document stays text that people and databases can read, a program that does not
// know of checksums passes over it, and a document of such a program, which has none,
// is read as it was. The sum of a turn is over its key as well: a turn that stands in
// the place of another one is found.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	sumBegin = `,"crc":`
	sumMost  = len(sumBegin) + len("4294967295}") // the bytes that it takes at most
)

// key is what a document is, beside its bytes. The zero value says nothing.
type key struct {
	of   string // a run ID
	a, b int64
}

// add takes the key into a checksum. It is short, so no byte of it needs the hardware.
func (k key) add(sum uint32) uint32 {
	if k == (key{}) {
		return sum
	}
	sum = ^sum
	for i := range len(k.of) {
		sum = castagnoli[byte(sum)^k.of[i]] ^ sum>>8
	}
	for _, n := range [...]int64{k.a, k.b} {
		for shift := 0; shift < 64; shift += 8 {
			sum = castagnoli[byte(sum)^byte(n>>shift)] ^ sum>>8
		}
	}
	return ^sum
}

// appendSum ends a document, a JSON object with fields, with its checksum.
func appendSum(doc []byte, k key) []byte {
	body := doc[:len(doc)-1]
	sum := k.add(crc32.Checksum(body, castagnoli))
	doc = strconv.AppendUint(append(body, sumBegin...), uint64(sum), 10)
	return append(doc, '}')
}

// cutSum returns a document without its checksum and without the brace that ends it, and
// whether it has a checksum. The error says that this is another one.
func cutSum(doc []byte, k key) (body []byte, has bool, err error) {
	tail := doc[max(0, len(doc)-sumMost):]
	at := bytes.LastIndex(tail, []byte(sumBegin))
	if at < 0 || doc[len(doc)-1] != '}' {
		return doc, false, nil
	}
	digits := tail[at+len(sumBegin) : len(tail)-1]
	if len(bytes.Trim(digits, "0123456789")) > 0 {
		return doc, false, nil // a field of a value in it
	}
	want, err := strconv.ParseUint(string(digits), 10, 32)
	body = doc[:len(doc)-len(tail)+at]
	if sum := k.add(crc32.Checksum(body, castagnoli)); err != nil || sum != uint32(want) {
		return nil, true, damaged("its checksum is %s and its bytes have %d", digits, sum)
	}
	return body, true, nil
}

// Summed reports whether a document ends as one that has a checksum. It does not check it.
func Summed(doc []byte) bool {
	return bytes.Contains(doc[max(0, len(doc)-sumMost):], []byte(sumBegin))
}

// Seal makes a document of a value, a struct, as package json does, with a checksum.
func Seal(v any) ([]byte, error) {
	doc, err := json.Marshal(v)
	if err != nil || len(doc) <= len(`{}`) {
		return doc, err
	}
	return appendSum(doc, key{}), nil
}

// Unseal reads a document that Seal made, or an earlier version without a checksum. The
// error is a *DamageError; if Coded, v is what the face of the document shows.
func Unseal(doc []byte, v any) error {
	if face, err := faceOf(doc); err != nil {
		_ = json.Unmarshal(face, v)
		return err
	}
	if _, _, err := cutSum(doc, key{}); err != nil {
		return err
	}
	if err := json.Unmarshal(doc, v); err != nil {
		return damaged("%w", err)
	}
	return nil
}

// UnsealResult reads a document that Seal made of a result in JSON and nothing else, as that
// of nearly every run is which has ended. False says that it is to be read with Unseal.
func UnsealResult(doc []byte) (result Payload, is bool) {
	body, has, err := cutSum(doc, key{})
	r := reader{rest: body}
	if err != nil || !has || !r.take(`{"result":`) {
		return Payload{}, false
	}
	r.payload(&result)
	return result, !r.strange && len(r.rest) == 0
}
