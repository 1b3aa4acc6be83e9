package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/crc32"
	"strconv"
)

// Every document that this package and those above it write into a database ends with a
// checksum, CRC-32C, as its last field:
//
//	{"v":1,"e":[...],"crc":2774895331}
//
// A document therefore stays text that people and databases can read. The sum of a turn also
// covers its key, so a turn in the place of another one is detected.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	sumBegin = `,"crc":`
	sumMost  = len(sumBegin) + len("4294967295}") // maximum length in bytes
)

// key identifies a document beyond its bytes. The zero value identifies nothing.
type key struct {
	of   string // a run ID
	a, b int64
}

// add adds the key to a checksum. The key is too short for the hardware instruction to pay
// off.
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

// appendSum appends the checksum to a document, which is a JSON object with fields.
func appendSum(doc []byte, k key) []byte {
	body := doc[:len(doc)-1]
	sum := k.add(crc32.Checksum(body, castagnoli))
	doc = strconv.AppendUint(append(body, sumBegin...), uint64(sum), 10)
	return append(doc, '}')
}

// cutSum returns a document without its checksum and its closing brace. It returns an error
// if the checksum is wrong or missing. A later format may have none.
func cutSum(doc []byte, k key) (body []byte, err error) {
	tail := doc[max(0, len(doc)-sumMost):]
	at := bytes.LastIndex(tail, []byte(sumBegin))
	if at < 0 || doc[len(doc)-1] != '}' {
		return nil, unsummed(doc)
	}
	digits := tail[at+len(sumBegin) : len(tail)-1]
	if len(bytes.Trim(digits, "0123456789")) > 0 {
		return nil, unsummed(doc) // a field inside a value
	}
	want, err := strconv.ParseUint(string(digits), 10, 32)
	body = doc[:len(doc)-len(tail)+at]
	if sum := k.add(crc32.Checksum(body, castagnoli)); err != nil || sum != uint32(want) {
		return nil, damaged("its checksum is %s and its bytes have %d", digits, sum)
	}
	return body, nil
}

// unsummed says what is wrong with a document without a checksum.
func unsummed(doc []byte) error {
	return cmp.Or(newer(doc), damaged("it has no checksum"))
}

// Seal encodes a struct as JSON with a checksum. One without fields to write has none.
func Seal(v any) ([]byte, error) {
	doc, err := json.Marshal(v)
	if err != nil || len(doc) <= len(`{}`) {
		return doc, err
	}
	return appendSum(doc, key{}), nil
}

// Unseal decodes a document from Seal. The error is a *DamageError. If that is Coded, v is what the document's face shows.
func Unseal(doc []byte, v any) error {
	if face, err := faceOf(doc); err != nil {
		_ = json.Unmarshal(face, v)
		return err
	}
	if string(doc) == `{}` {
		return nil
	}
	if _, err := cutSum(doc, key{}); err != nil {
		return err
	}
	if err := json.Unmarshal(doc, v); err != nil {
		return damaged("%w", err)
	}
	return nil
}

// UnsealResult decodes a document from Seal that holds a JSON result and nothing else, as
// for nearly every closed run. If it returns false, the caller must use Unseal.
func UnsealResult(doc []byte) (result Payload, is bool) {
	body, err := cutSum(doc, key{})
	r := reader{rest: body}
	if err != nil || !r.take(`{"result":`) {
		return Payload{}, false
	}
	r.payload(&result)
	return result, !r.strange && len(r.rest) == 0
}
