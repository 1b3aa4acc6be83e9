package shop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// journal is the file of a book: one entry a line, in JSON, only ever appended
// to.
type journal struct {
	file   *os.File
	broken error // the first failed write; nothing is written after it
}

// openJournal opens or makes the file and gives each entry in it to enter.
func openJournal(path string, enter func(entry)) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("The book could not be opened: %w", err)
	}
	if err := replay(file, enter); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &journal{file: file}, nil
}

// replay reads the entries and cuts off an unfinished last line.
func replay(file *os.File, enter func(entry)) error {
	data, err := os.ReadFile(file.Name())
	if err != nil {
		return fmt.Errorf("The book could not be read: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	seen := map[int64]int{}
	number := 0
	for line := range bytes.Lines(data[:whole]) {
		number++
		var e entry
		if err := json.Unmarshal(line, &e); err != nil || e.Number < 1 || e.Answer == "" {
			return fmt.Errorf("The book %s is damaged, or is none: line %d is no entry of a book. Move the file away to begin a new one.", file.Name(), number)
		}
		if first := seen[e.Number]; first > 0 {
			return fmt.Errorf("The book %s was written by two services at once: lines %d and %d both have the number %d. Move the file away to begin a new one.", file.Name(), first, number, e.Number)
		}
		seen[e.Number] = number
		enter(e)
	}
	if whole == len(data) {
		return nil
	}
	if number == 0 && data[0] != '{' {
		return fmt.Errorf("The file %s is no book. Name another one.", file.Name())
	}
	if err := os.Truncate(file.Name(), int64(whole)); err != nil {
		return fmt.Errorf("The unfinished last line of the book could not be removed: %w", err)
	}
	return nil
}

// append writes an entry; with sync it is on the disk afterwards. After an error
// the journal takes no more: what the file holds is uncertain then, and a book
// that goes on guessing is no witness.
func (j *journal) append(e entry, sync bool) error {
	if j.broken != nil {
		return j.broken
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	if err == nil && sync {
		err = j.file.Sync()
	}
	if err != nil {
		j.broken = fmt.Errorf("The book could not be written: %w", err)
	}
	return j.broken
}

func (j *journal) close() error { return j.file.Close() }
