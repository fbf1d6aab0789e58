package job

import (
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	shared "github.com/berthproject/berth/controllers/workload"
)

// writeCache are the Jobs as the API server answered the last write of their status, as long as the cache shows an older state. Pods are let go
// by what the status says: with one from before, those that have gone would be counted nowhere, and others made in their place.
type writeCache struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]*batchv1.Job
}

func newWriteCache() *writeCache { return &writeCache{jobs: map[types.NamespacedName]*batchv1.Job{}} }

func (w *writeCache) record(job *batchv1.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[shared.KeyOf(job)] = job
}

// overlay is a Job of the cache (nil: it has none), or as it was written since.
func (w *writeCache) overlay(key types.NamespacedName, job *batchv1.Job) *batchv1.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	written, ok := w.jobs[key]
	if ok && job != nil && job.UID == written.UID {
		if n, err := resourceversion.CompareResourceVersion(job.ResourceVersion, written.ResourceVersion); err == nil && n < 0 {
			return written
		}
	}
	delete(w.jobs, key)
	return job
}
