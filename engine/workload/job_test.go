package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// jobPods parses pods as "NAME", "NAME/INDEX" or "NAME/INDEX/FAILURES" with flags: x failed, ok
// succeeded, now: ended at noon, - terminating, ! not ready, untracked: without its finalizer, D: with
// DisruptionTarget, eN: exit code N, rN: N restarts of containers.
func jobPods(text string) (out []JobPod) {
	for i, word := range strings.Fields(text) {
		name, flags, _ := strings.Cut(word, ":")
		parts := strings.Split(name, "/")
		p := JobPod{Pod: Pod{Name: parts[0], UID: parts[0], Phase: model.Running, Ready: true, Created: noon}, Tracked: true, Index: NoIndex}
		if len(parts) > 1 {
			_, _ = fmt.Sscan(parts[1], &p.Index)
		}
		if len(parts) > 2 {
			_, _ = fmt.Sscan(parts[2], &p.Failures)
		}
		for _, m := range strings.Split(flags, ",") {
			switch {
			case m == "x":
				p.Phase, p.Ready, p.Ended = model.Failed, false, noon.Add(time.Duration(i-100)*time.Hour)
			case m == "now":
				p.Ended = noon
			case m == "ok":
				p.Phase, p.Ready, p.Ended = model.Succeeded, false, noon.Add(time.Duration(i-100)*time.Hour)
			case m == "-":
				p.Deleting = true
			case m == "!":
				p.Ready = false
			case m == "untracked":
				p.Tracked = false
			case m == "D":
				p.Conditions = []PodCondition{{"DisruptionTarget", "True"}}
			case strings.HasPrefix(m, "e"):
				e := Exit{Container: "c"}
				_, _ = fmt.Sscanf(m, "e%d", &e.Code)
				p.Exits = append(p.Exits, e)
			case strings.HasPrefix(m, "r"):
				_, _ = fmt.Sscanf(m, "r%d", &p.RestartSum)
			}
		}
		out = append(out, p)
	}
	return out
}

// format describes a plan: "+" creates a pod, "+3/1" one of index 3 after one failure, "-a" deletes a, "~a" deletes it
// without a failure, "!a" removes its finalizer. The conditions that are True follow.
func (p JobPlan) format(pods []JobPod) string {
	var out []string
	for _, c := range p.Create {
		switch {
		case c.Index == NoIndex:
			out = append(out, "+")
		case c.Failures+c.Ignored > 0:
			out = append(out, fmt.Sprintf("+%d/%d", c.Index, c.Failures))
		default:
			out = append(out, fmt.Sprintf("+%d", c.Index))
		}
	}
	for _, d := range p.Delete {
		prefix := "-"
		if d.RemoveFinalizer {
			prefix = "~"
		}
		out = append(out, prefix+pods[d.Pod].Name)
	}
	for _, i := range p.RemoveFinalizers {
		out = append(out, "!"+pods[i].Name)
	}
	for _, c := range p.Status.Conditions {
		if c.Status == True {
			out = append(out, c.Type+"/"+c.Reason)
		}
	}
	return strings.Join(out, " ")
}

// basic returns a Job with three completions and parallelism two.
func basic(edit ...func(*Job)) *Job {
	j := &Job{Namespace: "d", Parallelism: 2, Completions: 3, BackoffLimit: 2, MaxFailedIndexes: -1}
	for _, e := range edit {
		e(j)
	}
	return j
}

func indexed(j *Job) { j.Indexed = true }
func perIndex(j *Job) {
	j.Indexed, j.BackoffPerIndex, j.BackoffLimitPerIndex, j.BackoffLimit = true, true, 1, 1<<30
}
func countRestarts(j *Job)     { j.CountRestarts = true }
func replaceOnlyFailed(j *Job) { j.ReplaceOnlyFailed = true }

func TestJobPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		job        *Job
		pods, want string
	}{
		"up to parallelism":                            {basic(), "", "+ +"},
		"no more than the missing completions":         {basic(), "a:ok b:ok", "+ !a !b"},
		"a failed pod is replaced":                     {basic(), "a:ok b", "+ !a"},
		"all completions":                              {basic(), "a:ok b:ok c:ok", "!a !b !c SuccessCriteriaMet/CompletionsReached"},
		"excess pods are deleted":                      {basic(), "a b c", "~a"},
		"success of any pod":                           {basic(func(j *Job) { j.AnyCompletion = true }), "a:ok b", "!a"},
		"success of any pod, all terminated":           {basic(func(j *Job) { j.AnyCompletion = true }), "a:ok b:ok", "!a !b SuccessCriteriaMet/CompletionsReached"},
		"a failure is retried":                         {basic(), "a:x b", "+ !a"},
		"too many failures":                            {basic(), "a:x b:x c:x d", "-d !a !b !c FailureTarget/BackoffLimitExceeded"},
		"a terminating pod counts as failed":           {basic(), "a:- b", "+ !a"},
		"podReplacementPolicy Failed":                  {basic(replaceOnlyFailed), "a:- b", ""},
		"suspended":                                    {basic(func(j *Job) { j.Suspend = true }), "a b:ok", "~a !b Suspended/JobSuspended"},
		"terminating Job: all pods are released":       {basic(func(j *Job) { j.Deleting = true }), "a b:ok", "!a !b"},
		"each index once":                              {basic(indexed), "a/1", "+0"},
		"a succeeded index is complete":                {basic(indexed), "a/0:ok b/2", "+1 !a"},
		"all indexes succeeded":                        {basic(indexed), "a/0:ok b/1:ok c/2:ok", "!a !b !c SuccessCriteriaMet/CompletionsReached"},
		"duplicate index":                              {basic(indexed), "a/0 b/0:!", "~b"},
		"index outside of completions":                 {basic(indexed), "a/7 b/1", "~a"},
		"a failed index is retried":                    {basic(perIndex), "a/0:x b/1", "+0/1"},
		"a failed pod is released once it is replaced": {basic(perIndex), "a/0:x c/0/1 b/1", "!a"},
		"an index fails":                               {basic(perIndex), "a/0/1:x b/1", "+2 !a"},
		"all indexes finished, some failed":            {basic(perIndex), "a/0/1:x b/1:ok c/2:ok", "!b !c !a FailureTarget/FailedIndexes"},
		"too many indexes failed":                      {basic(perIndex, func(j *Job) { j.MaxFailedIndexes = 0 }), "a/0/1:x b/1", "-b !a FailureTarget/MaxFailedIndexesExceeded"},
		"an already counted pod is not counted again":  {basic(), "a:ok,untracked b", "+"},
		"no container restarts with backoffLimit 0":    {basic(countRestarts, func(j *Job) { j.BackoffLimit = 0 }), "a", "+"},
		"a container restart with backoffLimit 0":      {basic(countRestarts, func(j *Job) { j.BackoffLimit = 0 }), "a:r1", "-a FailureTarget/BackoffLimitExceeded"},
		"few container restarts":                       {basic(countRestarts), "a:r1 b", ""},
		"too many container restarts in all pods":      {basic(countRestarts), "a:r1 b:r1", "-a -b FailureTarget/BackoffLimitExceeded"},
		"restarts of a terminated pod":                 {basic(countRestarts), "a:ok,r2 b:r1", "+ !a"},
		"container restarts that do not count":         {basic(), "a:r5 b", ""},
		"successPolicy with some indexes":              {basic(indexed, func(j *Job) { j.Success = []SuccessRule{{Count: 9}, {Indexes: Indexes{{0, 1}}, HasIndexes: true}} }), "a/0:ok b/1:ok c/2", "-c !a !b SuccessCriteriaMet/SuccessPolicy"},
		"successPolicy with a count":                   {basic(indexed, func(j *Job) { j.Success = []SuccessRule{{Indexes: Indexes{{0, 2}}, HasIndexes: true, Count: 1}} }), "b/1:ok c/2", "-c !b SuccessCriteriaMet/SuccessPolicy"},
	} {
		pods := jobPods(tc.pods)
		if got := tc.job.Plan(noon, pods).format(pods); got != tc.want {
			t.Errorf("%s: planned %q, want %q", name, got, tc.want)
		}
	}
}

func TestPodFailurePolicy(t *testing.T) {
	policy := func(j *Job) {
		j.ReplaceOnlyFailed, j.BackoffLimit = true, 0
		j.Policy = []FailureRule{
			{Action: IgnoreFailure, Conditions: []PodCondition{{"DisruptionTarget", "True"}}},
			{Action: FailJob, OnExit: true, Container: "c", Codes: []int32{42}},
			{Action: CountFailure, OnExit: true, NotIn: true, Codes: []int32{1}},
		}
	}
	for name, tc := range map[string]struct{ pods, want, message string }{
		"a disrupted pod does not count":         {"a:x,D,e42 b", "+ !a", ""},
		"a code that fails the Job":              {"a:x,e42 b", "-b !a FailureTarget/PodFailurePolicy", "Container c for pod d/a failed with exit code 42 matching FailJob rule at index 1"},
		"another code counts":                    {"a:x,e7 b", "-b !a FailureTarget/BackoffLimitExceeded", "Job has reached the specified backoff limit"},
		"failure without a matching rule counts": {"a:x,e1 b", "-b !a FailureTarget/BackoffLimitExceeded", "Job has reached the specified backoff limit"},
		"a terminating pod is not a failure":     {"a:-,D b", "", ""},
	} {
		pods := jobPods(tc.pods)
		plan := basic(policy).Plan(noon, pods)
		if got := plan.format(pods); got != tc.want {
			t.Errorf("%s: planned %q, want %q", name, got, tc.want)
		}
		if c := plan.Status.Conditions.Get(JobFailureTarget); c != nil && c.Message != tc.message {
			t.Errorf("%s: message %q, want %q", name, c.Message, tc.message)
		}
	}
	j := basic(perIndex, func(j *Job) { j.Policy = []FailureRule{{Action: FailIndex, OnExit: true, Codes: []int32{3}}} })
	pods := jobPods("a/0:x,e3 b/1")
	if plan := j.Plan(noon, pods); plan.Status.FailedIndexes.String() != "0" {
		t.Errorf("failed indexes %q, want 0", plan.Status.FailedIndexes)
	}
}

func TestFailedPodsAreReplacedAfterBackoff(t *testing.T) {
	for name, tc := range map[string]struct {
		job     *Job
		pods    string
		backoff time.Duration
	}{
		"the first":           {basic(), "a:x,now", 10 * time.Second},
		"the second":          {basic(), "a:x b:x,now", 20 * time.Second},
		"reset by a success":  {basic(), "a:x b:ok c:x,now", 10 * time.Second},
		"backoff of an index": {basic(perIndex, func(j *Job) { j.BackoffLimitPerIndex, j.Parallelism = 9, 1 }), "a/0/2:x,now", 40 * time.Second},
		"capped backoff":      {basic(perIndex, func(j *Job) { j.BackoffLimitPerIndex, j.Parallelism = 99, 1 }), "a/0/20:x,now", 10 * time.Minute},
	} {
		pods := jobPods(tc.pods)
		plan := tc.job.Plan(noon, pods)
		if got := plan.Wake.Sub(noon); len(plan.Create) > 0 || got != tc.backoff {
			t.Errorf("%s: created %v, wake after %v; want none, %v", name, plan.Create, got, tc.backoff)
		}
		if plan = tc.job.Plan(noon.Add(tc.backoff), pods); len(plan.Create) == 0 {
			t.Errorf("%s: no pod is created after the backoff, want at least one", name)
		}
	}
}

func TestJobDeadlineAndResume(t *testing.T) {
	j := basic(func(j *Job) { j.HasDeadline, j.Deadline, j.Status.Start = true, time.Minute, noon })
	pods := jobPods("a b")
	if plan := j.Plan(noon.Add(59*time.Second), pods); plan.format(pods) != "" || !plan.Wake.Equal(noon.Add(time.Minute)) {
		t.Errorf("before the deadline: planned %q, wake time %v; want nothing until %v", plan.format(pods), plan.Wake, noon.Add(time.Minute))
	}
	if plan := j.Plan(noon.Add(time.Minute), pods); plan.format(pods) != "-a -b FailureTarget/DeadlineExceeded" {
		t.Errorf("at the deadline: planned %q, want -a -b FailureTarget/DeadlineExceeded", plan.format(pods))
	}
	j.Suspend = true
	j.Status = j.Plan(noon.Add(30*time.Second), pods).Status
	j.Suspend = false
	plan := j.Plan(noon.Add(time.Hour), nil)
	if !plan.Status.Start.Equal(noon.Add(time.Hour)) || plan.format(nil) != "+ +" || len(plan.Events) != 1 || plan.Events[0].Reason != "Resumed" {
		t.Errorf("resumed: started %v, planned %q, events %v; want a new start, + + and Resumed", plan.Status.Start, plan.format(nil), plan.Events)
	}
}
