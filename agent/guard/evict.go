package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cgroup"
)

// Evict implements pressure.Agent. A pod without grace has been killed by then.
func (g *Guard) Evict(e agent.Eviction) {
	g.setEvicting(e.Pod, true)
	go func() {
		if e.Done != nil {
			defer e.Done()
		}
		defer g.setEvicting(e.Pod, false)
		p := g.pod(e.Pod)
		if p == nil || isTerminated(p) { // by itself, a moment ago
			return
		}
		if err := g.writeEviction(p, e); err != nil {
			g.opts.Log.Error(err, "An eviction could not be written", "pod", p.Namespace+"/"+p.Name)
			return
		}
		g.waitTerminated(p)
	}()
}

// writeEviction makes the pod's status say that it was evicted; that of another pod of its name is left alone.
func (g *Guard) writeEviction(p *corev1.Pod, e agent.Eviction) error {
	patch, err := statusPatch(p, e)
	if err != nil {
		return err
	}
	for pause := initialBackoff; ; pause = min(2*pause, maxBackoff) {
		_, err := g.opts.Client.CoreV1().Pods(p.Namespace).Patch(g.ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err) && g.replaced(p):
			return nil
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
			return err
		}
		g.opts.Log.Error(err, "Writing an eviction failed; trying again", "pod", p.Namespace+"/"+p.Name, "after", pause)
		if !sleep(g.ctx, pause) {
			return g.ctx.Err()
		}
	}
}

// replaced says that the pod is gone, though there may be another of its name.
func (g *Guard) replaced(p *corev1.Pod) bool {
	is, err := g.opts.Client.CoreV1().Pods(p.Namespace).Get(g.ctx, p.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && is.UID != p.UID
}

// statusPatch is what is changed of a pod's status. The uid in it makes the API server
// refuse another pod of the same name.
func statusPatch(p *corev1.Pod, e agent.Eviction) ([]byte, error) {
	status := map[string]any{"phase": corev1.PodFailed, "reason": e.Reason, "message": e.Message}
	if e.Condition != nil {
		status["conditions"] = []*corev1.PodCondition{e.Condition}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID}, "status": status})
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	return patch, nil
}

// waitTerminated waits until nothing of the pod runs any more and its memory is free: the
// kubelet ends what is left.
func (g *Guard) waitTerminated(p *corev1.Pod) {
	for path := g.cgroup(p); ; {
		if pids, err := g.opts.Host.Procs(path); err == nil && len(pids) == 0 && g.anonymousMemory(path) < freedThreshold {
			return
		}
		if !sleep(g.ctx, pollInterval) {
			return
		}
	}
}

// freedThreshold is so little that it may be what the kernel has not counted off yet.
const freedThreshold = 1 << 20

// anonymousMemory is the memory of a cgroup's processes. A process that dies is no longer listed
// before its memory is given back.
func (g *Guard) anonymousMemory(path string) int64 {
	group, err := g.opts.Host.Open(path)
	if err != nil {
		return 0 // it is gone
	}
	defer group.Close()
	var m cgroup.Memory
	if group.Memory(&m) != nil {
		return 0
	}
	return m.Anon
}

// sleep waits; false says that ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
