package real

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock keeps other agents out of the agent's directory until the process ends: two would start each
// other's pods twice and remove each other's files.
func lock(root string) (unlock func(), err error) {
	file := filepath.Join(root, "lock")
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_ = f.Close()
		return nil, fmt.Errorf("--root-dir %s: in use by another agent (it holds %s): stop it, or choose another directory", root, file)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return func() { _ = f.Close() }, nil
}
