package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"
)

// settledTime is the time for which a store must run until its start counts as complete. The API server reads all
// objects in the first seconds, so damaged pages are found in this time.
const settledTime = time.Minute

// startMarker is a file that exists while a store starts. If etcd finds damage, it ends the process. The next start then
// finds the file and checks the whole store, whatever its size.
type startMarker struct{ path string }

// markStart creates the marker of the store in dir, and reports whether one exists of a start that did not complete.
func markStart(dir string) (m startMarker, incomplete bool) {
	m = startMarker{filepath.Join(dir, "etcd-starting")}
	file, err := os.OpenFile(m.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return m, true
	}
	if err != nil { // the store may start without it
		klog.ErrorS(err, "Failed to record the start of the store", "file", m.path)
		return m, false
	}
	_ = file.Close()
	return m, false
}

// remove records that the start is complete, or that the store was closed.
func (m startMarker) remove() {
	if err := os.Remove(m.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		klog.ErrorS(err, "Failed to record that the store has started; the next start checks the whole store", "file", m.path)
	}
}

// maxCheckedBytes is the maximum size of a database that is checked at each start. The check of a
// larger one takes more than a second. It is a variable for tests.
var maxCheckedBytes int64 = 256 << 20

// checkProgressInterval is the time between two log entries of a check at the start.
const checkProgressInterval = 10 * time.Second

// checkBeforeStart checks a database that is small, or whose last start did not complete. It logs the progress.
func checkBeforeStart(path string, incomplete bool) error {
	info, err := os.Stat(path)
	switch {
	case err != nil: // etcd creates it
		return nil
	case info.Size() <= maxCheckedBytes:
		return catchPanic(func() error { return checkStart(path) })
	case !incomplete:
		return nil
	}
	klog.InfoS("Checking the whole store, because its last start did not complete", "database", path, "bytes", info.Size())
	started, done := time.Now(), make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(checkProgressInterval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				klog.InfoS("Still checking the store", "database", path, "bytes", info.Size(), "seconds", int(time.Since(started).Seconds()))
			}
		}
	}()
	return catchPanic(func() error { return checkStart(path) })
}
