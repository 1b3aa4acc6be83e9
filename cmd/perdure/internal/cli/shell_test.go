package cli

import (
	"encoding/json"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/param"
)

// TestF38_TheCommandLineOfAForm: what the dashboard says is the same from the command line is read
// by a shell and by this command as the parameters of the form, for each row of the table.
func TestF38_TheCommandLineOfAForm(t *testing.T) {
	for i := range command.All {
		c := &command.All[i]
		if c.Shell("x", c.New()) == "" {
			continue
		}
		params := c.New()
		for _, p := range c.Takes() {
			if p.Flag == "dry-run" {
				continue
			}
			for line := range p.Lines(sample(p)) {
				if err := p.Set(params, strings.TrimSuffix(line, "\n")); err != nil {
					t.Fatalf("%s, %s: %v", c.Name, p.Flag, err)
				}
			}
		}
		line := c.Shell("it's 1", params)
		out, err := exec.Command("bash", "-c", `printf '%s\0' `+line).Output()
		must(t, err)
		words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		words = words[1+len(strings.Fields(c.Line())):]
		scr, _, _ := printer(time.Now())
		u := &use{Command: c, params: c.New(), names: true}
		cmd := u.cobra(scr)
		if err := cmd.ParseFlags(words); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		args := cmd.Flags().Args()
		if len(args) == 0 || args[0] != "it's 1" {
			t.Errorf("%s: the name is %q", line, args)
			continue
		}
		must(t, u.arguments(scr, args[1:]))
		if !reflect.DeepEqual(u.params, params) {
			t.Errorf("%s\nis read as %+v,\nnot as %+v", line, u.params, params)
		}
	}
}

// sample is a value of a parameter.
func sample(p param.Param) string {
	if p.Enum != nil {
		return p.Enum[len(p.Enum)-1]
	}
	switch t := p.Type(); t {
	case reflect.TypeFor[json.RawMessage]():
		return `{"a": "it's b"}`
	case reflect.TypeFor[param.Pairs]():
		return "city=Paris\nstreet=Rue $HOME"
	case reflect.TypeFor[param.Moment]():
		return "2026-11-28T08:00:00.5Z"
	case reflect.TypeFor[time.Duration](), reflect.TypeFor[param.Span](), reflect.TypeFor[param.Age]():
		return "1h30m0s"
	case reflect.TypeFor[command.PolicyEdit](), reflect.TypeFor[command.Policy]():
		return "[retry: 3, backoff: 1m]"
	case reflect.TypeFor[[]string]():
		return "a,b c"
	default:
		switch {
		case p.Check():
			return "true"
		case p.Number():
			return "7"
		}
	}
	return "it's <b> \n2"
}
