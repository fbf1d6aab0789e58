package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Prefixes and suffix of file names.
const (
	displacementPrefix = "displacements-"
	decisionPrefix     = "decisions-"
	suffix             = ".jsonl"
)

// file is the newest file of a writer.
type file struct {
	number int // 0: none yet
	f      *os.File
	size   int64 // of complete lines
}

// filePath returns the path of a file; stem is the prefix and the writer.
func filePath(dir, stem string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("%s.%08d%s", stem, number, suffix))
}

// listFiles returns the paths of the files with a prefix, sorted by writer and age.
func listFiles(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), suffix) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// openNewest opens the newest file of a stem and truncates an incomplete line.
func openNewest(dir, stem string) (*file, error) {
	paths, err := listFiles(dir, stem+".")
	if err != nil || len(paths) == 0 {
		return &file{}, err
	}
	last := paths[len(paths)-1]
	out := &file{}
	digits := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(last), stem+"."), suffix)
	if _, err := fmt.Sscanf(digits, "%d", &out.number); err != nil {
		return nil, fmt.Errorf("%s: not a file of this journal: its number must be digits", last)
	}
	f, err := os.OpenFile(last, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if out.size, err = wholeLinesSize(f); err == nil {
		err = f.Truncate(out.size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	out.f = f
	return out, nil
}

// wholeLinesSize returns the size of the complete lines of a file.
func wholeLinesSize(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	block := make([]byte, 64<<10)
	for end > 0 {
		from := max(0, end-int64(len(block)))
		part := block[:end-from]
		if _, err := f.ReadAt(part, from); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// next creates the file after f.
func (f *file) next(dir, stem string) (*file, error) {
	path := filePath(dir, stem, f.number+1)
	n, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syncDir(dir); err != nil {
		return nil, errors.Join(err, n.Close(), os.Remove(path))
	}
	_ = f.close()
	return &file{number: f.number + 1, f: n}, nil
}

// syncDir syncs a directory.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// append appends lines. After an error, the next append overwrites what was written.
func (f *file) append(lines []byte) error {
	if _, err := f.f.WriteAt(lines, f.size); err != nil {
		return errors.Join(err, f.f.Truncate(f.size))
	}
	if err := f.f.Sync(); err != nil {
		return err
	}
	f.size += int64(len(lines))
	return nil
}

func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	return f.f.Close()
}

// dropOldest deletes the files of a stem except the newest count files.
func dropOldest(dir, stem string, count int) error {
	paths, err := listFiles(dir, stem+".")
	if err != nil {
		return err
	}
	for _, p := range paths[:max(0, len(paths)-count)] {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
