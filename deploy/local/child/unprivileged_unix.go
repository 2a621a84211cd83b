//go:build unix

package child

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// nobody is the user and group of that name.
const nobody = 65534

// Unprivileged makes dir, where it is missing, and says how a server runs whose folder it is: in
// a group of its own, which a terminal's Ctrl-C does not reach, and as root as nobody, who then
// owns dir. Servers refuse to run as root, or should not.
func Unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	as := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() != 0 {
		return as, nil
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		return nil, fmt.Errorf("give %s to nobody: %w", dir, err)
	}
	if err := passable(dir); err != nil {
		return nil, err
	}
	as.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	return as, nil
}

// passable says which folder above dir keeps others than its owner out.
func passable(dir string) error {
	for dir := filepath.Dir(dir); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); info.Mode()&0o001 == 0 && (!ok || owner.Uid != nobody) {
			return fmt.Errorf("a server that root starts runs as nobody, who may not enter %s: take another folder, or start it as another user", dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
