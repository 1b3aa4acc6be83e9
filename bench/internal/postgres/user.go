package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is who runs the server. PostgreSQL refuses to be root, so root starts
// it as the user postgres.
type account struct {
	change   bool
	uid, gid int
}

func serverUser() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return account{}, fmt.Errorf("PostgreSQL refuses to run as root, and this system has no user postgres to run it as: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, err
	}
	gid, err := strconv.Atoi(u.Gid)
	return account{true, uid, gid}, err
}

// own gives a directory to the account and lets it pass through the parent.
func (a account) own(dir, parent string) error {
	if !a.change {
		return nil
	}
	if err := os.Chown(dir, a.uid, a.gid); err != nil {
		return err
	}
	return os.Chmod(parent, 0o711)
}

// command is a command of the account that dies with this process.
func (a account) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if a.change {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return cmd
}
