package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// set returns an observed ReplicaSet with available pods only.
func set(name string, revision int64, replicas int32, edits ...func(*Set)) Set {
	s := Set{Name: name, Created: at(time.Duration(revision) * time.Second), Revision: revision, Replicas: replicas, Actual: replicas, Ready: replicas, Available: replicas,
		Observed: true, Desired: 10, Max: 13}
	for _, e := range edits {
		e(&s)
	}
	return s
}

func current(s *Set)    { s.Current = true }
func unready(s *Set)    { s.Ready, s.Available = 0, 0 }
func unobserved(s *Set) { s.Observed = false }
func extraPods(s *Set)  { s.Actual += 2 }

// formatPlan describes a plan in one line.
func formatPlan(p DeploymentPlan, sets []Set) string {
	var out []string
	if p.Create {
		out = append(out, fmt.Sprint("create ", p.CreateReplicas))
	}
	for _, s := range p.Scale {
		out = append(out, fmt.Sprintf("%s %d to %d", sets[s.Set].Name, sets[s.Set].Replicas, s.To))
	}
	for _, i := range p.Delete {
		out = append(out, "delete "+sets[i].Name)
	}
	return strings.Join(out, ", ")
}

func TestDeploymentPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		d       func(*Deployment)
		sets    []Set
		oldPods bool
		want    string
	}{
		"first ReplicaSet":                                              {want: "create 10"},
		"a second ReplicaSet is limited by maxSurge":                    {sets: []Set{set("a", 1, 10)}, want: "create 3, a 10 to 8"},
		"grows into the available surge":                                {sets: []Set{set("a", 1, 8), set("b", 2, 3, current)}, want: "b 3 to 5, a 8 to 5"},
		"waits for new pods":                                            {sets: []Set{set("a", 1, 8), set("b", 2, 5, current, unready)}},
		"unhealthy old pods are deleted first":                          {sets: []Set{set("a", 1, 3, unready), set("c", 2, 6), set("b", 3, 4, current)}, want: "a 3 to 0, c 6 to 4"},
		"new pods must become available first":                          {sets: []Set{set("a", 1, 5, unready), set("b", 2, 5, current, unready)}, want: "b 5 to 8"},
		"waits until its ReplicaSets are observed":                      {sets: []Set{set("a", 1, 8, unobserved), set("b", 2, 3, current)}},
		"counts pods that still exist":                                  {sets: []Set{set("a", 1, 5, extraPods), set("b", 2, 5, current)}, want: "b 5 to 6, a 5 to 3"},
		"scales down surplus":                                           {sets: []Set{set("b", 2, 12, current)}, want: "b 12 to 10"},
		"Recreate scales the old ReplicaSets down":                      {d: recreate, sets: []Set{set("a", 1, 10)}, oldPods: true, want: "a 10 to 0"},
		"Recreate waits until old pods are deleted":                     {d: recreate, sets: []Set{set("a", 1, 0)}, oldPods: true},
		"Recreate scales the new ReplicaSet up":                         {d: recreate, sets: []Set{set("a", 1, 0)}, want: "create 10"},
		"paused Deployment does not roll out":                           {d: func(d *Deployment) { d.Paused = true }, sets: []Set{set("a", 1, 10)}},
		"paused Deployment scales":                                      {d: func(d *Deployment) { d.Paused, d.Replicas = true, 12 }, sets: []Set{set("a", 1, 10)}, want: "a 10 to 12"},
		"scaled up in proportion":                                       {d: func(d *Deployment) { d.Replicas = 20 }, sets: []Set{set("a", 1, 8), set("b", 2, 5, current)}, want: "a 8 to 14, b 5 to 9"},
		"scaled down in proportion":                                     {d: func(d *Deployment) { d.Replicas = 5 }, sets: []Set{set("a", 1, 8), set("b", 2, 5, current)}, want: "a 8 to 5, b 5 to 3"},
		"scaled to 0":                                                   {d: func(d *Deployment) { d.Replicas = 0 }, sets: []Set{set("a", 1, 8), set("b", 2, 5, current)}, want: "a 8 to 0, b 5 to 0"},
		"terminating Deployment is not changed":                         {d: func(d *Deployment) { d.Deleting = true }, sets: []Set{set("a", 1, 10)}},
		"old revisions beyond the limit are deleted":                    {d: func(d *Deployment) { d.RevisionHistoryLimit = 1 }, sets: []Set{set("a", 1, 0), set("b", 2, 0), set("c", 3, 10, current), set("d", 0, 0)}, want: "delete d, delete a"},
		"ReplicaSets with pods are kept":                                {d: func(d *Deployment) { d.RevisionHistoryLimit = 0 }, sets: []Set{set("a", 1, 0, unobserved), set("c", 3, 10, current)}},
		"two ReplicaSets of one template: the older one":                {sets: []Set{set("b", 2, 10, current), set("c", 3, 0, current)}},
		"two ReplicaSets of one template: the newer one is scaled to 0": {sets: []Set{set("b", 2, 5, current), set("c", 3, 5, current)}, want: "b 5 to 8, c 5 to 3"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Deployment{Replicas: 10, MaxSurge: 3, MaxUnavailable: 2, ProgressDeadline: 10 * time.Minute, RevisionHistoryLimit: 10}
			if tc.d != nil {
				tc.d(&d)
			}
			p := d.Plan(t0, tc.sets, "new", tc.oldPods)
			if got := formatPlan(p, tc.sets); got != tc.want {
				t.Errorf("actions %q, want %q", got, tc.want)
			}
		})
	}
}

func recreate(d *Deployment) { d.Recreate, d.MaxSurge, d.MaxUnavailable = true, 0, 0 }

func TestDeploymentRevision(t *testing.T) {
	d := Deployment{Replicas: 10, MaxSurge: 3, MaxUnavailable: 2}
	if p := d.Plan(t0, []Set{set("a", 3, 0, current), set("b", 5, 10)}, "a", false); p.Revision != 6 || p.Current != 0 {
		t.Errorf("rollback: got revision %d of set %d, want 6 of set 0", p.Revision, p.Current)
	}
	if p := d.Plan(t0, []Set{set("a", 3, 0), set("b", 5, 10, current)}, "b", false); p.Revision != 5 {
		t.Errorf("newest set: got revision %d, want 5", p.Revision)
	}
	if p := d.Plan(t0, nil, "a", false); p.Revision != 1 || !p.Create {
		t.Errorf("first set: got revision %d, created %t; want 1, true", p.Revision, p.Create)
	}
}

// TestDeploymentConditions covers a rollout that times out, completes, and is paused, resumed and rolled
// back.
func TestDeploymentConditions(t *testing.T) {
	d := Deployment{Replicas: 10, MaxSurge: 3, MaxUnavailable: 2, ProgressDeadline: time.Minute, Generation: 1}
	check := func(after time.Duration, want string, sets ...Set) {
		t.Helper()
		p := d.Plan(at(after), sets, "new", false)
		d.Status = p.Status
		var got []string
		for _, c := range p.Status.Conditions {
			got = append(got, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
		}
		if g := strings.Join(got, ", "); g != want {
			t.Errorf("after %v: got %s, want %s", after, g, want)
		}
	}
	check(0, "Available=False MinimumReplicasUnavailable, Progressing=True NewReplicaSetCreated")
	check(time.Second, "Available=False MinimumReplicasUnavailable, Progressing=True ReplicaSetUpdated", set("new", 1, 10, current, unready))
	check(60*time.Second, "Available=False MinimumReplicasUnavailable, Progressing=True ReplicaSetUpdated", set("new", 1, 10, current, unready))
	check(62*time.Second, "Available=False MinimumReplicasUnavailable, Progressing=False ProgressDeadlineExceeded", set("new", 1, 10, current, unready))
	check(70*time.Second, "Available=True MinimumReplicasAvailable, Progressing=True ReplicaSetUpdated", set("new", 1, 10, current, func(s *Set) { s.Available = 8 }))
	check(71*time.Second, "Available=True MinimumReplicasAvailable, Progressing=True NewReplicaSetAvailable", set("new", 1, 10, current))
	check(999*time.Second, "Progressing=True NewReplicaSetAvailable, Available=False MinimumReplicasUnavailable", set("new", 1, 10, current, unready))
	check(1000*time.Second, "Progressing=True NewReplicaSetAvailable, Available=True MinimumReplicasAvailable", set("new", 1, 10, current))
	d.Paused = true
	check(1001*time.Second, "Available=True MinimumReplicasAvailable, Progressing=Unknown DeploymentPaused", set("new", 1, 10, current))
	d.Paused = false
	check(1002*time.Second, "Available=True MinimumReplicasAvailable, Progressing=True NewReplicaSetAvailable", set("new", 1, 10, current))
	// A rollback has a progress deadline from its start.
	old, rollback := set("new", 2, 10), set("back", 1, 0, current)
	check(1100*time.Second, "Available=True MinimumReplicasAvailable, Progressing=True FoundNewReplicaSet", old, rollback)
	check(1161*time.Second, "Available=True MinimumReplicasAvailable, Progressing=False ProgressDeadlineExceeded", old, rollback)
	failed := func(s *Set) { s.Failure = &Condition{Type: ReplicaFailure, Status: True, Reason: "FailedCreate"} }
	check(1162*time.Second, "Available=True MinimumReplicasAvailable, Progressing=False ProgressDeadlineExceeded, ReplicaFailure=True FailedCreate", old, set("back", 1, 0, current, failed))
	d.ProgressDeadline = 0
	check(1163*time.Second, "Available=True MinimumReplicasAvailable", old, rollback)
}
