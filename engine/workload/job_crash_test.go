package workload

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// jobRunner executes plans one request at a time; the controller may crash after any of them.
type jobRunner struct {
	job      *Job
	pods     []JobPod
	now      time.Time
	created  int
	finished map[string]model.Phase
}

// step makes a plan and executes at most maxRequests of its requests.
func (w *jobRunner) step(maxRequests int) {
	plan := w.job.Plan(w.now, w.pods)
	request := func(fn func()) {
		if maxRequests--; maxRequests >= 0 {
			fn()
		}
	}
	pods := slices.Clone(w.pods)
	for _, d := range plan.Delete {
		uid := pods[d.Pod].UID
		if d.RemoveFinalizer {
			request(func() { w.edit(uid, func(p *JobPod) { p.Tracked = false }) })
		}
		request(func() { w.edit(uid, func(p *JobPod) { p.Deleting = true }) })
	}
	for _, c := range plan.Create {
		request(func() {
			w.created++
			name := fmt.Sprint("p", w.created)
			w.pods = append(w.pods, JobPod{Pod: Pod{Name: name, UID: name, Phase: model.Running, Created: w.now}, Tracked: true,
				Index: c.Index, Failures: c.Failures, Ignored: c.Ignored})
		})
	}
	request(func() { w.job.Status = plan.Status })
	for _, i := range plan.RemoveFinalizers {
		uid := pods[i].UID
		request(func() { w.edit(uid, func(p *JobPod) { p.Tracked = false }) })
	}
}

func (w *jobRunner) edit(uid string, fn func(*JobPod)) {
	for i := range w.pods {
		if w.pods[i].UID == uid {
			fn(&w.pods[i])
		}
	}
}

// advance advances time: terminating pods finish and are deleted; every third running pod fails,
// and the others succeed.
func (w *jobRunner) advance() {
	w.now = w.now.Add(11 * time.Minute)
	for i := range w.pods {
		p := &w.pods[i]
		if p.Finished() {
			continue
		}
		var n int
		_, _ = fmt.Sscanf(p.Name, "p%d", &n)
		switch {
		case p.Deleting || n%3 == 0:
			p.Phase = model.Failed
		case n%2 == 0 || w.now.Sub(p.Created) > time.Hour:
			p.Phase = model.Succeeded
		default:
			continue
		}
		p.Ended = w.now
		w.finished[p.UID] = p.Phase
	}
	w.pods = slices.DeleteFunc(w.pods, func(p JobPod) bool { return p.Deleting && p.Finished() && !p.Tracked })
}

// TestCrashNeverMiscounts checks that, wherever the controller crashes and restarts, the Job completes
// and its status counts each finished pod once.
func TestCrashNeverMiscounts(t *testing.T) {
	for name, job := range map[string]func(*Job){
		"not indexed":         func(*Job) {},
		"indexed":             indexed,
		"per index":           func(j *Job) { perIndex(j); j.BackoffLimitPerIndex = 1 << 20 },
		"replace only failed": replaceOnlyFailed,
	} {
		for seed := range 200 {
			w := &jobRunner{job: basic(job, func(j *Job) { j.BackoffLimit, j.Completions, j.Parallelism = 1<<30, 7, 3 }), now: noon, finished: map[string]model.Phase{}}
			steps := 0
			for ; steps < 400; steps++ {
				if finished, _ := w.job.Status.Finished(); finished {
					break
				}
				w.step((seed*7 + steps*13) % 9) // any number of requests, including 0
				if steps%2 == seed%2 {
					w.advance()
				}
			}
			checkCounts(t, fmt.Sprint(name, ", seed ", seed), w)
		}
	}
}

func checkCounts(t *testing.T, name string, w *jobRunner) {
	t.Helper()
	var succeeded, failed int32
	for _, phase := range w.finished {
		if phase == model.Succeeded {
			succeeded++
		} else {
			failed++
		}
	}
	s := &w.job.Status
	if !s.hasCondition(JobComplete) {
		t.Fatalf("%s: the Job does not complete: %+v", name, *s)
	}
	if w.job.Indexed {
		if s.Completed.String() != "0-6" || s.Succeeded != 7 {
			t.Fatalf("%s: %d succeeded, indexes %s, want 7, 0-6", name, s.Succeeded, s.Completed)
		}
	} else if s.Succeeded != succeeded || succeeded != 7 {
		t.Fatalf("%s: %d succeeded, want %d (7 with all completions)", name, s.Succeeded, succeeded)
	}
	if s.Failed != failed {
		t.Fatalf("%s: %d failed, want %d", name, s.Failed, failed)
	}
	if s.Active+s.Terminating != 0 || len(s.UncountedFailed)+len(s.UncountedSucceeded) != 0 {
		t.Fatalf("%s: finished with status %+v, want no active, terminating or uncounted pods", name, *s)
	}
}
