package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// transaction is something under way: a directory for it, locked as long as this process lives, and the layers
// that are not to be removed meanwhile.
//
// Such a lock ends with its process. So a directory that can be locked is one that was left behind.
type transaction struct {
	store     *Store
	dir       string
	lock      *os.File
	discarded int
}

// pinnedLayersFile is where a work writes its layers.
const pinnedLayersFile = "holds"

func (s *Store) begin() (*transaction, error) {
	w := &transaction{store: s}
	err := s.withLock(func() (err error) {
		if w.dir, err = os.MkdirTemp(s.path("tmp"), "work-"); err != nil {
			return err
		}
		if w.lock, err = os.Open(w.dir); err != nil {
			return err
		}
		return unix.Flock(int(w.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	})
	if err != nil {
		w.end()
		return nil, err
	}
	return w, nil
}

// end removes what the work has left.
func (w *transaction) end() {
	if w.dir != "" {
		_ = os.RemoveAll(w.dir) // what stays is swept by the next Open
	}
	if w.lock != nil {
		w.lock.Close()
	}
}

// pinLayer keeps a layer while the work lasts. The store is locked.
func (w *transaction) pinLayer(layer string) error {
	f, err := os.OpenFile(filepath.Join(w.dir, pinnedLayersFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, layer)
	return errors.Join(err, f.Close())
}

// isAbandoned says whether the process that made a directory of tmp is gone.
func isAbandoned(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// layersInProgress are the layers of works under way, in this process and in others. The store is locked.
func (s *Store) layersInProgress(into map[string]bool) error {
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
			into[layer] = true
		}
	}
	return nil
}
