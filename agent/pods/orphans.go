package pods

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RemoveOrphans implements runtime.Runtime.
func (r *Runner) RemoveOrphans(existing map[types.UID]bool) {
	r.mu.Lock()
	r.podsSynced = true
	r.mu.Unlock()
	// List orphans now: pods that are added later are not in existing.
	orphans := map[types.UID]*corev1.Pod{}
	add := func(p *corev1.Pod) {
		if p.UID != "" && !existing[p.UID] && r.lookup(p.UID) == nil && (orphans[p.UID] == nil || orphans[p.UID].Name == "") {
			orphans[p.UID] = p
		}
	}
	r.orphansFromLogs(add)
	if dirs, err := os.ReadDir(filepath.Join(r.opts.Root, "pods")); err == nil {
		for _, d := range dirs {
			add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(d.Name())}})
		}
	}
	r.orphansFromCgroups(add)
	r.startWorker(func() {
		r.orphansFromRuntime(existing, add)
		for _, p := range orphans {
			r.opts.Log.Info("Removing orphaned pod", "pod", podKey(p))
			r.getOrCreate(p).startTeardown(true)
		}
	})
}

// orphansFromLogs calls add for each pod that has a log directory.
func (r *Runner) orphansFromLogs(add func(*corev1.Pod)) {
	dirs, err := os.ReadDir(r.opts.Logs)
	if err != nil {
		return
	}
	for _, d := range dirs {
		if parts := strings.Split(d.Name(), "_"); len(parts) == 3 {
			add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: parts[0], Name: parts[1], UID: types.UID(parts[2])}})
		}
	}
}

// orphansFromCgroups calls add for each pod that has a cgroup.
func (r *Runner) orphansFromCgroups(add func(*corev1.Pod)) {
	if r.opts.Cgroups == nil {
		return
	}
	for _, level := range qosCgroups(r.opts.CgroupRoot) {
		groups, err := r.opts.Cgroups.Children(level)
		if err != nil {
			continue // not created yet
		}
		for _, g := range groups {
			if uid, ok := strings.CutPrefix(path.Base(g), "pod"); ok {
				add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}})
			}
		}
	}
}

// orphansFromRuntime calls add for each unknown pod that the runtime had when the agent started.
// It retries until the runtime answers.
func (r *Runner) orphansFromRuntime(existing map[types.UID]bool, add func(*corev1.Pod)) {
	for wait := 100 * time.Millisecond; r.ctx.Err() == nil; wait = min(2*wait, maxRetryDelay) {
		all, err := r.allExisting(r.ctx)
		if err == nil {
			for uid, f := range all {
				if !existing[uid] {
					add(orphanPod(uid, f))
				}
			}
			return
		}
		sleep(r.ctx, wait, nil)
	}
}
