package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// transaction is a change of the store in progress. It has a directory, locked while the process runs, and
// pins the layers it needs.
//
// The lock ends with the process, so a directory that can be locked was abandoned.
type transaction struct {
	store     *Store
	dir       string
	lock      *os.File
	discarded int // number of discarded files and directories
}

// pinnedLayersFile is the file in a transaction's directory with the pinned layers, one per line.
const pinnedLayersFile = "holds"

// begin starts a transaction. The caller must call end.
func (s *Store) begin() (*transaction, error) {
	tx := &transaction{store: s}
	err := s.withLock(func() (err error) {
		if tx.dir, err = os.MkdirTemp(s.path("tmp"), "work-"); err != nil {
			return err
		}
		if tx.lock, err = os.Open(tx.dir); err != nil {
			return err
		}
		return unix.Flock(int(tx.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	})
	if err != nil {
		tx.end()
		return nil, err
	}
	return tx, nil
}

// end removes the transaction's directory.
func (tx *transaction) end() {
	if tx.dir != "" {
		_ = os.RemoveAll(tx.dir) // the next Open removes what remains
	}
	if tx.lock != nil {
		tx.lock.Close()
	}
}

// pinLayer keeps a layer until the transaction ends. The caller holds the store lock.
func (tx *transaction) pinLayer(layer string) error {
	f, err := os.OpenFile(filepath.Join(tx.dir, pinnedLayersFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, layer)
	return errors.Join(err, f.Close())
}

// isAbandoned reports whether the process of a transaction directory has exited.
func isAbandoned(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// layersInProgress adds the layers pinned by transactions of all processes. The caller holds
// the store lock.
func (s *Store) layersInProgress(pinned map[string]bool) error {
	dirs, err := os.ReadDir(s.path("tmp"))
	if err != nil {
		return err
	}
	for _, d := range dirs {
		data, err := os.ReadFile(s.path("tmp", d.Name(), pinnedLayersFile))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, layer := range strings.Fields(string(data)) {
			pinned[layer] = true
		}
	}
	return nil
}
