package pods

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// Runner runs the pods of a node. Make it with New, and let Run see what ends.
type Runner struct {
	opts           Options
	report         func(runtime.Report)
	initial        initialState
	services       services
	oomLog         oomKillLog
	runtimeName    atomic.Pointer[string] // of the runtime
	statusTimedOut atomic.Bool            // Recall was not answered
	retryDelay     time.Duration          // after a first failure; tests have a shorter one
	// ctx ends when Run does: nothing is started any more, and containers run on.
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu         sync.Mutex
	stopped    bool // nothing is begun any more
	pods       map[types.UID]*pod
	runs       map[string]*run // containers that run, by id
	sandboxes  map[string]*pod // by id
	podsSynced bool            // all pods that the API has bound here are known
}

var _ runtime.Runtime = (*Runner)(nil)

// New checks the options. The Runner tells report what happens; report must not block and not call back.
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

// Run sees what ends and rotates logs until ctx ends; then nothing is started any more.
// What is under way with the runtime is waited for; containers run on.
func (r *Runner) Run(ctx context.Context) {
	r.watchContainers(ctx)
	r.cancel()
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.workers.Wait()
	r.oomLog.stop()
}

// startWorker runs f beside others; it does not, and says so, when the Runner is over.
func (r *Runner) startWorker(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped {
		r.workers.Go(f)
	}
	return !r.stopped
}

// lookup is the one with that uid; nil if there is none.
func (r *Runner) lookup(uid types.UID) *pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[uid]
}

// getOrCreate is the pod of an object, made if it is new; object is its newest version.
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
		p.stop(container, kill) // the agent tells why
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

// track remembers a container that runs, so that its end is seen.
func (r *Runner) track(c *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[c.id] = c
}

// untrack forgets one that has ended.
func (r *Runner) untrack(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, id)
}

// findTracked is the run of a container that runs, or the pod of a sandbox; nil if it is none of ours.
func (r *Runner) findTracked(id string) (*run, *pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id], r.sandboxes[id]
}
