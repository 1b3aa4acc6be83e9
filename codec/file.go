package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// File reads codecs from a file, so that all programs and the command perdure (--codec) have
// the same ones:
//
//	{
//	  "compress": 1024,
//	  "write": "2026-11",
//	  "keys": {"2026-11": "BASE64 OF 32 BYTES", "2026-05": "..."},
//	  "blobs": {"directory": "/srv/shop/blobs", "at_least": 65536}
//	}
//
// Each part is optional. Without "write" the keys only decode. The file gives access to
// the database: restrict who can read it.
func File(path string) ([]Codec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("codec.File: %w; name a file that the program may read", err)
	}
	var c struct {
		Compress int               `json:"compress"`
		Write    string            `json:"write"`
		Keys     map[string][]byte `json:"keys"`
		Blobs    struct {
			Directory string `json:"directory"`
			AtLeast   int    `json:"at_least"`
		} `json:"blobs"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("codec.File: %s is not as it must be: %w; see the documentation of codec.File", path, err)
	}
	var codecs []Codec
	if c.Compress > 0 {
		codecs = append(codecs, Compress(c.Compress))
	} else {
		codecs = append(codecs, Reading(Compress(1)))
	}
	if len(c.Keys) > 0 || c.Write != "" {
		write, only := c.Write, false
		for name := range c.Keys {
			if write == "" {
				write, only = name, true
			}
		}
		aes, err := AES(write, c.Keys)
		if err != nil {
			return nil, fmt.Errorf("codec.File: %s: %w", path, err)
		}
		if only {
			aes = Reading(aes)
		}
		codecs = append(codecs, aes)
	}
	if c.Blobs.Directory != "" {
		blobs, err := Directory(c.Blobs.Directory)
		if err != nil {
			return nil, fmt.Errorf("codec.File: %s: %w", path, err)
		}
		off := Offload(c.Blobs.AtLeast, blobs)
		if c.Blobs.AtLeast <= 0 {
			off = Reading(off)
		}
		codecs = append(codecs, off)
	}
	return codecs, nil
}
