package userns

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Allocator assigns ranges to pods. It is safe for concurrent use. Lookup and Release of a nil
// Allocator have no effect.
type Allocator struct {
	node   Range
	length uint32 // of a pod's range
	dir    string // of the pods' directories

	mu     sync.Mutex
	ranges map[types.UID]Range
	next   uint32 // index of the range at which the search for a free one begins
}

// NewAllocator returns an Allocator for ranges of idsPerPod IDs within node. podsDir contains the
// directories of the pods, named by UID, with the ranges that they already have.
func NewAllocator(node Range, idsPerPod uint32, podsDir string) (*Allocator, error) {
	a := &Allocator{node: node, length: idsPerPod, dir: podsDir, ranges: map[types.UID]Range{}}
	dirs, err := os.ReadDir(podsDir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, d := range dirs {
		r, err := readRange(filepath.Join(podsDir, d.Name()))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		a.ranges[types.UID(d.Name())] = r
	}
	return a, nil
}

// Allocate returns the range of a pod, whose directory must exist. The pod keeps it until Release.
func (a *Allocator) Allocate(pod types.UID) (Range, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, ok := a.ranges[pod]; ok {
		return r, nil
	}
	count := a.node.Length / a.length
	for i := range count {
		index := (a.next + i) % count
		r := Range{First: a.node.First + index*a.length, Length: a.length}
		if !a.isFree(r) {
			continue
		}
		if err := writeRange(filepath.Join(a.dir, string(pod)), r); err != nil {
			return Range{}, err
		}
		a.ranges[pod], a.next = r, index+1
		return r, nil
	}
	return Range{}, fmt.Errorf("all %d ranges of user IDs of the node are in use", count)
}

func (a *Allocator) isFree(r Range) bool {
	for _, used := range a.ranges {
		if used.overlaps(r) {
			return false
		}
	}
	return true
}

// Lookup returns the range of a pod, and whether it has one.
func (a *Allocator) Lookup(pod types.UID) (r Range, ok bool) {
	if a == nil {
		return Range{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok = a.ranges[pod]
	return r, ok
}

// Release frees the range of a pod whose directory was removed.
func (a *Allocator) Release(pod types.UID) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.ranges, pod)
}
