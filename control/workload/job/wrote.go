package job

import (
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	shared "github.com/berthproject/berth/control/workload"
)

// wrote are the Jobs as the API server answered the last write of their status, as long as the cache shows an older state. Pods are let go
// by what the status says: with one from before, those that have gone would be counted nowhere, and others made in their place.
type wrote struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]*batchv1.Job
}

func newWrote() *wrote { return &wrote{jobs: map[types.NamespacedName]*batchv1.Job{}} }

func (w *wrote) note(job *batchv1.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[shared.KeyOf(job)] = job
}

// over is a Job of the cache (nil: it has none), or as it was written since.
func (w *wrote) over(key types.NamespacedName, job *batchv1.Job) *batchv1.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine, ok := w.jobs[key]
	if ok && job != nil && job.UID == mine.UID {
		if n, err := resourceversion.CompareResourceVersion(job.ResourceVersion, mine.ResourceVersion); err == nil && n < 0 {
			return mine
		}
	}
	delete(w.jobs, key)
	return job
}
