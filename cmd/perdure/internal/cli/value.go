package cli

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/perdure/perdure/internal/human"
)

// jsonValue parses an argument or a flag that must be JSON.
func (scr *screen) jsonValue(what, text string) (json.RawMessage, error) {
	text, err := scr.textValue(what, text)
	if err == nil && !json.Valid([]byte(text)) {
		err = usage(`A text needs double quotes inside single quotes: '"like this"'.`, "The %s must be JSON, not %s", what, human.Escape(human.Clip(strings.TrimSpace(text), 60)))
	}
	return json.RawMessage(text), err
}

// textValue returns the text of an argument or a flag; "-" reads standard input.
func (scr *screen) textValue(what, text string) (string, error) {
	if text != "-" {
		return text, nil
	}
	const most = 16 << 20
	read, err := io.ReadAll(io.LimitReader(scr.env.Stdin, most+1))
	if err == nil && len(read) > most {
		err = usage("Keep large data elsewhere and send a reference.", "The %s is larger than %d MiB.", what, most>>20)
	}
	return string(read), err
}
