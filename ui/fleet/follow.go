package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

const (
	pageSize = 1000
	// maxPending is the maximum number of changes that wait for the client. Lists and watches pause when it is reached.
	maxPending = 20_000
	// maxBatch is the maximum number of changes in an update.
	maxBatch = 5000
	// watchDuration is how long a watch lasts. The API server authorizes each new watch, so that revoked rights take
	// effect.
	watchDuration = 30 * time.Second
	maxBackoff    = 30 * time.Second
)

// Update is a change of what the page shows.
type Update struct {
	Changes
	Reset  []string          `json:"reset,omitempty"`  // kinds whose earlier objects the client deletes first
	Errors map[string]string `json:"errors,omitempty"` // by kind; "" after a complete list
	// Unauthorized reports that the API server no longer accepts the credentials.
	Unauthorized bool `json:"-"`
}

// Follower lists and watches nodes and pods, and keeps the changes that the client has not received yet.
type Follower struct {
	Changed chan struct{} // receives a value if there are changes

	mu           sync.Mutex
	taken        *sync.Cond
	closed       bool
	nodes        map[string]*Node // nil: removed
	pods         map[string]*Pod
	reset        map[string]bool
	errors       map[string]string
	unauthorized bool
	running      sync.WaitGroup
}

// Follow starts to follow nodes and the pods of a namespace until the context ends. An empty namespace means all.
func Follow(ctx context.Context, client kubernetes.Interface, namespace string) *Follower {
	f := &Follower{Changed: make(chan struct{}, 1), nodes: map[string]*Node{}, pods: map[string]*Pod{}, reset: map[string]bool{}, errors: map[string]string{}}
	f.taken = sync.NewCond(&f.mu)
	nodes, pods := client.CoreV1().Nodes(), client.CoreV1().Pods(namespace)
	f.running.Go(func() {
		f.follow(ctx, source{kind: "nodes", watch: nodes.Watch, put: f.putNode, list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) }})
	})
	f.running.Go(func() {
		f.follow(ctx, source{kind: "pods", watch: pods.Watch, put: f.putPod, list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) }})
	})
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.closed = true
		f.taken.Broadcast()
	})
	return f
}

// Wait blocks until all goroutines of the Follower have ended. They end when the context does.
func (f *Follower) Wait() { f.running.Wait() }

// source is a kind of objects.
type source struct {
	kind  string
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	put   func(o runtime.Object, removed bool)
}

// follow lists and watches one kind. It retries after an error.
func (f *Follower) follow(ctx context.Context, s source) {
	for backoff := time.Second; ctx.Err() == nil; backoff = min(2*backoff, maxBackoff) {
		err := f.listAndWatch(ctx, s, func() { backoff = time.Second })
		if ctx.Err() != nil {
			return
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			continue
		}
		f.fail(s.kind, err)
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
		}
	}
}

// fail reports an error. It removes the objects of a kind that the user may no longer read.
func (f *Follower) fail(kind string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors[kind] = err.Error()
	f.unauthorized = f.unauthorized || apierrors.IsUnauthorized(err)
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		f.forget(kind)
	}
	f.signal()
}

// forget removes all objects of a kind. The caller holds the lock.
func (f *Follower) forget(kind string) {
	f.reset[kind] = true
	if kind == "nodes" {
		clear(f.nodes)
	} else {
		clear(f.pods)
	}
}

func (f *Follower) listAndWatch(ctx context.Context, s source, succeeded func()) error {
	f.mu.Lock()
	f.forget(s.kind)
	f.mu.Unlock()
	version, next := "", ""
	for first := true; first || next != ""; first = false {
		list, err := s.list(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return err
		}
		accessor, err := meta.ListAccessor(list)
		if err != nil {
			return err
		}
		version, next = accessor.GetResourceVersion(), accessor.GetContinue()
		if err := meta.EachListItem(list, func(o runtime.Object) error { s.put(o, false); return ctx.Err() }); err != nil {
			return err
		}
	}
	f.mu.Lock()
	f.errors[s.kind] = ""
	f.signal()
	f.mu.Unlock()
	for {
		start := time.Now()
		if err := watchOnce(ctx, s, &version); err != nil {
			return err
		}
		succeeded()
		if time.Since(start) < time.Second { // the server ends watches at once
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// watchOnce reads one watch to its end and updates the version to continue from.
func watchOnce(ctx context.Context, s source, version *string) error {
	seconds := int64(watchDuration / time.Second)
	w, err := s.watch(ctx, metav1.ListOptions{ResourceVersion: *version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, w.Stop) // also if the client does not end the watch
	defer stop()
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
		o, err := meta.Accessor(e.Object)
		if err != nil {
			return fmt.Errorf("watching %s: %w", s.kind, err)
		}
		*version = o.GetResourceVersion()
		if e.Type != watch.Bookmark {
			s.put(e.Object, e.Type == watch.Deleted)
		}
	}
	return ctx.Err()
}

func (f *Follower) putNode(o runtime.Object, removed bool) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return
	}
	var shown *Node
	if !removed {
		shown = new(NodeOf(n))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.awaitRoom()
	f.nodes[n.Name] = shown
	f.signal()
}

func (f *Follower) putPod(o runtime.Object, removed bool) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	var shown *Pod
	if converted, exists := PodOf(p); exists && !removed {
		shown = &converted
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.awaitRoom()
	f.pods[p.Namespace+"/"+p.Name] = shown
	f.signal()
}

// awaitRoom blocks while too many changes wait for the client. The caller holds the lock.
func (f *Follower) awaitRoom() {
	for len(f.nodes)+len(f.pods) >= maxPending && !f.closed {
		f.taken.Wait()
	}
}

// signal reports changes. The caller holds the lock.
func (f *Follower) signal() {
	select {
	case f.Changed <- struct{}{}:
	default:
	}
}

// Take returns the next changes and whether there are more.
func (f *Follower) Take() (u *Update, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u = &Update{Unauthorized: f.unauthorized}
	for kind := range f.reset {
		u.Reset = append(u.Reset, kind)
	}
	clear(f.reset)
	room := maxBatch
	for name, n := range f.nodes {
		if room--; room < 0 {
			break
		}
		if delete(f.nodes, name); n == nil {
			u.DeletedNodes = append(u.DeletedNodes, name)
		} else {
			u.Nodes = append(u.Nodes, *n)
		}
	}
	for key, p := range f.pods {
		if room--; room < 0 {
			break
		}
		if delete(f.pods, key); p == nil {
			u.DeletedPods = append(u.DeletedPods, key)
		} else {
			u.AddPod(p)
		}
	}
	if more = len(f.nodes)+len(f.pods) > 0; more {
		f.signal()
	} else { // the list is complete for the client only now
		u.Errors, f.errors = f.errors, map[string]string{}
	}
	f.taken.Broadcast()
	return u, more
}
