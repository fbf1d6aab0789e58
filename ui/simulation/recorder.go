package simulation

import (
	"context"
	"fmt"
	"runtime/metrics"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/store"
	"github.com/berthproject/berth/ui/fleet"
)

// detailed is the number of frames that show each time at which something changes. After them, frames have a distance of
// a detailed-th part of the run, which bounds their number to twice that.
const detailed = 2000

// recorder builds frames from the commits and the timeline of a run.
type recorder struct {
	limits  Limits
	send    func(*Frame) error
	ctx     context.Context
	until   time.Duration
	heap    uint64 // live before the run
	w       *cluster.Cluster
	stopped error // why the run ends early
	polls   int

	frame     Frame
	at        time.Duration // of the frame
	nodes     map[string]*corev1.Node
	pods      map[string]*corev1.Pod // nil: removed
	frames    int
	lines     int
	nodeCount int
	podCount  int
}

func (r *recorder) observe(w *cluster.Cluster) {
	r.w, r.nodes, r.pods = w, map[string]*corev1.Node{}, map[string]*corev1.Pod{}
	w.OnCommit(r.commit)
}

// commit adds a change of a node or a pod to the frame.
func (r *recorder) commit(c store.Change) {
	if c.Kind != store.Nodes && c.Kind != store.Pods {
		return
	}
	r.advance()
	count := 0
	switch {
	case c.Old == nil:
		count = 1
	case c.New == nil:
		count = -1
	}
	key := store.KeyOf(c.Object())
	if c.Kind == store.Nodes {
		r.nodeCount += count
		r.nodes[key], _ = c.New.(*corev1.Node)
		return
	}
	r.podCount += count
	r.pods[key], _ = c.New.(*corev1.Pod)
}

// line adds a line of the timeline to the frame.
func (r *recorder) line(l sim.Line) {
	r.advance()
	if r.lines++; r.lines <= r.limits.Lines {
		r.frame.Lines = append(r.frame.Lines, l)
	}
}

// advance sends the frame if the time has changed.
func (r *recorder) advance() {
	now := r.w.Elapsed()
	distance := time.Duration(1)
	if r.frames >= detailed {
		distance = r.until / detailed
	}
	if now-r.at >= distance {
		_ = r.flush() // stop returns the error
		r.at = now
	}
	r.frame.At = now.Seconds()
}

// flush sends the frame if it has changes.
func (r *recorder) flush() error {
	for key, n := range r.nodes {
		if n == nil {
			r.frame.DeletedNodes = append(r.frame.DeletedNodes, key)
		} else {
			r.frame.Nodes = append(r.frame.Nodes, fleet.NodeOf(n))
		}
	}
	for key, p := range r.pods {
		if p == nil {
			r.frame.DeletedPods = append(r.frame.DeletedPods, key)
		} else if shown, ok := fleet.PodOf(p); ok {
			r.frame.AddPod(&shown)
		} else {
			r.frame.DeletedPods = append(r.frame.DeletedPods, key)
		}
	}
	clear(r.nodes)
	clear(r.pods)
	if r.frame.Empty() && len(r.frame.Lines) == 0 && r.frame.At < r.until.Seconds() || r.stopped != nil {
		return r.stopped
	}
	r.frames++
	err := r.send(&r.frame)
	r.frame = Frame{At: r.frame.At}
	if err != nil {
		r.stopped = err
	}
	return err
}

// stop reports whether the run must end early.
func (r *recorder) stop() bool {
	if r.stopped != nil {
		return true
	}
	r.polls++
	l := &r.limits
	switch {
	case r.ctx.Err() != nil:
		r.stopped = context.Cause(r.ctx)
	case r.nodeCount > l.Nodes:
		r.stopped = limitError{fmt.Sprintf("has more than %d nodes", l.Nodes)}
	case r.podCount > l.Pods:
		r.stopped = limitError{fmt.Sprintf("has more than %d pods", l.Pods)}
	case r.w.Steps() > l.Steps:
		r.stopped = limitError{fmt.Sprintf("has more than %d events", l.Steps)}
	case r.lines > l.Lines:
		r.stopped = limitError{fmt.Sprintf("has more than %d lines in its timeline", l.Lines)}
	case r.polls%256 == 0 && liveHeap() > r.heap+l.Heap:
		r.stopped = limitError{fmt.Sprintf("uses more than %d MiB of memory", l.Heap>>20)}
	}
	return r.stopped != nil
}

// liveHeap returns the size of the objects of this process that were live in the last garbage collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
