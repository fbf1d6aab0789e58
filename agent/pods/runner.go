package pods

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
)

// Runner runs the pods of a node. Make it with New, and let Run see what ends.
type Runner struct {
	opts     Options
	report   func(runtime.Report)
	past     past
	services services
	kernel   killLog
	name     atomic.Pointer[string] // of the runtime
	deaf     atomic.Bool            // Recall was not answered
	pause    time.Duration          // after a first failure; tests have a shorter one
	// ctx ends when Run does: nothing is started any more, and containers run on.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu        sync.Mutex
	over      bool // nothing is begun any more
	pods      map[types.UID]*pod
	runs      map[string]*run // containers that run, by id
	sandboxes map[string]*pod // by id
	swept     bool            // all pods that the API has bound here are known
}

var _ runtime.Runtime = (*Runner)(nil)

// New checks the options. The Runner tells report what happens; report must not block and not call back.
func New(opts Options, report func(runtime.Report)) (*Runner, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	r := &Runner{opts: opts, pause: firstPause, report: report, pods: map[types.UID]*pod{}, runs: map[string]*run{}, sandboxes: map[string]*pod{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.services.open(r.ctx, opts.Client, &r.work)
	r.kernel.open(opts.Log)
	return r, nil
}

// Run sees what ends and rotates logs until ctx ends; then nothing is started any more.
// What is under way with the runtime is waited for; containers run on.
func (r *Runner) Run(ctx context.Context) {
	r.follow(ctx)
	r.cancel()
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.work.Wait()
	r.kernel.close()
}

// spawn runs f beside others; it does not, and says so, when the Runner is over.
func (r *Runner) spawn(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.work.Go(f)
	}
	return !r.over
}

// pod is the one with that uid; nil if there is none.
func (r *Runner) pod(uid types.UID) *pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[uid]
}

// take is the pod of an object, made if it is new; object is its newest version.
func (r *Runner) take(object *corev1.Pod) *pod {
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
	r.take(object).enqueue(&run{name: container, attempt: uint32(max(attempt, 0))})
}

// Resume implements runtime.Runtime.
func (r *Runner) Resume(object *corev1.Pod, container string, since podlife.Status) {
	r.take(object).enqueue(&run{name: container, attempt: uint32(max(since.Restarts, 0)), resumed: true})
}

// Update implements runtime.Runtime.
func (r *Runner) Update(object *corev1.Pod) {
	if r.pod(object.UID) != nil {
		r.take(object)
		r.opts.Volumes.Changed(object)
	}
}

// Stop implements runtime.Runtime.
func (r *Runner) Stop(uid types.UID, container string) { r.end(uid, container, false) }

// Kill implements runtime.Runtime.
func (r *Runner) Kill(uid types.UID, container string) { r.end(uid, container, true) }

func (r *Runner) end(uid types.UID, container string, kill bool) {
	if p := r.pod(uid); p != nil {
		p.stop(container, kill) // the agent tells why
	}
}

// Release implements runtime.Runtime.
func (r *Runner) Release(object *corev1.Pod) { r.take(object).leave(false) }

// Forget implements runtime.Runtime.
func (r *Runner) Forget(uid types.UID) {
	if p := r.pod(uid); p != nil {
		p.leave(true)
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

// tracked is the run of a container that runs, or the pod of a sandbox; nil if it is none of ours.
func (r *Runner) tracked(id string) (*run, *pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id], r.sandboxes[id]
}
