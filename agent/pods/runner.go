package pods

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/userns"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// Runner runs the pods of a node. Create it with New; Run detects exits.
type Runner struct {
	opts           Options
	report         func(runtime.Report)
	initial        initialState
	services       services
	fileSystems    userns.FileSystems
	oomLog         oomKillLog
	runtimeName    atomic.Pointer[string]
	statusTimedOut atomic.Bool   // the last ExistingContainers call failed
	retryDelay     time.Duration // after the first failure; tests shorten it
	// ctx ends with Run: nothing more is started, and containers keep running.
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu         sync.Mutex
	stopped    bool // no more workers start
	pods       map[types.UID]*pod
	runs       map[string]*run // running containers by ID
	sandboxes  map[string]*pod // by ID
	podsSynced bool            // RemoveOrphans was called: all pods bound to the node are known
}

var _ runtime.Runtime = (*Runner)(nil)

// New returns a Runner. The Runner calls report for each change; report must not block or call
// the Runner.
func New(opts Options, report func(runtime.Report)) (*Runner, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	r := &Runner{opts: opts, retryDelay: initialRetryDelay, report: report, pods: map[types.UID]*pod{}, runs: map[string]*run{}, sandboxes: map[string]*pod{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.services.start(r.ctx, opts.Client, &r.workers)
	r.oomLog.start(opts.Log)
	return r, nil
}

// Run detects exits and rotates logs until ctx ends. It then waits for running calls to the
// runtime. Containers keep running.
func (r *Runner) Run(ctx context.Context) {
	r.watchContainers(ctx)
	r.cancel()
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.workers.Wait()
	r.oomLog.stop()
}

// startWorker runs f in a goroutine. It reports false and does nothing if the Runner has stopped.
func (r *Runner) startWorker(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped {
		r.workers.Go(f)
	}
	return !r.stopped
}

// lookup returns the pod with that UID, or nil.
func (r *Runner) lookup(uid types.UID) *pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[uid]
}

// getOrCreate returns the pod of an object, creating it if necessary, and stores the newest
// object.
func (r *Runner) getOrCreate(object *corev1.Pod) *pod {
	r.mu.Lock()
	p := r.pods[object.UID]
	if p == nil {
		p = newPod(r, object)
		r.pods[object.UID] = p
	}
	r.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.object = object
	return p
}

// Start implements runtime.Runtime.
func (r *Runner) Start(object *corev1.Pod, container string, attempt int32) {
	r.getOrCreate(object).enqueue(&run{name: container, attempt: uint32(max(attempt, 0))})
}

// Resume implements runtime.Runtime.
func (r *Runner) Resume(object *corev1.Pod, container string, since podlifecycle.Status) {
	r.getOrCreate(object).enqueue(&run{name: container, attempt: uint32(max(since.Restarts, 0)), resumed: true})
}

// Update implements runtime.Runtime.
func (r *Runner) Update(object *corev1.Pod) {
	if r.lookup(object.UID) != nil {
		r.getOrCreate(object)
		r.opts.Volumes.UpdatePod(object)
	}
}

// Stop implements runtime.Runtime.
func (r *Runner) Stop(uid types.UID, container string) { r.stopContainer(uid, container, false) }

// Kill implements runtime.Runtime.
func (r *Runner) Kill(uid types.UID, container string) { r.stopContainer(uid, container, true) }

func (r *Runner) stopContainer(uid types.UID, container string, kill bool) {
	if p := r.lookup(uid); p != nil {
		p.stop(container, kill)
	}
}

// Release implements runtime.Runtime.
func (r *Runner) Release(object *corev1.Pod) { r.getOrCreate(object).startTeardown(false) }

// Forget implements runtime.Runtime.
func (r *Runner) Forget(uid types.UID) {
	if p := r.lookup(uid); p != nil {
		p.startTeardown(true)
	}
}

// Forgetting reports whether a Forget of the pod is in progress. Until it completes, the pod cannot
// start again.
func (r *Runner) Forgetting(uid types.UID) bool {
	p := r.lookup(uid)
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.teardown.remove
}

// track registers a running container so that its exit is detected.
func (r *Runner) track(c *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[c.id] = c
}

// untrack removes a container that no longer runs.
func (r *Runner) untrack(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, id)
}

// findTracked returns the run of a container, or the pod of a sandbox. Both are nil if the ID is
// unknown.
func (r *Runner) findTracked(id string) (*run, *pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id], r.sandboxes[id]
}
