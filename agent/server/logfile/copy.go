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

// Intervals at which a follower polls the file for new lines, and the container for its end.
const (
	pollInterval   = 100 * time.Millisecond
	statusInterval = time.Second
)

// Copy writes the part of the log at path that q requests. Without Follow it returns os.ErrNotExist if the log does not
// exist. With Follow it waits for the log. It then returns when ctx is done, or when ended reports that the container
// writes no more and everything is copied.
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

// openLog opens the log. With q.Follow it waits for the log, and returns nil if the container ends
// without one or ctx is done.
func openLog(ctx context.Context, path string, q Request, ended func(context.Context) (bool, error)) (*os.File, error) {
	for {
		hasEnded := true
		if q.Follow {
			var err error
			if hasEnded, err = ended(ctx); err != nil {
				return nil, err
			}
		}
		f, err := os.Open(path)
		if err == nil || !errors.Is(err, os.ErrNotExist) || !q.Follow {
			return f, err
		}
		if hasEnded {
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

// segments returns the files to read, oldest first, with the offsets to start at. After an
// error it returns the files opened so far.
func segments(path string, current *os.File, q Request) ([]*os.File, []int64, error) {
	rotated, err := rotations(path)
	if err != nil {
		return nil, nil, err
	}
	files, offsets := []*os.File{current}, []int64{0}
	remaining := q.Tail
	if q.Tail >= 0 {
		if offsets[0], remaining, err = tailOffset(current, remaining, q, false); err != nil {
			return files, nil, err
		}
	}
	for _, name := range rotated { // newest first
		if q.Tail >= 0 && remaining == 0 && offsets[len(offsets)-1] > 0 || q.Tail == 0 {
			break // otherwise the first line may start in the previous file
		}
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed concurrently
		}
		if err != nil {
			return files, nil, err
		}
		if isCurrent, err := sameFile(current, name); err == nil && isCurrent {
			_ = f.Close() // renamed since it was opened
			continue
		}
		offset := int64(0)
		if q.Tail >= 0 {
			if offset, remaining, err = tailOffset(f, remaining, q, true); err != nil {
				return append(files, f), nil, err
			}
		}
		files, offsets = append(files, f), append(offsets, offset)
	}
	slices.Reverse(files)
	slices.Reverse(offsets)
	return files, offsets, nil
}

// tailOffset returns the offset of the last n lines of a file, and the number of lines that remain
// to be read from older files.
func tailOffset(f *os.File, n int64, q Request, hasNext bool) (offset, remaining int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	offset, found, err := lastLines(f, info.Size(), n, q, hasNext)
	return offset, n - found, err
}

// rotations returns the rotated files of a log, newest first.
func rotations(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if ok && suffix != "" && strings.Trim(suffix, "0123456789-.") == "" {
			names = append(names, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

// follow continues at the position of lines. It returns the file that is open last.
func follow(ctx context.Context, path string, f *os.File, lines *reader, p *printer, ended func(context.Context) (bool, error)) (*os.File, error) {
	var lastStatus time.Time
	for {
		hasEnded := false
		if time.Since(lastStatus) >= statusInterval {
			var err error
			if hasEnded, err = ended(ctx); err != nil {
				return f, fmt.Errorf("reading the container status: %w", err)
			}
			lastStatus = time.Now()
		}
		// Check for rotation before reading the rest: then the old file is complete.
		isCurrent, err := sameFile(f, path)
		if err := lines.drain(p.print); err != nil {
			return f, err
		}
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return f, err
		case err == nil && !isCurrent:
			next, err := os.Open(path)
			if err == nil {
				_ = f.Close()
				f, lines = next, newReader(next)
				continue
			}
		case hasEnded:
			return f, nil
		}
		if sleep(ctx, pollInterval) != nil {
			return f, nil
		}
	}
}
