package staticpod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

const (
	maxFileSize = 10 << 20 // bytes, as in the kubelet
	maxFiles    = 1000
	// scanInterval is how often the Source looks for changed files.
	scanInterval = time.Second
)

// Source reads the manifests of a path.
type Source struct {
	// Path is a directory of manifests, or one manifest.
	Path string
	// Node is the name of the node.
	Node string
	// Interval is the time after which files are read again even if they seem unchanged.
	Interval time.Duration
	Log      klog.Logger

	pods     map[string]*corev1.Pod // the last valid pod of each file
	errors   map[string]string      // the last error of each file
	versions map[string]fileVersion // of the files, as last read
	readAt   time.Time
	listed   bool              // the files were listed once
	owners   map[string]string // file of each namespace/name, as last sent
}

// fileVersion changes when a file changes.
type fileVersion struct {
	size, mtime, ctime int64 // bytes; nanoseconds since 1970
	inode              uint64
}

// Run sends the pods of all manifests until ctx ends: at once, when a file may have changed, and after each Interval.
func (s *Source) Run(ctx context.Context, out chan<- []*corev1.Pod) {
	tick := time.NewTicker(scanInterval)
	defer tick.Stop()
	for {
		if pods, changed := s.read(time.Now()); changed {
			select {
			case out <- pods:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// read returns the pods of all manifests, and whether it read the files: they may have changed, or Interval has
// passed. Until the files have been listed once it returns false, because the caller would stop the pods that already
// run.
func (s *Source) read(now time.Time) ([]*corev1.Pod, bool) {
	files, err := s.files()
	if err != nil {
		s.report(s.Path, fmt.Errorf("listing static pods: %w", err))
	} else {
		s.report(s.Path, nil)
	}
	if s.listed = s.listed || err == nil || errors.Is(err, fs.ErrNotExist); !s.listed {
		return nil, false
	}
	versions := map[string]fileVersion{}
	for _, file := range files {
		versions[file] = versionOf(file)
	}
	if s.versions != nil && maps.Equal(versions, s.versions) && now.Sub(s.readAt) < s.Interval {
		return nil, false
	}
	s.versions, s.readAt = versions, now
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		files = slices.Sorted(maps.Keys(s.pods)) // keep the last pods
	}
	pods, valid := map[string]*corev1.Pod{}, map[string]bool{}
	for _, file := range files {
		pod, err := s.readFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.report(file, nil)
			continue // removed in the meantime
		case err != nil:
			s.report(file, err)
			if pod = s.pods[file]; pod == nil {
				continue
			}
		default:
			valid[file] = true
		}
		pods[file] = pod
	}
	s.pods = pods
	list, duplicates := s.unique()
	for file := range valid {
		s.report(file, duplicates[file])
	}
	return list, true
}

// unique returns one pod per namespace and name, in the order of the files, and an error for each file whose pod it
// omits. If several files have a pod of the same name, unique prefers the file that it used in the last call, then
// the first one.
func (s *Source) unique() (out []*corev1.Pod, duplicates map[string]error) {
	files, owners := slices.Sorted(maps.Keys(s.pods)), map[string]string{}
	for _, file := range files {
		key := podKey(s.pods[file])
		if _, exists := owners[key]; !exists || file == s.owners[key] {
			owners[key] = file
		}
	}
	duplicates = map[string]error{}
	for _, file := range files {
		key := podKey(s.pods[file])
		if owner := owners[key]; owner != file {
			duplicates[file] = fmt.Errorf("metadata.name: pod %s: %s has a pod of the same name", key, owner)
			continue
		}
		out = append(out, s.pods[file])
	}
	s.owners = owners
	return out, duplicates
}

func podKey(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// report logs an error of a file once. A nil error resets it.
func (s *Source) report(file string, err error) {
	if s.errors == nil {
		s.errors = map[string]string{}
	}
	if err == nil {
		delete(s.errors, file)
		return
	}
	if s.errors[file] == err.Error() {
		return
	}
	s.errors[file] = err.Error()
	s.Log.Error(err, "Static pod manifest cannot be used", "file", file, "keepsLastPod", s.pods[file] != nil)
}

// files returns the manifests: the files of the directory, or the path itself.
func (s *Source) files() ([]string, error) {
	info, err := os.Stat(s.Path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{s.Path}, nil
	}
	dir, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxFiles {
		return nil, fmt.Errorf("%s: has more than %d files", s.Path, maxFiles)
	}
	var out []string
	for _, name := range names {
		if !strings.HasPrefix(name, ".") {
			out = append(out, filepath.Join(s.Path, name))
		}
	}
	slices.Sort(out)
	return out, nil
}

// versionOf returns the version of a file, following links, or the zero value if there is none.
func versionOf(file string) fileVersion {
	var s unix.Stat_t
	if err := unix.Stat(file, &s); err != nil {
		return fileVersion{}
	}
	return fileVersion{size: s.Size, mtime: unix.TimespecToNsec(s.Mtim), ctime: unix.TimespecToNsec(s.Ctim), inode: s.Ino}
}

// readFile reads the pod of a manifest.
func (s *Source) readFile(file string) (*corev1.Pod, error) {
	// O_NONBLOCK: the open of a FIFO does not wait for a writer.
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("file type %s: must be a regular file", info.Mode().Type())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileSize {
		return nil, fmt.Errorf("size %d: must be at most %d bytes", max(info.Size(), int64(len(text))), maxFileSize)
	}
	return parse(text, file, s.Node)
}
