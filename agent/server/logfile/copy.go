package logfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pollInterval is how often a follower looks for more, and askEvery how often
// it asks, when there is no more, whether there will be.
const (
	pollInterval   = 100 * time.Millisecond
	statusInterval = time.Second
)

// Copy writes what q wants of the log at path. A follower ends when ctx does, or
// when ended says that the container writes no more and all of it is written; a
// log that is not there yet is waited for. Without Follow a missing log is an error
// that is os.ErrNotExist.
func Copy(ctx context.Context, out io.Writer, path string, q Request, ended func(context.Context) (bool, error)) error {
	current, err := openLog(ctx, path, q, ended)
	if err != nil || current == nil {
		return err
	}
	defer func() { _ = current.Close() }()
	files, offsets, err := segments(path, current, q)
	for _, f := range files {
		if f != current {
			defer f.Close()
		}
	}
	if err != nil {
		return err
	}
	p := &printer{out: out, q: q}
	var lines *reader
	for i, f := range files {
		if _, err := f.Seek(offsets[i], io.SeekStart); err != nil {
			return err
		}
		lines = newReader(f)
		if err := lines.drain(p.print); err != nil {
			return ignoreLimit(err)
		}
	}
	if !q.Follow {
		return nil
	}
	current, err = follow(ctx, path, current, lines, p, ended)
	return ignoreLimit(err)
}

func ignoreLimit(err error) error {
	if errors.Is(err, errLimitReached) {
		return nil
	}
	return err
}

// openLog opens the log; a follower waits for it, and gets nil if it never comes.
func openLog(ctx context.Context, path string, q Request, ended func(context.Context) (bool, error)) (*os.File, error) {
	for {
		over := true
		if q.Follow {
			var err error
			if over, err = ended(ctx); err != nil {
				return nil, err
			}
		}
		f, err := os.Open(path)
		if err == nil || !errors.Is(err, os.ErrNotExist) || !q.Follow {
			return f, err
		}
		if over {
			return nil, nil
		}
		if err := sleep(ctx, statusInterval); err != nil {
			return nil, nil
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// segments are the files to read, oldest first and current last, each with where
// to begin. On an error those that are open are returned.
func segments(path string, current *os.File, q Request) ([]*os.File, []int64, error) {
	rotated, err := rotations(path)
	if err != nil {
		return nil, nil, err
	}
	files, offsets := []*os.File{current}, []int64{0}
	want := q.Tail
	if q.Tail >= 0 {
		if offsets[0], want, err = tailOffset(current, want, q, false); err != nil {
			return files, nil, err
		}
	}
	for _, name := range rotated { // newest first
		if q.Tail >= 0 && want == 0 && offsets[len(offsets)-1] > 0 || q.Tail == 0 {
			break // else the first line may have begun in the file before
		}
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed just now
		}
		if err != nil {
			return files, nil, err
		}
		if again, err := sameFile(current, name); err == nil && again {
			_ = f.Close() // renamed since it was opened
			continue
		}
		at := int64(0)
		if q.Tail >= 0 {
			if at, want, err = tailOffset(f, want, q, true); err != nil {
				return append(files, f), nil, err
			}
		}
		files, offsets = append(files, f), append(offsets, at)
	}
	slices.Reverse(files)
	slices.Reverse(offsets)
	return files, offsets, nil
}

// tailOffset is where the last lines of a file begin and how many are still wanted of older ones.
func tailOffset(f *os.File, want int64, q Request, below bool) (at, left int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	at, found, err := lastLines(f, info.Size(), want, q, below)
	return at, want - found, err
}

// rotations are the files that a log was renamed to, newest first.
func rotations(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if ok && suffix != "" && strings.Trim(suffix, "0123456789-.") == "" {
			found = append(found, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found, nil
}

// follow goes on where lines stands. It returns the file that it has open last.
func follow(ctx context.Context, path string, f *os.File, lines *reader, p *printer, ended func(context.Context) (bool, error)) (*os.File, error) {
	var asked time.Time
	for {
		over := false
		if time.Since(asked) >= statusInterval {
			var err error
			if over, err = ended(ctx); err != nil {
				return f, fmt.Errorf("asking whether the container still runs: %w", err)
			}
			asked = time.Now()
		}
		// Whether it was rotated is asked before the rest is read: what was written to the old file is in it by then.
		here, err := sameFile(f, path)
		if err := lines.drain(p.print); err != nil {
			return f, err
		}
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return f, err
		case err == nil && !here:
			next, err := os.Open(path)
			if err == nil {
				_ = f.Close()
				f, lines = next, newReader(next)
				continue
			}
		case over:
			return f, nil
		}
		if sleep(ctx, pollInterval) != nil {
			return f, nil
		}
	}
}
