package job

import (
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	workloadcontroller "github.com/berthproject/berth/controllers/workload"
)

// writeCache holds the Jobs of the last status updates until the cache shows them. Finalizers are removed
// according to the status. With an older status, deleted pods would not be counted, and the controller would replace
// them.
type writeCache struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]*batchv1.Job
}

func newWriteCache() *writeCache { return &writeCache{jobs: map[types.NamespacedName]*batchv1.Job{}} }

func (w *writeCache) record(job *batchv1.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[workloadcontroller.KeyOf(job)] = job
}

// overlay returns the newer of the cached Job, which may be nil, and the written one.
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
