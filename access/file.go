package access

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// ReadTokens reads tokens, one a line, as NAME ROLE SECRET separated by spaces. Empty
// lines and lines that begin with # are ignored.
//
//	# who     role              secret
//	ann       operator          5b0d5f6ac9e14b0fb6be6a5d3a4b0d52
//	grafana   viewer            0c1e0f7d1e9a4b3c8f62cf0f1a6a7e90
//	shop      starter:checkout  d2c4f0a81b7e4d0f9a3d5e6b7c8d9e0f
//	camera    worker:gpu,cpu    7f3e2d1c0b9a48576a5b4c3d2e1f0a9b
//
// A starter or worker without names is one of all workflows or queues. In a name %20 is a
// space, %2C a comma and %25 a percent sign.
//
// Errors name the line and reveal no secret.
func ReadTokens(from io.Reader) ([]Token, error) {
	var tokens []Token
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("access: line %d has %d words; write NAME ROLE SECRET", n, len(fields))
		}
		t := Token{Name: fields[0], Role: Role(fields[1]), Secret: fields[2]}
		if err := (Rules{Tokens: append(tokens[:len(tokens):len(tokens)], t)}).Validate(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		tokens = append(tokens, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("access: read tokens: %w", err)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("access: there is no token; write NAME ROLE SECRET, one a line")
	}
	return tokens, nil
}
