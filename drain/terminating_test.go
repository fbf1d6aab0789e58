package drain

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

func terminatingPod(app, name, node string) *model.Pod {
	p := pod(app, name, node, 100)
	p.Deleting = true
	return p
}

// TestTerminatingPodsAreNotMoved checks that a terminating pod needs no disruption, and does not delay the
// other pods of its workload.
func TestTerminatingPodsAreNotMoved(t *testing.T) {
	starting := pod("web", "web-4", "n2", 100) // the replacement of web-1
	starting.Ready, starting.Created, starting.Started = false, start.Add(-time.Second), time.Time{}
	ordinal := func(p *model.Pod) *model.Pod { p.Owner.Kind = "StatefulSet"; return p }
	movedLines := "default/web-2 moved n2 round=1\ndefault/web-1 terminating round=0"
	clearedBy := "default/web-1 is deleted, which is terminating already"
	for name, tc := range map[string]struct {
		objects              []any
		lines, wantClearedBy string
	}{
		"replaced on the same node": {[]any{terminatingPod("web", "web-1", "n1"), pod("web", "web-2", "n1", 100), pod("web", "web-3", "n2", 100), pod("web", "web-4", "n2", 100)}, movedLines, ""},
		"evicted by an interrupted drain": {[]any{terminatingPod("web", "web-1", "n1"), pod("web", "web-2", "n1", 100), pod("web", "web-3", "n2", 100), starting,
			budgetFor("web", maxUnavailable(1))}, movedLines, clearedBy},
		"a StatefulSet": {[]any{ordinal(terminatingPod("web", "web-1", "n1")), ordinal(pod("web", "web-2", "n1", 100)), ordinal(pod("web", "web-3", "n2", 100))}, movedLines, clearedBy},
		"no other pod":  {[]any{terminatingPod("web", "web-1", "n1")}, "default/web-1 terminating round=0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterOf(t, append([]any{node("n1", 4000), node("n2", 4000)}, tc.objects...)...)
			c.Scale = func(o model.Owner) budget.Scale { return budget.Scale{UID: o.UID, Replicas: 3} }
			r, err := Preview(c, []string{"n1"}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(r); got != tc.lines || r.ExitCode() != 0 || r.NumNotMoved() != 0 || r.Count(OutcomeRemoved) != 0 {
				t.Errorf("exit %d, %d not moved:\n%s\nwant\n%s", r.ExitCode(), r.NumNotMoved(), got, tc.lines)
			}
			if b := r.Pods[0].FirstBlock; (b == nil) != (tc.wantClearedBy == "") || b != nil && b.ClearedBy != tc.wantClearedBy {
				t.Errorf("first block of %s: got %+v, want one that is cleared by %q", r.Pods[0].Pod, b, tc.wantClearedBy)
			}
			var text strings.Builder
			if err := r.Text(&text, TextOptions{Preview: true}); err != nil || !strings.Contains(text.String(), "was already terminating\n") || !strings.HasSuffix(text.String(), "\nAll pods will be deleted.\n") ||
				strings.Contains(text.String(), "creates no other pod") || strings.Contains(text.String(), "deleted permanently") {
				t.Errorf("error %v, text:\n%s\nwant a terminating pod and \"All pods will be deleted.\"", err, text.String())
			}
		})
	}
}

// TestTerminatingPodsAreAwaited checks that the drain waits for a terminating pod, but neither evicts it nor
// reports it as evicted.
func TestTerminatingPodsAreAwaited(t *testing.T) {
	web := apiPod("web", "web-a", "n1")
	now := metav1.Now()
	web.DeletionTimestamp = &now
	c := newFakeCluster(t, apiNode("n1"), apiNode("n2"), web, apiPod("web", "web-b", "n1"))
	c.refuse = func(name string) error {
		if name == "web-a" {
			t.Error("got an eviction request for web-a, want none")
		}
		return nil
	}
	var progress []string
	d := c.drain(Options{})
	d.OnProgress = func(s string) {
		if progress = append(progress, s); strings.Contains(s, "web-b is replaced") {
			if err := c.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "default", "web-a"); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
	r, err := d.Run(t.Context())
	if err != nil || r.ExitCode() != 0 || r.Count(OutcomeMoved) != 1 || r.Count(OutcomeTerminating) != 1 || r.Count(OutcomeRemoved) != 0 {
		t.Fatalf("error %v, result %+v; want 1 moved and 1 terminating pod", err, r)
	}
	all := strings.Join(progress, "\n")
	if strings.Contains(all, "web-a is evicted") || !strings.Contains(all, "[0/2] default/web-a is already terminating") || !strings.Contains(all, "[2/2] default/web-a is deleted") {
		t.Errorf("got progress\n%s\nwant web-a to be reported as terminating, then as deleted", all)
	}
}

// TestInterruptedDrainHasNoExitCode checks that the text of an interrupted drain names no exit code.
// The process exits with the code of the interrupt instead.
func TestInterruptedDrainHasNoExitCode(t *testing.T) {
	c := newFakeCluster(t, apiNode("n1"), apiNode("n2"), apiPod("web", "web-a", "n1"), apiPod("db", "db-a", "n1"))
	ctx, cancel := context.WithCancel(t.Context())
	c.refuse = func(name string) error {
		if name == "web-a" {
			cancel()
			return apierrors.NewTooManyRequests("not now", 10)
		}
		return apierrors.NewForbidden(corev1.Resource("pods"), name, errors.New("forbidden by policy"))
	}
	r, err := c.drain(Options{}).Run(ctx)
	if !errors.Is(err, context.Canceled) || r.ExitCode() != 4 {
		t.Fatalf("error %v, exit %d; want %v, exit 4", err, r.ExitCode(), context.Canceled)
	}
	var text strings.Builder
	if err := r.Text(&text, TextOptions{}); err != nil || strings.Contains(text.String(), "exit code") || !strings.HasSuffix(text.String(), "\nSome pods can never move unless an object changes.\n") {
		t.Errorf("error %v, text:\n%s\nwant no exit code", err, text.String())
	}
	if data, err := r.JSON(); err != nil || !strings.Contains(string(data), `"exitCode": 1`) || !strings.Contains(string(data), `"interrupted": true`) {
		t.Errorf("error %v, JSON:\n%s\nwant exit code 1 and interrupted", err, data)
	}
}
