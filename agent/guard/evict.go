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

// Evict implements pressure.Agent. If e.Immediate is set, the pressure manager has already killed the pod.
func (g *Guard) Evict(e agent.Eviction) {
	g.setEvicting(e.Pod, true)
	go func() {
		if e.Done != nil {
			defer e.Done()
		}
		defer g.setEvicting(e.Pod, false)
		p := g.pod(e.Pod)
		if p == nil || isTerminated(p) { // the pod terminated or was deleted concurrently
			return
		}
		if err := g.writeEviction(p, e); err != nil {
			if g.ctx.Err() == nil {
				g.opts.Log.Error(err, "Failed to write an eviction", "pod", p.Namespace+"/"+p.Name)
			}
			return
		}
		g.waitTerminated(p)
	}()
}

// writeEviction writes the eviction to the pod's status, and retries unless the API server finds the patch
// invalid or forbidden. It does not change another pod of the same name.
func (g *Guard) writeEviction(p *corev1.Pod, e agent.Eviction) error {
	patch, err := statusPatch(p, e)
	if err != nil {
		return err
	}
	for pause := initialBackoff; ; pause = min(2*pause, maxBackoff) {
		_, err := g.opts.Client.CoreV1().Pods(p.Namespace).Patch(g.ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err) && g.isDeleted(p):
			return nil
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
			return err
		}
		g.opts.Log.Error(err, "Failed to write an eviction; retrying", "pod", p.Namespace+"/"+p.Name, "after", pause)
		if !sleep(g.ctx, pause) {
			return g.ctx.Err()
		}
	}
}

// isDeleted reports whether the pod was deleted. Another pod may have its name.
func (g *Guard) isDeleted(p *corev1.Pod) bool {
	current, err := g.opts.Client.CoreV1().Pods(p.Namespace).Get(g.ctx, p.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && current.UID != p.UID
}

// statusPatch returns the status patch of an eviction. It contains the UID, so that the API
// server rejects it for another pod of the same name.
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

// waitTerminated waits until the kubelet has terminated the pod and its memory is free.
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

// freedThreshold is the anonymous memory in bytes below which the memory of a terminated pod counts as freed. The kernel
// may not have uncharged all of it yet.
const freedThreshold = 1 << 20

// anonymousMemory returns the anonymous memory of a cgroup in bytes. An exiting process leaves
// cgroup.procs before its memory is freed.
func (g *Guard) anonymousMemory(path string) int64 {
	group, err := g.opts.Host.Open(path)
	if err != nil {
		return 0 // the cgroup was removed
	}
	defer group.Close()
	var m cgroup.Memory
	if group.Memory(&m) != nil {
		return 0
	}
	return m.Anon
}

// sleep waits for d; it returns false if ctx is done first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
