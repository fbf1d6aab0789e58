package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// Options configures a journal.
type Options struct {
	// Writer names the writing component, such as scheduler; each writer has its own files. It
	// consists of lower-case letters, digits and dashes.
	Writer string
	// FileBytes is the size at which a new file is started (0: 8 MiB), Files the number of files to
	// keep (0: 8). A record has about 500 bytes.
	FileBytes int64
	Files     int
}

// Journal appends the displacement records of one writer to a directory.
type Journal struct {
	o    Options
	dir  string
	stem string // of file names
	lock *fileutil.LockedFile

	mu      sync.Mutex
	batch   *batch // collects lines; never nil
	writing bool   // a caller is writing batches and will write all of them
	closed  bool

	appending sync.WaitGroup

	// Accessed by the writing caller only.
	file *file
}

// batch is a set of lines written with one sync.
type batch struct {
	lines bytes.Buffer
	done  chan struct{}
	err   error // valid after done
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// Open opens a journal for appending and truncates a line left incomplete by a crash. Only one
// process may open the files of a writer; Open returns an error in a second one.
func Open(dir string, o Options) (*Journal, error) { return openFiles(dir, displacementPrefix, o) }

func openFiles(dir, prefix string, o Options) (*Journal, error) {
	if o.FileBytes <= 0 {
		o.FileBytes = 8 << 20
	}
	if o.Files <= 0 {
		o.Files = 8
	}
	if o.Writer == "" || strings.Trim(o.Writer, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return nil, fmt.Errorf("journal %s: writer %q: must consist of lower-case letters, digits and dashes", dir, o.Writer)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the journal: %w", err)
	}
	lock, err := fileutil.TryLockFile(filepath.Join(dir, prefix+o.Writer+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("journal %s: another process writes to it as %s: stop it, or use another directory with --journal", dir, o.Writer)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the journal: %w", err)
	}
	j := &Journal{o: o, dir: dir, stem: prefix + o.Writer, lock: lock, batch: newBatch()}
	if j.file, err = openNewest(dir, j.stem); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	return j, nil
}

var errClosed = errors.New("the journal is closed")

// Append writes records and returns when they are on disk. Concurrent calls share a sync. After an
// error, the records may be missing on disk. It does nothing on a nil Journal.
func (j *Journal) Append(records ...*Displacement) error {
	if j == nil || len(records) == 0 {
		return nil
	}
	var lines bytes.Buffer
	for _, r := range records {
		line, err := r.JSON()
		if err != nil {
			return err
		}
		lines.WriteString(line)
		lines.WriteByte('\n')
	}
	return j.append(lines.Bytes())
}

func (j *Journal) append(lines []byte) error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return errClosed
	}
	j.appending.Add(1)
	defer j.appending.Done()
	b := j.batch
	b.lines.Write(lines)
	if j.writing {
		j.mu.Unlock()
		<-b.done
		return b.err
	}
	j.writing = true
	j.mu.Unlock()
	j.flush()
	return b.err
}

// flush writes batches until none remain.
func (j *Journal) flush() {
	for {
		j.mu.Lock()
		b := j.batch
		if b.lines.Len() == 0 {
			j.writing = false
			j.mu.Unlock()
			return
		}
		j.batch = newBatch()
		j.mu.Unlock()
		if b.err = j.write(b.lines.Bytes()); b.err != nil {
			b.err = fmt.Errorf("writing the journal: %w", b.err)
		}
		close(b.done)
	}
}

// write writes lines, into a new file if the newest is full.
func (j *Journal) write(lines []byte) error {
	if j.file.f == nil || j.file.size > 0 && j.file.size+int64(len(lines)) > j.o.FileBytes {
		next, err := j.file.next(j.dir, j.stem)
		if err != nil {
			return err
		}
		j.file = next
		if err := dropOldest(j.dir, j.stem, j.o.Files); err != nil {
			return err
		}
	}
	return j.file.append(lines)
}

// Close writes pending records and closes the journal.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	j.appending.Wait()
	return errors.Join(j.file.close(), j.lock.Close())
}
