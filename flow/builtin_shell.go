package flow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

type command struct {
	Command string            `json:"command"`
	Stdin   string            `json:"stdin,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"dir,omitempty"`
}

type output struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// runCommand runs a command. When the attempt ends, because its time is up for
// instance, the command is killed with all that it has started.
func runCommand(ctx context.Context, in command) (output, error) {
	cmd := shellCommand(ctx, in.Command)
	cmd.Dir, cmd.Stdin = in.Dir, strings.NewReader(in.Stdin)
	cmd.WaitDelay = time.Second // for what it leaves behind with its output open
	if len(in.Env) > 0 {
		cmd.Env = cmd.Environ()
		for _, name := range slices.Sorted(maps.Keys(in.Env)) {
			cmd.Env = append(cmd.Env, name+"="+in.Env[name])
		}
	}
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	out := output{stdout.text(), stderr.text()}
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return output{}, context.Cause(ctx)
	case stdout.lost || stderr.lost:
		return output{}, tooLarge("the output of the command")
	case ended:
		if exit.ExitCode() < 0 {
			return output{}, failed("ShellError", fmt.Errorf("the command was ended: %s%s", exit, lastLine(out.Stderr)))
		}
		err := fmt.Errorf("the command ended with exit code %d%s", exit.ExitCode(), lastLine(out.Stderr))
		return output{}, failed(fmt.Sprintf("ShellError%d", exit.ExitCode()), err)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return output{}, failed("ShellError", err)
	}
	return out, nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	buffer bytes.Buffer
	lost   bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := max(MaxResult-l.buffer.Len(), 0)
	l.lost = l.lost || len(p) > room
	n, _ := l.buffer.Write(p[:min(room, len(p))])
	if l.lost {
		return n, errors.New("the output is larger than an action may return") // the command finds its output closed
	}
	return n, nil
}

func (l *limited) text() string { return strings.ToValidUTF8(l.buffer.String(), "\uFFFD") }

// lastLine is what a failed command said last, to be put behind a message.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	return ": " + clip(last)
}
