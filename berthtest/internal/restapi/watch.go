package restapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/berthproject/berth/sim/store"
)

// maxHistory is the number of commits from which a watch can continue.
const maxHistory = 10_000

// watch is the body of a watch response: a stream of events. Its client closes it.
type watch struct {
	s       *Server
	q       *request
	matches func(store.Object) bool
	ctx     context.Context
	arrived chan struct{} // has an element if pending is not empty

	mu      sync.Mutex
	pending bytes.Buffer
	closed  bool
}

// watch starts a watch. resourceVersion is that of a list, or empty: then the watch starts with the current objects.
func (s *Server) watch(q *request) (*watch, error) {
	matches, err := q.selector()
	if err != nil {
		return nil, err
	}
	w := &watch{s: s, q: q, matches: matches, ctx: q.Context(), arrived: make(chan struct{}, 1)}
	query := q.URL.Query()
	initial := query.Get("sendInitialEvents") == "true"
	switch version := query.Get("resourceVersion"); {
	case initial || version == "" || version == "0":
		objects, err := s.selectedObjects(q)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			w.send(apiwatch.Added, q.present(o))
		}
		if initial {
			w.sendInitialEnd()
		}
	default:
		if err := w.replay(version); err != nil {
			return nil, err
		}
	}
	s.watches = append(s.watches, w)
	return w, nil
}

// replay sends the commits after a resourceVersion.
func (w *watch) replay(version string) error {
	from, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("resourceVersion %q: must be a number", version))
	}
	if from < w.s.compacted {
		return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, w.s.compacted))
	}
	for _, c := range w.s.history {
		if c.Revision > from {
			w.observe(c)
		}
	}
	return nil
}

// Observe passes a commit to the watches. Backend.Do must be running.
func (s *Server) Observe(c store.Change) {
	if len(s.history) == maxHistory {
		s.compacted = s.history[maxHistory/2-1].Revision
		s.history = slices.Delete(s.history, 0, maxHistory/2)
	}
	s.history = append(s.history, c)
	for _, w := range s.watches {
		w.observe(c)
	}
}

// observe sends a commit, if it concerns the watch.
func (w *watch) observe(c store.Change) {
	if c.Kind != w.q.kind.stored {
		return
	}
	before, after := c.Old != nil && w.matches(c.Old), c.New != nil && w.matches(c.New)
	switch {
	case before && after:
		w.send(apiwatch.Modified, w.q.present(c.New))
	case after:
		w.send(apiwatch.Added, w.q.present(c.New))
	case before:
		gone := w.q.present(c.Old)
		if accessor, err := meta.Accessor(gone); err == nil {
			accessor.SetResourceVersion(strconv.FormatUint(c.Revision, 10))
		}
		w.send(apiwatch.Deleted, gone)
	}
}

// sendInitialEnd reports that the initial objects are complete.
func (w *watch) sendInitialEnd() {
	bookmark := w.q.kind.New()
	bookmark.GetObjectKind().SetGroupVersionKind(w.q.kind.GroupVersionKind())
	if wantsMetadata(w.q) {
		bookmark = &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}}
	}
	if accessor, err := meta.Accessor(bookmark); err == nil {
		accessor.SetResourceVersion(strconv.FormatUint(w.s.Store.Revision(), 10))
		accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	w.send(apiwatch.Bookmark, bookmark)
}

// send adds an event to the stream.
func (w *watch) send(event apiwatch.EventType, o runtime.Object) {
	data, err := json.Marshal(map[string]any{"type": event, "object": o})
	if err != nil { // unreachable: API types have a JSON form
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.pending.Write(append(data, '\n'))
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// Read implements io.Reader: it blocks until there is an event.
func (w *watch) Read(b []byte) (int, error) {
	for {
		w.mu.Lock()
		if w.pending.Len() > 0 || w.closed {
			defer w.mu.Unlock()
			return w.pending.Read(b)
		}
		w.mu.Unlock()
		select {
		case <-w.arrived:
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		case <-w.s.Ended:
			return 0, io.EOF
		}
	}
}

// Close implements io.Closer.
func (w *watch) Close() error {
	w.mu.Lock()
	closed := w.closed
	w.closed = true
	select {
	case w.arrived <- struct{}{}:
	default:
	}
	w.mu.Unlock()
	if !closed {
		w.s.Do(func() {
			w.s.watches = slices.DeleteFunc(w.s.watches, func(other *watch) bool { return other == w })
		})
	}
	return nil
}
