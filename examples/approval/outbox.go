package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure/activity"
)

// outbox is a directory with a file for each letter. A letter has the name of its
// call: one that is written again, because the process died before it was on record
// that it had been written, is the same letter.
type outbox string

func (o outbox) mail(ctx context.Context, l Letter) (string, error) {
	if err := os.MkdirAll(string(o), 0o777); err != nil {
		return "", err
	}
	name := filepath.Join(string(o), strings.ReplaceAll(activity.IdempotencyKey(ctx), "/", "-")+".txt")
	text := fmt.Sprintf("To: %s\nSubject: %s\n\n%s\n", l.To, l.Subject, l.Text)
	if err := os.WriteFile(name+".new", []byte(text), 0o666); err != nil {
		return "", err
	}
	return name, os.Rename(name+".new", name)
}
