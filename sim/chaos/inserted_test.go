package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/random"
	"github.com/berthproject/berth/sim/reconciler"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

// insertedFaults are defects that make the real controllers misbehave, with the invariant that must find them.
var insertedFaults = []struct {
	name, invariant string
	configure       func(*cluster.Options)
	insert          func(*cluster.Cluster)
	lines           string // added to each random world
}{
	{name: "lost requeue", invariant: "Liveness", insert: func(c *cluster.Cluster) { c.LoseRetries("records") }},
	{name: "debit not refunded", invariant: "DebitRefunded", lines: failingEvictions(), insert: func(c *cluster.Cluster) {
		c.API().DropsUpdate = func(ch store.Change) bool { return isRefund(c, ch) }
	}},
	{name: "record not completed", invariant: "Liveness", insert: func(c *cluster.Cluster) { c.API().DropsUpdate = isRecordCompletion }},
	// The status is what the disruption controller has computed from its cache.
	{name: "stale budget status trusted", invariant: "BudgetRespected", lines: unobservedDeletions(), configure: func(o *cluster.Options) { o.Evictions.Rules = budget.Evictions{} }},
	{name: "delete without precondition", invariant: "DeletesObserved", lines: recreations(), insert: func(c *cluster.Cluster) {
		c.OnNotice(func(notice any) {
			if s, ok := notice.(reconciler.Started); ok {
				s.Clients.Kubernetes = unconditional{s.Clients.Kubernetes}
			}
		})
	}},
}

// maxInsertedWorlds is the number of random worlds in which a defect must be found.
const maxInsertedWorlds = 2000

// TestInsertedFaultsSoak runs random worlds from seed 1 with each defect until an invariant fails.
func TestInsertedFaultsSoak(t *testing.T) {
	for _, f := range insertedFaults {
		t.Run(f.name, func(t *testing.T) {
			start, steps := time.Now(), 0
			for seed := int64(1); seed <= maxInsertedWorlds; seed++ {
				o := options(t)
				if f.configure != nil {
					f.configure(&o)
				}
				r, err := runWorld(random.Generate(seed, worldEvents)+f.lines, o, f.insert)
				if err != nil {
					t.Fatal(err)
				}
				steps += r.Cluster.Steps()
				var v *sim.Violation
				if !errors.As(r.Violation, &v) {
					continue
				}
				fmt.Printf("soak: inserted fault %q: found with seed %d after %d steps in %.1f s: %v\n", f.name, seed, steps, time.Since(start).Seconds(), v)
				if v.Invariant != f.invariant {
					t.Errorf("got a violation of %s, want %s", v.Invariant, f.invariant)
				}
				return
			}
			t.Errorf("no invariant fails in %d worlds", maxInsertedWorlds)
		})
	}
}

// worldEvents is the number of events in a random world.
const worldEvents = 200

// runWorld runs a scenario after insert, which may be nil.
func runWorld(text string, o cluster.Options, insert func(*cluster.Cluster)) (*script.Result, error) {
	s, err := script.Parse("random", text)
	if err != nil {
		return nil, err
	}
	r, err := s.RunOn(o, s.Until(), func(c *cluster.Cluster) error {
		if insert != nil {
			insert(c)
		}
		return nil
	})
	r.Cluster.Close()
	return r, err
}

// isRefund reports whether a change removes an entry that has not expired, of a pod that is not deleted.
func isRefund(c *cluster.Cluster, ch store.Change) bool {
	old, _ := ch.Old.(*policyv1.PodDisruptionBudget)
	b, ok := ch.New.(*policyv1.PodDisruptionBudget)
	if !ok {
		return false
	}
	for name, at := range old.Status.DisruptedPods {
		p := c.API().Pod(store.Key(b.Namespace, name))
		if _, exists := b.Status.DisruptedPods[name]; !exists && c.Now().Sub(at.Time) < budget.EntryAge && p != nil && p.DeletionTimestamp == nil && !store.Finished(p) {
			return true
		}
	}
	return false
}

// isRecordCompletion reports whether a change adds the end of the pod to its displacement record.
func isRecordCompletion(ch store.Change) bool {
	e, ok := ch.New.(*eventsv1.Event)
	if !ok || e.Annotations[journal.Annotation] == "" {
		return false
	}
	before, errBefore := journal.ParseDisplacement(ch.Old.GetAnnotations()[journal.Annotation])
	after, err := journal.ParseDisplacement(e.Annotations[journal.Annotation])
	return errors.Join(errBefore, err) == nil && before.Deleted == nil && after.Deleted != nil
}

// budgetedPods are pods with a budget that allows one disruption.
const budgetedPods = "pod z1..z4 cpu=10m memory=16Mi labels=app=z owner=z priority=1000 grace=30s stops=20s\nbudget z match=app=z maxUnavailable=1\n"

// failingEvictions returns evictions whose events the API server cannot write.
func failingEvictions() string {
	lines := budgetedPods
	for i := range 4 {
		lines += fmt.Sprintf("at %ds fault refuse event pod=z%d times=40\nat %ds evict z%d\n", 60*(i+1), i+1, 60*(i+1), i+1)
	}
	return lines
}

// unobservedDeletions returns evictions shortly after the deletion of a pod of the same budget, which the disruption
// controller has not observed.
func unobservedDeletions() string {
	lines := budgetedPods + "at 50s lag disruption 3s\n"
	for i := range 2 {
		lines += fmt.Sprintf("at %ds delete pod z%d\nat %d.2s evict z%d\n", 60*(i+1), 2*i+1, 60*(i+1), 2*i+2)
	}
	return lines
}

// recreations returns events that delete pods of a StatefulSet while the taint eviction controller has no watch of pods. It
// then evicts the deleted pods, and new ones have their names.
func recreations() string {
	var b strings.Builder
	b.WriteString("statefulset s9 replicas=3 cpu=10m memory=16Mi grace=0s stops=0ms\n")
	for i := range 10 {
		at := 5000 * (i + 1)
		fmt.Fprintf(&b, "at %dms drop taints pods for 2s\nat %dms delete pod s9-%d grace=0s\nat %dms taint n0 moved=x:NoExecute\nat %dms untaint n0 moved\n", at, at+10, i%3, at+500, at+2500)
	}
	return b.String()
}

// unconditional is a client that sends deletions and patches of pods without preconditions.
type unconditional struct{ kubernetes.Interface }

type unconditionalCore struct{ typedcorev1.CoreV1Interface }

type unconditionalPods struct{ typedcorev1.PodInterface }

// CoreV1 implements kubernetes.Interface.
func (c unconditional) CoreV1() typedcorev1.CoreV1Interface {
	return unconditionalCore{c.Interface.CoreV1()}
}

// Pods implements typedcorev1.CoreV1Interface.
func (c unconditionalCore) Pods(namespace string) typedcorev1.PodInterface {
	return unconditionalPods{c.CoreV1Interface.Pods(namespace)}
}

// Delete implements typedcorev1.PodInterface.
func (p unconditionalPods) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	o.Preconditions = nil
	return p.PodInterface.Delete(ctx, name, o)
}

// Patch implements typedcorev1.PodInterface.
func (p unconditionalPods) Patch(ctx context.Context, name string, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*corev1.Pod, error) {
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	delete(patch, "metadata")
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return p.PodInterface.Patch(ctx, name, t, data, o, subresources...)
}
